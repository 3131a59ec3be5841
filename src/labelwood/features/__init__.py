"""Texts to features."""

from labelwood.features.text import TextVectorizer

__all__ = ["TextVectorizer"]
