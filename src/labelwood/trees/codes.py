"""Trees that know frequencies and nothing else: the shortest way to a label, whatever it means."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood import _native
from labelwood.errors import ParameterError
from labelwood.trees.tree import LabelTree


def huffman(frequencies: Any) -> LabelTree:
    """The binary tree with the least expected depth; every leaf holds one label.

    Example:
        >>> huffman([8, 4, 2, 2]).label_depths.tolist()
        [1, 2, 3, 3]
    """
    weights = _checked(frequencies)
    order = np.argsort(weights, kind="stable")
    # What is joined comes out in ascending order too, so two queues do what a heap would.
    single = deque((float(weights[label]), [int(label)]) for label in order)
    joined: deque[tuple[float, list[Any]]] = deque()

    def lightest() -> tuple[float, list[Any]]:
        return single.popleft() if not joined or (single and single[0][0] <= joined[0][0]) else joined.popleft()

    for _ in range(len(weights) - 1):
        a, b = lightest(), lightest()
        joined.append((a[0] + b[0], [a[1], b[1]]))
    return LabelTree.from_nested((joined or single)[0][1], len(weights))


def fano(frequencies: Any) -> LabelTree:
    """A binary tree whose nodes cut their labels, sorted by frequency, into halves of equal weight.

    Its expected depth is within one of the entropy. Every leaf holds one label.

    Example:
        >>> fano([8, 4, 2, 2]).label_depths.tolist()
        [1, 2, 3, 3]
    """
    weights = _checked(frequencies)
    no_vectors = np.zeros(len(weights) + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), 1
    arrays = _native.interpolated_tree(*no_vectors, weights, weights, 2.0, 0.0, True, 2, 1, 0, 1)
    return LabelTree.from_arrays(arrays, len(weights))


def _checked(frequencies: Any) -> NDArray[np.float64]:
    weights = np.ascontiguousarray(frequencies, np.float64)
    if weights.ndim != 1 or len(weights) == 0 or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ParameterError("frequencies must be numbers of at least 0, one for each label")
    return weights
