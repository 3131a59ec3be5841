"""Finds the nearest labels of queries."""
