"""Rows, labels and answers as arrays, checked once when users pass them."""
