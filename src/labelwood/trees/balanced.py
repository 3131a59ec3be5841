"""Trees whose siblings have as many labels as each other, by clustering."""

from __future__ import annotations

from typing import Any

from labelwood import _native
from labelwood.arrays.threads import thread_count
from labelwood.trees.tree import LabelTree
from labelwood.trees.vectors import check_sizes, unit_rows


def balanced(
    vectors: Any, *, arity: int = 2, max_leaf: int = 100, seed: int = 0, n_threads: int | None = None
) -> LabelTree:
    """A tree that halves its labels by balanced spherical 2-means until a node has at most `max_leaf`.

    `vectors` has a row for each label (`labelwood.labels.pifa` makes them). With `arity` above two, a node's labels
    are halved several times at once and its parts become its children, whose sizes differ by at most one. Labels in
    another order give the same tree, and so does any number of threads.

    Example:
        >>> import numpy as np
        >>> tree = balanced(np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.1, 0.9]]), max_leaf=2)
        >>> sorted(sorted(tree.labels[a:b].tolist()) for a, b in zip(tree.label_ptr, tree.label_ptr[1:]) if b > a)
        [[0, 2], [1, 3]]
    """
    check_sizes(arity, max_leaf, seed)
    rows = unit_rows(vectors)
    arrays = _native.balanced_tree(rows, arity=arity, max_leaf=max_leaf, seed=seed, n_threads=thread_count(n_threads))
    return LabelTree.from_arrays(arrays, rows.n_rows)
