"""Interpolated label trees."""
