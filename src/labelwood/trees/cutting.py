"""Trees cut off where few labels are left."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelwood.trees.tree import LabelTree


def cut(tree: LabelTree, max_labels: int) -> tuple[LabelTree, NDArray[np.int64]]:
    """The tree whose leaves are the first nodes with at most `max_labels` labels below; and which nodes they all were.

    Example:
        >>> top, nodes = cut(LabelTree.from_nested([[[0], [1]], [[[2], [3]], [4]]]), 2)
        >>> top.leaf_sizes.tolist(), nodes.tolist()
        ([2, 2, 1], [0, 1, 2, 5, 6])
    """
    n_below = np.diff(tree.label_ptr)
    for node in range(tree.n_nodes - 1, 0, -1):
        n_below[tree.parents[node]] += n_below[node]
    # Of each node the leaf of the new tree that it is or lies below, or −1 above all of them.
    leaf_of = np.full(tree.n_nodes, -1)
    for node in range(tree.n_nodes):
        above = leaf_of[tree.parents[node]] if node else -1
        is_leaf = n_below[node] <= max_labels or tree.child_ptr[node] == tree.child_ptr[node + 1]
        leaf_of[node] = above if above >= 0 else node if is_leaf else -1
    kept = np.flatnonzero((leaf_of < 0) | (leaf_of == np.arange(tree.n_nodes)))
    children = np.where(leaf_of[kept] < 0, np.diff(tree.child_ptr)[kept], 0)
    owners = leaf_of[np.repeat(np.arange(tree.n_nodes), np.diff(tree.label_ptr))]
    order = np.argsort(owners, kind="stable")
    sizes = np.bincount(owners, minlength=tree.n_nodes)[kept]
    return (
        LabelTree(
            np.concatenate([[1], 1 + np.cumsum(children)]).astype(np.int32),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            tree.labels[order],
            tree.n_labels,
        ),
        kept,
    )
