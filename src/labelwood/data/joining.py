"""Joins the pieces of a file into one dataset, with little more memory than the result takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from labelwood.data.dataset import Dataset, Groups
from labelwood.data.fields import Fields, concat_fields
from labelwood.labels.index import LabelIndex

_GROWTH = 1.25
_INT32_MAX = 2**31 - 1


def concat(pieces: Iterable[Dataset]) -> Dataset:
    """Concatenates datasets that share one growing label index. Each piece is released as soon as it is copied.

    Example:
        >>> a = Dataset.from_texts(["one"])
        >>> len(concat([a, a]))
        2
    """
    joined = _Joiner()
    for piece in pieces:
        joined.append(piece)
    return joined.dataset()


class _Joiner:
    def __init__(self) -> None:
        self._last: Dataset | None = None  # its parts without rows belong to the whole file
        self._labels: LabelIndex | None = None
        self._texts, self._ids = _Strings(), _Strings()
        self._sparse, self._Y = GrowingCsr(), GrowingCsr()
        self._dense: list[NDArray[np.float32]] = []
        self._groups: list[Groups] = []
        self._fields: list[Fields | None] = []
        self._sizes: list[int] = []

    def append(self, piece: Dataset) -> None:
        n_rows = len(piece)
        self._texts.append(piece.texts, n_rows)
        self._ids.append(piece.ids, n_rows)
        self._sparse.append(piece.sparse, n_rows)
        self._Y.append(piece.Y, n_rows)
        if piece.dense is not None:
            self._dense.append(piece.dense)
        if piece.groups is not None:
            self._groups.append(piece.groups)
        self._fields.append(piece.fields)
        self._sizes.append(n_rows)
        self._labels = piece.labels if piece.labels is not None else self._labels
        self._last = piece.with_parts(texts=None, ids=None, sparse=None, Y=None, dense=None, groups=None, fields=None)

    def dataset(self) -> Dataset:
        if self._last is None:
            return Dataset(texts=pa.array([], pa.large_string()))
        return self._last.with_parts(
            known_sound=True,  # each piece was checked
            labels=self._labels,
            texts=self._texts.joined(),
            ids=self._ids.joined(),
            sparse=self._sparse.joined(),
            Y=self._Y.joined(),
            dense=np.concatenate(self._dense) if self._dense else None,
            groups=_join_groups(self._groups) if self._groups else None,
            fields=concat_fields(self._fields, self._sizes),
        )


class _Strings:
    """Arrow arrays of strings, joined; the rows of a piece without an array get empty strings."""

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self._n_missing = 0  # rows without strings after the last part

    def append(self, part: Any, n_rows: int) -> None:
        if part is None:
            self._n_missing += n_rows
            return
        self._fill()
        self._parts.append(part)

    def joined(self) -> Any:
        if not self._parts:
            return None
        self._fill()
        return pa.concat_arrays(self._parts)

    def _fill(self) -> None:
        if self._n_missing:
            self._parts.append(pa.repeat(pa.scalar("", pa.large_string()), self._n_missing))
        self._n_missing = 0


class GrowingCsr:
    """Sparse rows, appended to arrays that grow in place: the system remaps their pages instead of copying them.

    Example:
        >>> grown = GrowingCsr()
        >>> for _ in range(2):
        ...     grown.append(sparse.csr_array([[0.0, 2.0]]), n_rows=1)
        >>> grown.joined().toarray().tolist()
        [[0.0, 2.0], [0.0, 2.0]]
    """

    def __init__(self) -> None:
        self._ends: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        self._indices = np.empty(0, np.int32)
        self._data = np.empty(0, np.float32)
        self._n_entries = self._n_cols = 0
        self._n_empty = 0  # rows without a matrix after the last matrix
        self._has_matrix = False

    def append(self, piece: Any, n_rows: int) -> None:
        """Appends the rows of a matrix, or `n_rows` empty rows for None."""
        if piece is None:
            self._n_empty += n_rows
            return
        self._has_matrix = True
        self._end_empty_rows()
        self._ends.append(piece.indptr[1:] + np.int64(self._n_entries))
        self._indices = _append(self._indices, self._n_entries, piece.indices)
        self._data = _append(self._data, self._n_entries, piece.data)
        self._n_entries += piece.nnz
        self._n_cols = max(self._n_cols, piece.shape[1])

    def joined(self) -> Any:
        """All rows as a `csr_array`; None if no piece had a matrix."""
        if not self._has_matrix:
            return None
        self._end_empty_rows()
        for array in (self._indices, self._data):
            array.resize(self._n_entries, refcheck=False)
        indptr = np.concatenate(self._ends)
        if self._n_entries <= _INT32_MAX:  # scipy gives both index arrays one type: 64 bits would double the indices
            indptr = indptr.astype(np.int32)
        return sparse.csr_array((self._data, self._indices, indptr), shape=(len(indptr) - 1, self._n_cols))

    def _end_empty_rows(self) -> None:
        if self._n_empty:
            self._ends.append(np.full(self._n_empty, self._n_entries, np.int64))
        self._n_empty = 0


def _append(array: NDArray[Any], used: int, values: NDArray[Any]) -> NDArray[Any]:
    if used + len(values) > len(array):
        array.resize(max(used + len(values), int(len(array) * _GROWTH)), refcheck=False)
    array[used : used + len(values)] = values
    return array


def _join_groups(parts: list[Groups]) -> Groups:
    starts = np.cumsum([0, *(part.Y.shape[0] for part in parts)])
    Y, ids = GrowingCsr(), _Strings()
    for part in parts:
        Y.append(part.Y, part.Y.shape[0])
        ids.append(part.ids, part.Y.shape[0])
    of_row = np.concatenate([part.of_row + start for part, start in zip(parts, starts[:-1], strict=True)])
    fields = concat_fields([part.fields for part in parts], [part.Y.shape[0] for part in parts])
    return Groups(of_row=of_row, Y=Y.joined(), ids=ids.joined(), fields=fields)
