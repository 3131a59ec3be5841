"""Training data of a dual encoder: texts, tokens, and batches."""
