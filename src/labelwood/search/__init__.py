"""Finding the best labels: best-first and level by level over a tree of classifiers."""

from labelwood.search.tree import TrainedTree

__all__ = ["TrainedTree"]
