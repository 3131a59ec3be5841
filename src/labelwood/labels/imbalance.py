"""The imbalance of labels: how few of the most frequent labels cover how many rows. Trees can exploit it."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from labelwood.arrays.rows import as_labels
from labelwood.errors import ParameterError

Covered: TypeAlias = Literal["any", "three", "all"]
_NTH = {"any": 1, "three": 3, "all": None}


def labels_to_cover(Y: Any, covered: Covered = "any") -> NDArray[np.float64]:
    """For each row the share of labels, most frequent first, that is needed to cover it, in ascending order.

    The labels cover a row if they contain any of its labels, three of them (or all if it has fewer), or all of them.
    Rows without labels are left out. Plotted against the share of rows, this is the label-imbalance curve.

    Example:
        >>> labels_to_cover([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]])
        array([0.25, 0.25, 0.75])
        >>> labels_to_cover([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]], "all")
        array([0.25, 0.5 , 0.75])
    """
    if covered not in _NTH:
        raise ParameterError(f"covered must be any, three or all, not {covered!r}")
    labels = as_labels(Y)
    frequency = np.bincount(labels.indices, minlength=labels.n_cols)
    rank = np.empty(labels.n_cols, np.int64)
    rank[np.argsort(-frequency, kind="stable")] = np.arange(1, labels.n_cols + 1)
    of_row = np.repeat(np.arange(labels.n_rows), np.diff(labels.indptr))
    ranks = rank[labels.indices]
    ranks = ranks[np.lexsort((ranks, of_row))]  # ascending in each row
    sizes = np.diff(labels.indptr)
    nth = _NTH[covered]
    place = labels.indptr[:-1] + (sizes if nth is None else np.minimum(sizes, nth)) - 1
    return np.sort(ranks[place[sizes > 0]]) / labels.n_cols
