"""Shallow trees whose nodes are clusters of any size."""

from __future__ import annotations

from typing import Any

from labelwood import _native
from labelwood.arrays.threads import thread_count
from labelwood.arrays.values import whole_number
from labelwood.trees.tree import LabelTree
from labelwood.trees.vectors import check_sizes, unit_rows


def kmeans(
    vectors: Any,
    *,
    arity: int = 100,
    max_leaf: int = 100,
    min_size: int = 5,
    max_depth: int = 3,
    seed: int = 0,
    n_threads: int | None = None,
) -> LabelTree:
    """A tree that clusters its labels by spherical k-means until a node has at most `max_leaf`.

    `vectors` has a row for each label (`labelwood.labels.pifa` makes them). Clusters are as large as they come out,
    but those with fewer than `min_size` labels are dissolved: their labels go to the nearest that remain. A node has
    about `arity` children, and fewer where their labels would fill less than an eighth of a leaf on average. A
    cluster with more than eight times its share of labels is cut into parts of equal size. Labels whose vector is
    zero lie together. Nodes that cannot be clustered (equal vectors) and nodes `max_depth` below the root are cut
    into parts of equal size, so that no leaf is larger than `max_leaf`. Labels in another order give the same tree,
    and so does any number of threads.

    Example:
        >>> import numpy as np
        >>> vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.1, 0.9], [0.2, 1.0]])
        >>> tree = kmeans(vectors, arity=2, max_leaf=3, min_size=1)
        >>> sorted(sorted(tree.labels[a:b].tolist()) for a, b in zip(tree.label_ptr, tree.label_ptr[1:]) if b > a)
        [[0, 2], [1, 3, 4]]
    """
    check_sizes(arity, max_leaf, seed)
    whole_number(min_size, "min_size")
    whole_number(max_depth, "max_depth", least=0)
    rows = unit_rows(vectors)
    arrays = _native.kmeans_tree(
        rows,
        arity=arity,
        max_leaf=max_leaf,
        min_size=min_size,
        max_depth=max_depth,
        seed=seed,
        n_threads=thread_count(n_threads),
    )
    return LabelTree.from_arrays(arrays, rows.n_rows)
