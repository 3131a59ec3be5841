"""Trees whose leaves hold one label each."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.arrays.values import real_vector
from labelwood.errors import ParameterError
from labelwood.trees.codes import huffman
from labelwood.trees.tree import LabelTree


def with_single_leaves(tree: LabelTree, frequencies: Any = None) -> LabelTree:
    """The same tree, with a leaf of its own for every label below each leaf that had several.

    These come right below the old leaf; or with `frequencies` of labels, as a Huffman tree has them.

    Example:
        >>> with_single_leaves(LabelTree.from_nested([[0, 1, 2], [3]])).depths.tolist()
        [0, 1, 1, 2, 2, 2]
        >>> with_single_leaves(LabelTree.from_nested([[0, 1, 2], [3]]), [1, 1, 2, 1]).label_depths.tolist()
        [3, 3, 2, 1]
    """
    weights = None if frequencies is None else real_vector(frequencies, "frequencies")
    if weights is not None and (len(weights) != tree.n_labels or not (np.isfinite(weights) & (weights >= 0)).all()):
        raise ParameterError(f"frequencies must be {tree.n_labels} numbers of at least 0, one for each label")
    sizes = np.diff(tree.label_ptr)
    if (sizes <= 1).all():
        return tree
    lone = np.flatnonzero(sizes == 1)
    held = np.full(tree.n_nodes, -1)
    held[lone] = tree.labels[tree.label_ptr[lone]]
    # Old nodes come first, then new ones below each crowded leaf.
    parents, depths, labels = [tree.parents], [tree.depths], [held]
    n_nodes = tree.n_nodes
    for leaf in np.flatnonzero(sizes > 1).tolist():
        own = tree.labels[tree.label_ptr[leaf] : tree.label_ptr[leaf + 1]]
        below = _flat(len(own)) if weights is None else huffman(weights[own])
        above = below.parents[1:]
        parents.append(np.where(above == 0, leaf, above + n_nodes - 1))
        depths.append(below.depths[1:] + tree.depths[leaf])
        held = np.full(below.n_nodes, -1)
        held[below.leaves] = own[below.labels]
        labels.append(held[1:])
        n_nodes += below.n_nodes - 1
    return _in_level_order(np.concatenate(parents), np.concatenate(depths), np.concatenate(labels), tree.n_labels)


def _flat(n_labels: int) -> LabelTree:
    """A root with a leaf for each label."""
    return LabelTree(
        np.array([1, *[n_labels + 1] * (n_labels + 1)], np.int32),
        np.array([0, *range(n_labels + 1)], np.int64),
        np.arange(n_labels, dtype=np.int32),
        n_labels,
        verify=False,
    )


def _in_level_order(parents: NDArray[Any], depths: NDArray[Any], labels: NDArray[Any], n_labels: int) -> LabelTree:
    """A tree from the parent, the depth and the label of each node; −1 for none."""
    order = _level_order(parents, depths)
    children = np.bincount(parents[1:], minlength=len(parents))[order]
    holds = labels[order] >= 0
    return LabelTree(
        np.concatenate([[1], 1 + np.cumsum(children)]).astype(np.int32),
        np.concatenate([[0], np.cumsum(holds)]).astype(np.int64),
        labels[order][holds].astype(np.int32),
        n_labels,
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
