"""What a dual encoder learns from and answers to: texts, labels, and pairs of both."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelwood.errors import LabelwoodError
from labelwood.inputs import Sparse, as_labels
from labelwood.metrics.filters import checked_pairs


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


def as_truth(Y: Any, n_rows: int, n_labels: int) -> Sparse:
    """Which rows have which labels; some row has one.

    Example:
        >>> as_truth([[1, 0], [0, 0]], n_rows=2, n_labels=2).indices.tolist()
        [0]
    """
    shape = np.shape(Y)
    if len(shape) == 2 and shape[0] != n_rows:
        raise LabelwoodError(f"Y has {shape[0]} rows and there are {n_rows} texts: give each text its row of labels")
    truth = as_labels(Y, n_rows)
    if truth.n_cols != n_labels:
        raise LabelwoodError(
            f"Y has {truth.n_cols} labels and there are {n_labels} label_texts: give each label a text"
        )
    if not len(truth.indices):
        raise LabelwoodError("Y has no label in any row: there is nothing to learn from")
    return truth


def with_pairs(Y: Sparse, pairs: Any) -> Sparse:
    """Y with further entries, which pairs (row, label) name.

    Example:
        >>> with_pairs(as_truth([[1, 0]], n_rows=1, n_labels=2), [(0, 1)]).indices.tolist()
        [0, 1]
    """
    if pairs is None:
        return Y
    at = checked_pairs(pairs, Y.n_rows)
    if len(at) and at[:, 1].max() >= Y.n_cols:
        raise LabelwoodError(f"filters name label {at[:, 1].max()} and there are {Y.n_cols} labels: count from zero")
    return as_labels(Y.to_scipy() + sparse.csr_array((np.ones(len(at)), at.T), Y.to_scipy().shape), Y.n_rows)
