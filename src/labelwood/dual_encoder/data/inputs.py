"""What a dual encoder learns from and answers to: texts, labels, and pairs of both."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from labelwood.arrays.pairs import checked_pairs
from labelwood.arrays.rows import Sparse, as_labels, from_scipy
from labelwood.errors import LabelwoodError


def as_texts(texts: Any, name: str) -> Any:
    """Texts in one Arrow array, each a string.

    Example:
        >>> as_texts(["a dog"], "texts").to_pylist()
        ['a dog']
    """
    from labelwood.data.dataset import strings

    found = strings(texts, name)
    if hasattr(found, "combine_chunks"):
        found = found.combine_chunks()
    if found.null_count:
        missing = found.is_null().to_pylist().index(True)
        raise LabelwoodError(f"{name}[{missing}] is None: give a string, which may be empty")
    return found


class Known(NamedTuple):
    """Which rows have which labels, and which pairs of both are no mistakes: those, and pairs that are filtered.

    Example:
        >>> known = as_known([[1, 0, 1]], [(0, 1), (0, 2)], n_rows=1, n_labels=3)
        >>> known.truth.indices.tolist(), known.spared.indices.tolist()
        ([0], [0, 1, 2])
    """

    truth: Sparse
    spared: Sparse

    def of_rows(self, which: Any) -> Known:
        """The same of some rows."""
        return Known(*(from_scipy(matrix.to_scipy()[which]) for matrix in self))


def as_known(Y: Any, filters: Any, n_rows: int, n_labels: int) -> Known:
    """What is known of rows and labels from rows × labels `Y`, where some row has a label, and pairs that do not count.

    Example:
        >>> as_known([[1, 0], [0, 0]], None, n_rows=2, n_labels=2).truth.indices.tolist()
        [0]
    """
    n_given = len(Y) if isinstance(Y, (list, tuple)) else (*getattr(Y, "shape", ()), n_rows)[0]
    if n_given != n_rows:
        raise LabelwoodError(f"Y has {n_given} rows and there are {n_rows} texts: give each text its row of labels")
    truth = as_labels(Y, n_rows)
    if truth.n_cols != n_labels:
        raise LabelwoodError(
            f"Y has {truth.n_cols} labels and there are {n_labels} label_texts: give each label a text"
        )
    spared = truth
    if filters is not None:
        neutral, marked = _marked(filters, n_rows, n_labels), truth.to_scipy()
        spared, truth = as_labels(marked + neutral, n_rows), as_labels(marked - marked.multiply(neutral), n_rows)
    if not len(truth.indices):
        raise LabelwoodError("Y has no label in any row: there is nothing to learn from")
    return Known(truth, spared)


def _marked(pairs: Any, n_rows: int, n_labels: int) -> Any:
    """A one for each pair (row, label)."""
    at = checked_pairs(pairs, n_rows)
    if len(at) and at[:, 1].max() >= n_labels:
        raise LabelwoodError(f"filters name label {at[:, 1].max()} and there are {n_labels} labels: count from zero")
    marks = sparse.csr_array((np.ones(len(at), np.float32), at.T), (n_rows, n_labels))
    return marks.sign()
