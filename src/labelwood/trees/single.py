"""Trees whose leaves hold one label each."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from labelwood.trees.tree import LabelTree


def with_single_leaves(tree: LabelTree) -> LabelTree:
    """The same tree, with a leaf of its own for every label below each leaf that had several.

    Example:
        >>> with_single_leaves(LabelTree.from_nested([[0, 1], [2]])).depths.tolist()
        [0, 1, 1, 2, 2]
    """
    sizes = np.diff(tree.label_ptr)
    crowded = sizes > 1
    if not crowded.any():
        return tree
    split = np.repeat(crowded, sizes)
    # Old nodes come first, then a new one for each label of a crowded leaf.
    parents = np.concatenate([tree.parents, np.repeat(np.arange(tree.n_nodes), sizes)[split]])
    labels = np.concatenate([np.full(tree.n_nodes, -1), tree.labels[split]])
    lone = np.flatnonzero(sizes == 1)
    labels[lone] = tree.labels[tree.label_ptr[lone]]
    depths = np.concatenate([tree.depths, tree.depths[parents[tree.n_nodes :]] + 1])
    order = _level_order(parents, depths)
    children = np.bincount(parents[1:], minlength=len(parents))[order]
    holds = labels[order] >= 0
    return LabelTree(
        np.concatenate([[1], 1 + np.cumsum(children)]).astype(np.int32),
        np.concatenate([[0], np.cumsum(holds)]).astype(np.int64),
        labels[order][holds].astype(np.int32),
        tree.n_labels,
    )


def _level_order(parents: NDArray[np.int64], depths: NDArray[np.int32]) -> NDArray[np.int64]:
    """Nodes level by level, children of one parent together and parents in the order of their own level."""
    by_depth = np.argsort(depths, kind="stable")
    ends = np.cumsum(np.bincount(depths))
    places = np.zeros(len(parents), np.int64)
    for begin, end in pairwise(ends):
        level = by_depth[begin:end]
        level = by_depth[begin:end] = level[np.argsort(places[parents[level]], kind="stable")]
        places[level] = np.arange(begin, end)
    return by_depth
