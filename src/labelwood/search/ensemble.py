"""Several trees' answers as one."""

from __future__ import annotations

from collections.abc import Sequence

from labelwood import _native
from labelwood.base import TopK


def mean_of(answers: Sequence[TopK], k: int, n_threads: int) -> TopK:
    """The k best labels by their mean score; a label that a tree does not name scores zero there.

    Example:
        >>> import numpy as np
        >>> first = TopK(np.array([[0, 1]], np.int32), np.array([[0.5, 0.25]], np.float32))
        >>> second = TopK(np.array([[1, 2]], np.int32), np.array([[0.5, 0.25]], np.float32))
        >>> mean_of([first, second], k=2, n_threads=1).ids.tolist()
        [[1, 0]]
    """
    return TopK(*_native.mean_answers([(top.ids, top.scores) for top in answers], k, n_threads))
