"""Dual encoders (PRIME)."""
