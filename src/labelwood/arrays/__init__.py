"""Rows, labels and answers as arrays, checked once where they come in."""
