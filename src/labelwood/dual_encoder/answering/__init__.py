"""From queries to the nearest labels."""
