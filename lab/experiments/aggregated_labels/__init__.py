"""Labels of groups (EAGLE)."""
