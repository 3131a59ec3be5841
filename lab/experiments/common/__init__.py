"""What the experiments share: their parts and command lines, tables and the style of pictures."""
