"""A canonical order of labels that depends only on their rows, so that users may number labels in any way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood.arrays.rows import Pattern, Sparse, from_scipy
from labelwood.labels.representations import Members, members_of

Numbers = NDArray[np.int32]


def canonical_order(members: Members, n_rows: int) -> Numbers:
    """The labels from the most frequent to the rarest; the rows decide between equally frequent labels.

    Renumbered labels get the same canonical order, except that labels with exactly the same rows may swap places.

    Example:
        >>> from labelwood.arrays.rows import as_labels
        >>> from labelwood.labels.representations import members_of
        >>> canonical_order(members_of(as_labels([[1, 1, 0], [0, 1, 0]], 2)), n_rows=2)
        array([1, 0, 2], dtype=int32)
    """
    indptr, rows, _ = members
    marks = np.random.default_rng(0).integers(2**63, size=n_rows, dtype=np.uint64)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(marks[rows])])
    fingerprints = sums[indptr[1:]] - sums[indptr[:-1]]  # both wrap around, so the differences are right
    return np.lexsort((fingerprints, -np.diff(indptr))).astype(np.int32)


def canonical(Y: Sparse) -> tuple[Numbers, Sparse, Members]:
    """The canonical order, rows × labels in that order, and the rows of each label in that order.

    Example:
        >>> from labelwood.arrays.rows import as_labels
        >>> order, Y, members = canonical(as_labels([[0, 1], [0, 1]], 2))
        >>> order.tolist(), Y.indices.tolist(), members.indptr.tolist()
        ([1, 0], [0, 0], [0, 2, 2])
    """
    indptr, rows, _ = given = members_of(Y)
    order = canonical_order(given, Y.n_rows)
    ends = np.cumsum(np.diff(indptr)[order])
    begins = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    rows = rows[np.arange(len(rows)) + np.repeat(indptr[order] - begins, ends - begins)]
    members = Pattern(np.append(begins, ends[-1:]), rows, Y.n_rows)
    columns = sparse.csc_array((np.ones(len(rows), np.float32), rows, members.indptr), shape=(Y.n_rows, Y.n_cols))
    return order, from_scipy(columns.tocsr()), members


def inverse(order: Numbers) -> Numbers:
    """The position of each label in an order.

    Example:
        >>> inverse(np.array([2, 0, 1], np.int32))
        array([1, 2, 0], dtype=int32)
    """
    places = np.empty_like(order)
    places[order] = np.arange(len(order), dtype=order.dtype)
    return places


def reordered(Y: Sparse, order: Numbers) -> Sparse:
    """Rows × labels with the labels in the given order.

    Example:
        >>> from labelwood.arrays.rows import as_labels
        >>> reordered(as_labels([[1, 0, 0]], 1), np.array([2, 0, 1], np.int32)).indices
        array([1], dtype=int32)
    """
    return from_scipy(Y._replace(indices=inverse(order)[Y.indices]).to_scipy())
