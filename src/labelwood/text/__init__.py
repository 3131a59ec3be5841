"""Texts to features."""

from labelwood.text.joined import JoinedVectorizer
from labelwood.text.mixed import mixed_rows
from labelwood.text.tfidf import TextVectorizer
from labelwood.text.word_vectors import word_vectors

__all__ = ["JoinedVectorizer", "TextVectorizer", "mixed_rows", "word_vectors"]
