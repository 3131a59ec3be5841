"""Label trees and their builders."""

from labelwood.trees.balanced import balanced
from labelwood.trees.kmeans import kmeans
from labelwood.trees.tree import LabelTree

__all__ = ["LabelTree", "balanced", "kmeans"]
