"""Texts to features."""

from labelwood.features.joined import JoinedVectorizer
from labelwood.features.mixed import mixed_rows
from labelwood.features.text import TextVectorizer
from labelwood.features.word_vectors import word_vectors

__all__ = ["JoinedVectorizer", "TextVectorizer", "mixed_rows", "word_vectors"]
