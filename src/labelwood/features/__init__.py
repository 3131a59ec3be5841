"""Texts to features."""

from labelwood.features.text import TextVectorizer
from labelwood.features.word_vectors import word_vectors

__all__ = ["TextVectorizer", "word_vectors"]
