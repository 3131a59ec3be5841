"""Several trees' answers as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labelwood import _native
from labelwood.arrays.topk import TopK

TIER = 10  # labels of each tree that go into the mean; fewer would turn near misses into zeros


def width_for(k: int, n_labels: int) -> int:
    """How many labels to ask of each tree for the best `k` of all.

    Example:
        >>> [width_for(k, n_labels=1000) for k in (1, 10, 11, 25)]
        [10, 10, 20, 40]
    """
    width = TIER
    while width < k:
        width *= 2
    return min(width, n_labels)


def mean_of(answers: Sequence[TopK], k: int, n_threads: int, min_score: float = 0.0) -> TopK:
    """The k best labels by their mean score; a label that a tree does not name scores zero there.

    Labels that some tree names among its first `TIER` come first, by the mean over the trees that do so. Those among
    the first 2 · `TIER` follow, and so on. So the beginning of the answers does not depend on k. Scores never rise: a
    label of a later tier whose mean is higher than the score before it gets that score.

    Example:
        >>> first = TopK(np.array([[0, 1]], np.int32), np.array([[0.5, 0.25]], np.float32))
        >>> second = TopK(np.array([[1, 2]], np.int32), np.array([[0.5, 0.25]], np.float32))
        >>> mean_of([first, second], k=2, n_threads=1).ids.tolist()
        [[1, 0]]
    """
    ids, scores = _native.mean_of(answers, k, TIER, n_threads)
    if min_score > 0:
        low = scores < min_score
        ids[low], scores[low] = -1, -np.inf
    return TopK(ids, scores)
