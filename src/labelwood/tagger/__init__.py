"""Texts in, label names out, around any model."""
