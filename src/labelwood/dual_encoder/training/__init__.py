"""Training of a dual encoder."""
