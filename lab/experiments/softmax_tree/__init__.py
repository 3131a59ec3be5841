"""Softmax trees beside fastText."""
