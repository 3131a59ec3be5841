"""Vectors of labels, computed from the rows that have them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from labelwood import _native
from labelwood.arrays.rows import Floats, Pattern, Sparse, as_features, as_labels
from labelwood.arrays.threads import thread_count

Members: TypeAlias = Pattern  # labels × rows: the rows of each label


def pifa(X: Any, Y: Any, *, n_threads: int | None = None) -> Any:
    """Positive instance feature aggregation: a label's vector is the sum of its rows, scaled to unit length.

    Returns labels × features, sparse for sparse `X` and dense for dense. A label without rows gets zeros.

    Example:
        >>> pifa([[3.0, 0.0], [0.0, 4.0]], [[1, 0], [1, 0]]).round(2)
        array([[0.6, 0.8],
               [0. , 0. ]], dtype=float32)
    """
    features = as_features(X)
    n_rows = features.n_rows if isinstance(features, Sparse) else len(features)
    result = label_vectors(features, as_labels(Y, n_rows), thread_count(n_threads))
    return result.to_scipy() if isinstance(result, Sparse) else result


def label_vectors(X: Sparse | Floats, Y: Sparse, n_threads: int) -> Sparse | Floats:
    """`pifa` for checked input."""
    members = members_of(Y)
    if isinstance(X, Sparse):
        return sparse_label_vectors(X, members, X.n_cols, n_threads)
    return _native.dense_centroids(X, members, n_threads)


def sparse_label_vectors(X: Sparse, members: Members, max_features: int, n_threads: int) -> Sparse:
    """`pifa` for sparse rows, with only the `max_features` largest features of each label."""
    indptr, indices, values = _native.sparse_centroids(X, members, max_features, n_threads)
    return Sparse(indptr, indices, values, X.n_cols)


def members_of(Y: Sparse) -> Members:
    """The rows of each label, ascending: labels × rows.

    Example:
        >>> members_of(as_labels([[1, 0], [1, 1]], 2)).indices
        array([0, 1, 1], dtype=int32)
    """
    columns = sparse.csc_array(Y.to_scipy())
    return Pattern(columns.indptr.astype(np.int64), columns.indices.astype(np.int32), Y.n_rows)
