"""Checks filters: pairs of row and label that predictions must not contain."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.arrays.values import plain_array
from labelwood.errors import LabelwoodError


def as_pairs(pairs: Any, n_rows: int) -> NDArray[np.int64]:
    """The pairs (row, label) of `filters` as an n × 2 array; raises `LabelwoodError` for anything else.

    Example:
        >>> as_pairs([(0, 4)], n_rows=1).tolist()
        [[0, 4]]
    """
    array = plain_array(pairs, "filters")
    if array.size == 0:
        return np.zeros((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise LabelwoodError(
            f"filters have shape {array.shape} and dtype {array.dtype}: pass pairs (row, label) of whole numbers, n × 2"
        )
    if array.min() < 0 or array[:, 1].max() > np.iinfo(np.int32).max:
        raise LabelwoodError("filters contain a negative or too large number: count rows and labels from zero")
    if array[:, 0].max() >= n_rows:
        raise LabelwoodError(
            f"filters name row {array[:, 0].max()} and there are {n_rows} rows: pass the filter of these rows"
        )
    checked: NDArray[np.int64] = array.astype(np.int64, copy=False)
    return checked
