"""Label trees, their builders and their pictures.

`BUILDERS` are those that need nothing but label vectors, by the names under which models know them; they are called as
``builder(vectors, arity=…, max_leaf=…, seed=…, n_threads=…)``.
"""

from collections.abc import Callable

from labelwood.trees.balanced import balanced
from labelwood.trees.codes import fano, huffman
from labelwood.trees.depth import expected_depth
from labelwood.trees.hierarchy import from_hierarchy, read_hierarchy
from labelwood.trees.interpolated import interpolated, lam_of
from labelwood.trees.kmeans import kmeans
from labelwood.trees.overlap import overlapping
from labelwood.trees.picture import draw
from labelwood.trees.random import random_tree
from labelwood.trees.single import with_single_leaves
from labelwood.trees.tree import LabelTree

BUILDERS: dict[str, Callable[..., LabelTree]] = {"balanced": balanced, "kmeans": kmeans, "random": random_tree}

__all__ = [
    "BUILDERS",
    "LabelTree",
    "balanced",
    "draw",
    "expected_depth",
    "fano",
    "from_hierarchy",
    "huffman",
    "interpolated",
    "kmeans",
    "lam_of",
    "overlapping",
    "random_tree",
    "read_hierarchy",
    "with_single_leaves",
]
