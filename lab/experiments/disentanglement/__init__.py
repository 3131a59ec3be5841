"""Labels with several places in a tree."""
