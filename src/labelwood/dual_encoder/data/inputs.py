"""Decides which pairs of rows and labels a dual encoder learns from, and which are never negatives."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from labelwood.arrays.pairs import as_pairs
from labelwood.arrays.rows import Sparse, as_labels, from_scipy
from labelwood.errors import LabelwoodError


class Known(NamedTuple):
    """The labels of rows, and the pairs that are never negatives: these and the filtered ones.

    Example:
        >>> known = as_known(as_labels([[1, 0, 1]]), [(0, 1), (0, 2)], n_labels=3)
        >>> known.truth.indices.tolist(), known.never_negative.indices.tolist()
        ([0], [0, 1, 2])
    """

    truth: Sparse
    never_negative: Sparse

    def of_rows(self, which: Any) -> Known:
        """The same for some of the rows."""
        return Known(*(from_scipy(matrix.to_scipy()[which]) for matrix in self))


def as_known(truth: Sparse, filters: Any, n_labels: int) -> Known:
    """Checks labels, rows × labels, and filters, pairs that do not count; at least one label must be left.

    Example:
        >>> as_known(as_labels([[1, 0], [0, 0]]), None, n_labels=2).truth.indices.tolist()
        [0]
    """
    if truth.n_cols != n_labels:
        raise LabelwoodError(
            f"Y has {truth.n_cols} labels and there are {n_labels} label_texts: give each label a text"
        )
    never_negative, n_rows = truth, truth.n_rows
    if filters is not None:
        neutral, marked = _marked(filters, n_rows, n_labels), truth.to_scipy()
        never_negative = as_labels(marked + neutral, n_rows)
        truth = as_labels(marked - marked.multiply(neutral), n_rows)
    if not len(truth.indices):
        raise LabelwoodError("Y has no label in any row: there is nothing to learn from")
    return Known(truth, never_negative)


def _marked(pairs: Any, n_rows: int, n_labels: int) -> Any:
    """Rows × labels with a one for each pair (row, label)."""
    at = as_pairs(pairs, n_rows)
    if len(at) and at[:, 1].max() >= n_labels:
        raise LabelwoodError(f"filters name label {at[:, 1].max()}, but there are {n_labels} labels: count from zero")
    marks = sparse.csr_array((np.ones(len(at), np.float32), at.T), (n_rows, n_labels))
    return marks.sign()
