"""Extreme multi-label classification you can ship."""
