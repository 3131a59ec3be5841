"""Sparse matrices of scipy's as users pass them, checked before any routine of scipy's or of ours runs over them.

Scipy's routines trust the arrays of a matrix: where these do not fit each other, they read and write outside of them.
So nothing here calls a routine of a matrix before its arrays are checked, and what is converted afterwards is a matrix
of our own with these arrays. Every container comes out as compressed rows.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood import _native
from labelwood.arrays.values import MOST, first_line, plain_array
from labelwood.errors import LabelwoodError, ParameterError

# What becomes of values, before those at the same place are added up.
Change: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]


class Rows(NamedTuple):
    """A sound matrix in compressed rows, ascending in each."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[Any]
    shape: tuple[int, int]


def rows_of(matrix: Any, name: str, change: Change) -> Rows:
    """The entries of a scipy matrix in compressed rows; `change` says what becomes of its values.

    Example:
        >>> rows_of(sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 2)), "X", lambda values: values).values
        array([3.])
    """
    if is_usual(matrix):
        return Rows(matrix.indptr, matrix.indices, change(matrix.data), matrix.shape)
    given = _Given(matrix, name, _shape(matrix, name), change)
    if matrix.format == "csr":
        return given.rows()
    if matrix.format not in _CONVERTED:
        raise LabelwoodError(f"{name} is a sparse matrix of an unknown format: give one of scipy's, such as csr")
    csr = _CONVERTED[matrix.format](given).tocsr()
    return _Given(csr, name, given.shape, lambda values: values).rows()


_USUAL = {sparse.csr_array, sparse.csr_matrix}


def is_usual(matrix: Any, *, finite: bool = False) -> bool:
    """Whether this is what most users pass, sound and in order, `finite` too: a single row is checked in no time.

    Example:
        >>> is_usual(sparse.csr_array(np.eye(2, dtype=np.float32))), is_usual(sparse.eye_array(2))
        (True, False)
    """
    if type(matrix) not in _USUAL:
        return False
    parts = matrix.indptr, matrix.indices, matrix.data
    if any(type(part) is not np.ndarray for part in parts):
        return False
    try:
        n_rows, n_cols = matrix.shape
        return _native.rows_ascend(*parts, n_rows, n_cols, finite) is True
    except (LabelwoodError, TypeError):
        return False  # whoever looks closer says why


def _shape(matrix: Any, name: str) -> tuple[int, int]:
    shape = tuple(matrix.shape)
    if len(shape) != 2:
        raise LabelwoodError(f"{name} has {len(shape)} dimension(s) and needs two, rows × columns: reshape it")
    if not all(isinstance(n, int | np.integer) and n >= 0 for n in shape):
        raise LabelwoodError(f"{name} has the shape {shape}, which no matrix has: build it again")
    if shape[1] > MOST:
        raise ParameterError(f"{name} with {shape[1]} columns is too wide; at most {MOST} are possible")
    return int(shape[0]), int(shape[1])


class _Given(NamedTuple):
    """A matrix as it was given: its parts are read one by one, and checked."""

    matrix: Any
    name: str
    shape: tuple[int, int]
    change: Change

    def unsound(self, why: str) -> LabelwoodError:
        return LabelwoodError(f"{self.name} is not a sound sparse matrix: {why}; build it again from its entries")

    def rows(self) -> Rows:
        """The rows of a csr matrix, with equal places added up."""
        data = self.values()
        indptr, indices, ascend = self.runs(len(data), self.shape)
        rows = Rows(indptr, indices, self.change(data), self.shape)
        if ascend:
            return rows
        csr = sparse.csr_array((_wide(rows.values), indices, indptr), shape=self.shape, copy=True)
        csr.sum_duplicates()
        return Rows(csr.indptr, csr.indices, csr.data, self.shape)

    def runs(self, n_values: int, lengths: tuple[int, int]) -> tuple[NDArray[Any], NDArray[Any], bool]:
        """Where runs begin and which places they name, if these are sound; and whether the places of all ascend.

        `lengths` are how many runs there are and how many places in each.
        """
        indptr, indices = self.places("indptr"), self.places("indices")
        if indptr.dtype != indices.dtype:
            indptr, indices = indptr.astype(np.int64, copy=False), indices.astype(np.int64, copy=False)
        try:
            return indptr, indices, _native.check_compressed(indptr, indices, n_values, *lengths)
        except LabelwoodError as e:
            raise self.unsound(str(e)) from None

    def places(self, part: str) -> NDArray[Any]:
        """A part of the matrix that holds whole numbers, 32-bit or 64-bit, in one piece."""
        return self.as_places(getattr(self.matrix, part, None), part)

    def as_places(self, value: Any, part: str) -> NDArray[Any]:
        """The same of a part that was read before."""
        array = plain_array(value, f"{self.name}.{part}")
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise self.unsound(
                f"{part} has {array.ndim} dimension(s) of {array.dtype} and should be a row of whole numbers"
            )
        narrow = array.dtype.kind == "i" and array.dtype.itemsize <= 4
        # An unsigned number that is too large comes out below zero, which no place is.
        return np.ascontiguousarray(array, np.int32 if narrow else np.int64)

    def values(self, ndim: int = 1) -> NDArray[Any]:
        """The values of the matrix in a type that scipy can add up."""
        return self.as_values(getattr(self.matrix, "data", None), ndim)

    def as_values(self, value: Any, ndim: int = 1) -> NDArray[Any]:
        """The same of values that were read before."""
        data = plain_array(value, self.name)
        if data.ndim != ndim:
            raise self.unsound(f"its values have {data.ndim} dimension(s) and should have {ndim}")
        if data.dtype.kind not in "biuf":
            raise LabelwoodError(f"{self.name} holds values of the type {data.dtype}: give numbers")
        if data.dtype.isnative and data.dtype not in {np.dtype(np.float16), np.dtype(np.longdouble)}:
            return data
        with np.errstate(over="ignore"):
            return data.astype(np.float32 if data.dtype.kind == "f" and data.dtype.itemsize <= 4 else np.float64)

    def placed(self, rows: NDArray[Any], columns: NDArray[Any], data: NDArray[Any]) -> Any:
        """A matrix of values at places, if these are inside of the shape."""
        if not len(rows) == len(columns) == len(data):
            raise self.unsound(f"it has {len(data)} values at {len(rows)} rows and {len(columns)} columns")
        for places, n in ((rows, self.shape[0]), (columns, self.shape[1])):
            if len(places) and not 0 <= places.min() <= places.max() < n:
                raise self.unsound(f"an index from {places.min()} to {places.max()} is outside its shape {self.shape}")
        return sparse.coo_array((_wide(self.change(data)), (rows, columns)), shape=self.shape)


def _from_columns(given: _Given) -> Any:
    data = given.values()
    indptr, indices, _ = given.runs(len(data), given.shape[::-1])
    return sparse.csc_array((_wide(given.change(data)), indices, indptr), shape=given.shape)


def _from_blocks(given: _Given) -> Any:
    """Zeros that only fill blocks up are no entries."""
    data, (n_rows, n_columns) = given.values(ndim=3), given.shape
    height, width = data.shape[1:]
    if height < 1 or width < 1 or n_rows % height or n_columns % width:
        raise given.unsound(f"blocks of {height} × {width} do not fill {n_rows} × {n_columns}")
    indptr, indices, _ = given.runs(len(data), (n_rows // height, n_columns // width))
    filled = _wide(given.change(data.reshape(-1))).reshape(data.shape)
    csr = sparse.bsr_array((filled, indices, indptr), shape=given.shape).tocsr()
    csr.eliminate_zeros()
    return csr


def _from_pairs(given: _Given) -> Any:
    return given.placed(given.places("row"), given.places("col"), given.values())


def _from_diagonals(given: _Given) -> Any:
    """A diagonal's value stands at the place of its column; zeros that only fill it up are no entries."""
    data, offsets = given.values(ndim=2), given.places("offsets").astype(np.int64)
    if len(offsets) != len(data) or len(np.unique(offsets)) != len(offsets):
        raise given.unsound(f"it has {len(data)} diagonals and {len(np.unique(offsets))} different offsets")
    n_rows, n_columns = given.shape
    data = data[:, :n_columns]
    columns = np.broadcast_to(np.arange(data.shape[1]), data.shape)
    rows = columns - np.clip(offsets, -n_rows, n_columns)[:, None]
    inside = (rows >= 0) & (rows < n_rows) & (data != 0)
    return given.placed(rows[inside], columns[inside], data[inside])


def _from_lists(given: _Given) -> Any:
    columns, data = (_lists(given, part) for part in ("rows", "data"))
    lengths = [len(row) for row in columns]
    if lengths != [len(row) for row in data]:
        raise given.unsound("a row has another number of values than of columns")
    rows = np.repeat(np.arange(given.shape[0]), lengths)
    return given.placed(rows, given.as_places(_flat(columns), "rows"), given.as_values(_flat(data)))


def _lists(given: _Given, part: str) -> list[list[Any]]:
    lists = getattr(given.matrix, part, None)
    if not isinstance(lists, np.ndarray) or lists.shape != given.shape[:1]:
        raise given.unsound(f"{part} is not an array of {given.shape[0]} lists")
    rows: list[Any] = lists.tolist()
    if not all(isinstance(row, list) for row in rows):
        raise given.unsound(f"{part} holds something else than lists")
    return rows


def _flat(lists: list[list[Any]]) -> Any:
    return list(chain.from_iterable(lists)) or np.empty(0, np.int64)


def _from_keys(given: _Given) -> Any:
    try:
        entries = [(row, column, value) for (row, column), value in given.matrix.items()]
    except Exception as e:  # whatever a dictionary of the user's raises
        raise given.unsound(f"its keys are not pairs of a row and a column ({first_line(e)})") from None
    rows, columns, data = zip(*entries, strict=True) if entries else (np.empty(0, np.int64),) * 3
    return given.placed(given.as_places(rows, "row"), given.as_places(columns, "col"), given.as_values(data))


def _wide(values: NDArray[Any]) -> NDArray[Any]:
    """Values that do not wrap around when those at the same place are added up, as small integers would."""
    return values.astype(np.float64) if values.dtype.kind in "biu" else values


_CONVERTED: dict[str, Callable[[_Given], Any]] = {
    "csc": _from_columns,
    "bsr": _from_blocks,
    "coo": _from_pairs,
    "dia": _from_diagonals,
    "lil": _from_lists,
    "dok": _from_keys,
}
