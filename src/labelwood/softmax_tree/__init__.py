"""Embeddings of features and a softmax over a label tree."""
