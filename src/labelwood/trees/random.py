"""Trees that know nothing about their labels: what a clustering has to beat."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.arrays.rows import Sparse, as_features
from labelwood.arrays.values import whole_number
from labelwood.errors import LabelwoodError
from labelwood.trees.tree import LabelTree
from labelwood.trees.vectors import check_sizes


def random_tree(
    vectors: Any, *, arity: int = 2, max_leaf: int = 100, seed: int = 0, n_threads: int | None = None
) -> LabelTree:
    """A tree of random labels whose siblings have as many of them as each other, to within one.

    `vectors` has a row for each label, or is the number of labels: nothing else about them matters. A label's place
    depends on its id and the seed, so labels in another order give another tree, unlike with the other builders.
    `n_threads` is taken for the sake of the common signature and changes nothing.

    Example:
        >>> random_tree(10, arity=3, max_leaf=2)
        LabelTree(10 labels, 13 nodes, 9 leaves of 1 to 2 labels, depth 2)
    """
    check_sizes(arity, max_leaf, seed)
    order = np.random.default_rng(seed).permutation(_count(vectors)).astype(np.int32)
    level, child_ptr, leaves = [order], [1], []
    while level:
        below: list[NDArray[np.int32]] = []
        for labels in level:
            parts = np.array_split(labels, min(arity, len(labels))) if len(labels) > max_leaf else []
            below.extend(parts)
            child_ptr.append(child_ptr[-1] + len(parts))
            leaves.append(labels[:0] if parts else np.sort(labels))
        level = below
    label_ptr = np.cumsum([0, *map(len, leaves)], dtype=np.int64)
    return LabelTree(np.array(child_ptr, np.int32), label_ptr, np.concatenate(leaves), len(order))


def _count(vectors: Any) -> int:
    if isinstance(vectors, int | np.integer):
        return whole_number(vectors, "vectors")
    rows = as_features(vectors, name="vectors")
    n_labels = rows.n_rows if isinstance(rows, Sparse) else len(rows)
    if n_labels == 0:
        raise LabelwoodError("vectors has no rows: a tree needs at least one label")
    return n_labels
