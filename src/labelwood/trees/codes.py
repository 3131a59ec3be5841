"""Trees that know frequencies and nothing else: the shortest way to a label, whatever it means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood import _native
from labelwood.arrays.rows import Sparse
from labelwood.arrays.values import real_vector
from labelwood.errors import ParameterError
from labelwood.trees.tree import LabelTree

_MOST = 1e80  # that a label may weigh: the sums of many are still finite


def huffman(frequencies: Any) -> LabelTree:
    """The binary tree with the least expected depth; every leaf holds one label.

    Example:
        >>> huffman([8, 4, 2, 2]).label_depths.tolist()
        [1, 2, 3, 3]
    """
    weights = _checked(frequencies)
    order = np.argsort(weights, kind="stable")
    return _tree_of(_joined(weights[order].tolist()), order.astype(np.int32))


def _joined(weights: list[float]) -> NDArray[np.int64]:
    """Huffman's algorithm for ascending weights: the pairs that are joined, each by a new number behind all before."""
    n = len(weights)
    sums = weights + [0.0] * (n - 1)
    pairs = np.empty((max(n - 1, 0), 2), np.int64)
    # What is joined comes out in ascending order too, so two queues do what a heap would.
    single, joined = 0, n
    for new in range(n, 2 * n - 1):
        for side in range(2):
            if single < n and (joined == new or sums[single] <= sums[joined]):
                pairs[new - n, side], single = single, single + 1
            else:
                pairs[new - n, side], joined = joined, joined + 1
        sums[new] = sums[pairs[new - n, 0]] + sums[pairs[new - n, 1]]
    return pairs


def _tree_of(pairs: NDArray[np.int64], labels: NDArray[np.int32]) -> LabelTree:
    """The tree of pairs of nodes, the last of which is the root; node `i` without a pair holds ``labels[i]``."""
    n = len(labels)
    level = np.array([2 * n - 2])
    inner, held = [], []
    while len(level):
        inner.append(level >= n)
        held.append(labels[level[level < n]])
        level = pairs[level[level >= n] - n].reshape(-1)
    is_inner = np.concatenate(inner)
    child_ptr = 1 + np.concatenate([[0], np.cumsum(2 * is_inner)])
    label_ptr = np.concatenate([[0], np.cumsum(~is_inner)])
    return LabelTree(child_ptr.astype(np.int32), label_ptr.astype(np.int64), np.concatenate(held), n)


def fano(frequencies: Any) -> LabelTree:
    """A binary tree whose nodes cut their labels, sorted by frequency, into halves of equal weight.

    Its expected depth is within one of the entropy. Every leaf holds one label.

    Example:
        >>> fano([8, 4, 2, 2]).label_depths.tolist()
        [1, 2, 3, 3]
    """
    weights = _checked(frequencies)
    no_vectors = Sparse(np.zeros(len(weights) + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), 1)
    arrays = _native.interpolated_tree(
        no_vectors,
        frequency=weights,
        covering=weights,
        lam=2.0,
        smoothing=0.0,
        midpoint=True,
        arity=2,
        max_leaf=1,
        seed=0,
        n_threads=1,
    )
    return LabelTree.from_arrays(arrays, len(weights))


def _checked(frequencies: Any) -> NDArray[np.float64]:
    weights = real_vector(frequencies, "frequencies")
    if len(weights) == 0 or not ((weights >= 0) & (weights <= _MOST)).all():
        raise ParameterError("frequencies must be numbers of at least 0, one for each label")
    return weights
