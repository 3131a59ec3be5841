"""`TopK`, the best labels of rows: every model returns it and every metric reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood.arrays.rows import Floats
from labelwood.arrays.values import MOST, whole_number

_MOST_PADDED = 10_000  # k may be this large even if there are fewer labels


@dataclass(frozen=True)
class TopK:
    """The best labels of each row, best first: label ids and their scores, both rows × k.

    Equal scores are ordered by ascending id, except where several trees answer. A row with fewer than k answers is
    padded with id −1 and score −inf.

    Example:
        >>> top = TopK(ids=np.array([[7, 2], [4, -1]]), scores=np.array([[0.9, 0.1], [0.5, -np.inf]]))
        >>> len(top), top.k
        (2, 2)
        >>> [[label for label, score in row] for row in top]
        [[7, 2], [4]]
    """

    ids: NDArray[np.int32]
    scores: Floats

    @property
    def k(self) -> int:
        """The number of labels that a row can hold."""
        return int(self.ids.shape[1])

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[list[tuple[int, float]]]:
        for ids, scores in zip(self.ids, self.scores, strict=True):
            yield [pair for pair in zip(ids.tolist(), scores.tolist(), strict=True) if pair[0] >= 0]

    def to_scipy(self, n_labels: int) -> Any:
        """The scores as a sparse rows × labels `csr_array`.

        Example:
            >>> top = TopK(ids=np.array([[2, -1]]), scores=np.array([[0.5, -np.inf]]))
            >>> top.to_scipy(n_labels=3).toarray()
            array([[0. , 0. , 0.5]])
        """
        real = self.ids >= 0
        indptr = np.concatenate([[0], real.sum(axis=1).cumsum()])
        return sparse.csr_array((self.scores[real], self.ids[real], indptr), shape=(len(self), n_labels))


def check_k(k: Any, n_labels: int | None = None) -> int:
    """The checked k; raises if it cannot be used.

    Every row of the answers is k wide, so a k far above the number of labels would take all memory.

    Example:
        >>> check_k(np.int64(5), n_labels=3)
        5
    """
    most = MOST if n_labels is None else max(n_labels, _MOST_PADDED)
    return k if type(k) is int and 1 <= k <= most else whole_number(k, "k", most=most)


def padded(top: TopK, k: int) -> TopK:
    """The same answers, padded to k per row.

    Example:
        >>> padded(TopK(ids=np.array([[2]]), scores=np.array([[0.5]])), k=2).ids
        array([[ 2, -1]])
    """
    missing = k - top.k
    if missing <= 0:
        return top
    widths = ((0, 0), (0, missing))
    return TopK(
        np.pad(top.ids, widths, constant_values=-1),
        np.pad(top.scores, widths, constant_values=-np.inf),
    )
