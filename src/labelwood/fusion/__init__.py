"""Fusion: combines the answers of several models."""
