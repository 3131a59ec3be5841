"""Mines hard negatives: the labels nearest to a query that are not its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelwood.arrays.rows import Floats, Sparse
from labelwood.dual_encoder.answering.index import PrototypeIndex
from labelwood.dual_encoder.data.samplers import HardNegatives

_SPARE = 32  # extra answers, because some of the nearest labels are true
_BLOCK = 65536


def mined(queries: Floats, prototypes: Floats, Y: Sparse, *, n_kept: int, device: Any = None) -> HardNegatives:
    """The `n_kept` nearest labels of each query that are not its own.

    Example:
        >>> from labelwood.arrays.rows import from_dense
        >>> eye = np.eye(3, dtype=np.float32)
        >>> mined(np.float32([[1, 0.5, 0]]), eye, from_dense(eye[:1]), n_kept=1).labels
        array([[1]], dtype=int32)
    """
    index = PrototypeIndex(prototypes, device=device)
    n_labels = len(prototypes)
    n_kept = min(n_kept, n_labels)
    # One number for each pair of a query and a true label, sorted.
    true = np.repeat(np.arange(Y.n_rows), np.diff(Y.indptr)) * np.int64(n_labels) + Y.indices
    kept = np.empty((Y.n_rows, n_kept), np.int32)
    for at in range(0, Y.n_rows, _BLOCK):
        ids = index.topk(queries[at : at + _BLOCK], n_kept + _SPARE).ids
        pairs = np.arange(at, at + len(ids))[:, None] * np.int64(n_labels) + ids
        place = np.minimum(np.searchsorted(true, pairs), len(true) - 1)
        is_true = (true[place] == pairs) | (ids < 0)
        nearest = np.argsort(is_true, axis=1, kind="stable")[:, :n_kept]
        kept[at : at + len(ids)] = np.take_along_axis(np.maximum(ids, 0), nearest, axis=1)
    return HardNegatives(kept)
