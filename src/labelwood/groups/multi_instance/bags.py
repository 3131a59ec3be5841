"""Converts what users pass as bags into rows and the bag of each row; errors say in one sentence what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood.arrays.rows import Features, Sparse, as_features, shape_of
from labelwood.arrays.values import plain_array
from labelwood.errors import LabelwoodError


class Bags(NamedTuple):
    """Rows, and the rows of each bag.

    Example:
        >>> bags = as_bags(([[1.0], [2.0], [3.0]], [1, 0, 1]))
        >>> bags.order[bags.starts[1] : bags.starts[2]]
        array([0, 2])
    """

    rows: Features
    order: NDArray[np.int64]  # row numbers, bag after bag
    starts: NDArray[np.int64]  # where each bag starts in `order`, and where the last one ends

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many rows each bag has."""
        return np.diff(self.starts)

    @property
    def groups(self) -> NDArray[np.int64]:
        """The number of each row's bag."""
        groups = np.empty(len(self.order), np.int64)
        groups[self.order] = np.repeat(np.arange(len(self)), self.sizes)
        return groups

    def __len__(self) -> int:
        return len(self.starts) - 1


def as_bags(bags: Any) -> Bags:
    """Checks bags: (X, groups), a list of matrices, an array of bags × instances × features, or rows as bags of one.

    Example:
        >>> len(as_bags([[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]])), len(as_bags(np.ones((5, 4, 3))))
        (2, 5)
        >>> len(as_bags(np.ones((5, 3))))
        5
    """
    if isinstance(bags, Sparse):  # which is a tuple, too
        return _from_sizes(bags, np.ones(bags.n_rows, np.int64))
    if isinstance(bags, tuple) and not _all_matrices(bags):
        if len(bags) != 2:
            raise LabelwoodError(f"a tuple of bags has {len(bags)} parts and needs two: give (X, groups)")
        rows = as_features(bags[0])
        return _from_groups(rows, _as_groups(bags[1], shape_of(rows)[0]))
    if isinstance(bags, (list, tuple)) and _all_matrices(bags):
        return _from_matrices(bags)
    if isinstance(bags, np.ndarray) and bags.ndim == 3:
        n_bags, size, n_features = bags.shape
        if not size:
            raise LabelwoodError("the bags have no rows: give each bag at least one")
        rows = as_features(bags.reshape(-1, n_features), name="bags")
        return _from_sizes(rows, np.full(n_bags, size, np.int64))
    rows = as_features(bags)
    return _from_sizes(rows, np.ones(shape_of(rows)[0], np.int64))


def rows_of(rows: Features, which: NDArray[np.int64]) -> Features:
    """The rows with the given numbers, in this order; a number may come more than once.

    Example:
        >>> rows_of(np.array([[1.0], [2.0]], np.float32), np.array([1, 1])).tolist()
        [[2.0], [2.0]]
    """
    if not isinstance(rows, Sparse):
        return rows[which]
    lengths = np.diff(rows.indptr)[which]
    indptr = np.concatenate([[0], lengths.cumsum()])
    at = ranges(rows.indptr[which], lengths)
    return Sparse(indptr, rows.indices[at], rows.values[at], rows.n_cols)


def ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Consecutive numbers from each start, `lengths` of them, one range after the other.

    Example:
        >>> ranges(np.array([5, 0]), np.array([2, 3]))
        array([5, 6, 0, 1, 2])
    """
    ends = lengths.cumsum()
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - lengths), lengths)


def _all_matrices(bags: Sequence[Any]) -> bool:
    """Whether every part is a matrix; a list of rows is a matrix itself."""
    return len(bags) > 0 and all(_n_dims(bag) == 2 for bag in bags)


def _n_dims(bag: Any) -> int:
    try:
        return int(bag.ndim) if hasattr(bag, "ndim") else np.ndim(bag)
    except Exception:  # rows of different lengths, or an object that raises: reading it gives the error
        return 2


def _from_matrices(bags: Sequence[Any]) -> Bags:
    checked = [as_features(b, name=f"bag {i}") for i, b in enumerate(bags)]
    parts: list[Any] = [b.to_scipy() if isinstance(b, Sparse) else b for b in checked]
    for i, part in enumerate(parts):
        if part.shape[1] != parts[0].shape[1]:
            raise LabelwoodError(
                f"bag {i} has {part.shape[1]} features and bag 0 has {parts[0].shape[1]}: make them equal"
            )
        if not part.shape[0]:
            raise LabelwoodError(f"bag {i} has no row: give each bag at least one")
    whole = sparse.vstack(parts) if any(map(sparse.issparse, parts)) else np.concatenate(parts)
    return _from_sizes(as_features(whole, name="bags"), np.array([part.shape[0] for part in parts], np.int64))


def _as_groups(groups: Any, n_rows: int) -> NDArray[np.int64]:
    ids = plain_array(groups, "groups")
    if ids.shape != (n_rows,) or (ids.size and ids.dtype.kind not in "iu"):
        raise LabelwoodError(
            f"groups must be {n_rows} whole numbers, the bag of each row of X, but has shape {ids.shape} "
            f"and type {ids.dtype}"
        )
    if ids.size and (ids.min() < 0 or ids.max() >= n_rows):
        wrong = ids.min() if ids.min() < 0 else ids.max()
        raise LabelwoodError(f"groups holds {wrong} for {n_rows} rows: number the bags from 0, each with a row")
    return ids.astype(np.int64)


def _from_groups(rows: Features, groups: NDArray[np.int64]) -> Bags:
    sizes = np.bincount(groups)
    if not sizes.all():
        raise LabelwoodError(f"no row is in bag {int(np.argmin(sizes))}: number the bags from 0, each with a row")
    return Bags(rows, np.argsort(groups, kind="stable"), np.concatenate([[0], sizes.cumsum()]))


def _from_sizes(rows: Features, sizes: NDArray[np.int64]) -> Bags:
    return Bags(rows, np.arange(shape_of(rows)[0]), np.concatenate([[0], sizes.cumsum()]))
