"""Checks scipy's sparse matrices that users pass, before any routine of scipy or of Labelwood uses them.

Scipy's routines trust the arrays of a matrix: if they do not fit together, scipy reads and writes outside of them. So
this module calls no method of a matrix before it has checked the arrays, and then converts its own matrix with these
arrays. Every format becomes compressed rows.
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

# A function that converts values before duplicates are added up.
Change: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]


class Rows(NamedTuple):
    """A valid matrix in compressed rows, with ascending columns in each row."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[Any]
    shape: tuple[int, int]


def rows_of(matrix: Any, name: str, change: Change) -> Rows:
    """The entries of a scipy matrix in compressed rows; `change` converts its values.

    Example:
        >>> rows_of(sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 2)), "X", lambda values: values).values
        array([3.])
    """
    if is_sound_csr(matrix):
        return Rows(matrix.indptr, matrix.indices, change(matrix.data), matrix.shape)
    given = _UserMatrix(matrix, name, _shape(matrix, name), change)
    if matrix.format == "csr":
        return given.rows()
    if matrix.format not in _CONVERTERS:
        raise LabelwoodError(f"{name} is a sparse matrix of an unknown format: give one of scipy's, such as csr")
    csr = _CONVERTERS[matrix.format](given).tocsr()
    return _UserMatrix(csr, name, given.shape, lambda values: values).rows()


_CSR_TYPES = {sparse.csr_array, sparse.csr_matrix}


def is_sound_csr(matrix: Any, *, finite: bool = False) -> bool:
    """Whether the matrix is a valid csr matrix with ascending columns and, with `finite`, with finite values.

    Most users pass such a matrix, and this check is fast even for a single row.

    Example:
        >>> is_sound_csr(sparse.csr_array(np.eye(2, dtype=np.float32))), is_sound_csr(sparse.eye_array(2))
        (True, False)
    """
    if type(matrix) not in _CSR_TYPES:
        return False
    parts = matrix.indptr, matrix.indices, matrix.data
    if any(type(part) is not np.ndarray for part in parts):
        return False
    try:
        n_rows, n_cols = matrix.shape
        return _native.rows_ascend(*parts, n_rows, n_cols, finite) is True
    except (LabelwoodError, TypeError):
        return False  # the full check says why


def _shape(matrix: Any, name: str) -> tuple[int, int]:
    shape = tuple(matrix.shape)
    if len(shape) != 2:
        raise LabelwoodError(f"{name} has {len(shape)} dimension(s) and needs two, rows × columns: reshape it")
    if not all(isinstance(n, int | np.integer) and n >= 0 for n in shape):
        raise LabelwoodError(f"{name} has the shape {shape}, which no matrix has: build it again")
    if shape[1] > MOST:
        raise ParameterError(f"{name} with {shape[1]} columns is too wide; at most {MOST} are possible")
    return int(shape[0]), int(shape[1])


class _UserMatrix(NamedTuple):
    """A matrix that a user passed: each of its arrays is read once and checked."""

    matrix: Any
    name: str
    shape: tuple[int, int]
    change: Change

    def unsound(self, why: str) -> LabelwoodError:
        return LabelwoodError(f"{self.name} is not a sound sparse matrix: {why}; build it again from its entries")

    def rows(self) -> Rows:
        """The rows of a csr matrix, with duplicates added up."""
        data = self.values()
        indptr, indices, ascend = self.index_arrays(len(data), self.shape)
        rows = Rows(indptr, indices, self.change(data), self.shape)
        if ascend:
            return rows
        csr = sparse.csr_array((_summable(rows.values), indices, indptr), shape=self.shape, copy=True)
        csr.sum_duplicates()
        return Rows(csr.indptr, csr.indices, csr.data, self.shape)

    def index_arrays(self, n_values: int, lengths: tuple[int, int]) -> tuple[NDArray[Any], NDArray[Any], bool]:
        """The checked pointers and indices of a compressed matrix, and whether indices ascend in each row or column.

        `lengths` are the number of compressed rows or columns and the number of places in each.
        """
        indptr, indices = self.places("indptr"), self.places("indices")
        if indptr.dtype != indices.dtype:
            indptr, indices = indptr.astype(np.int64, copy=False), indices.astype(np.int64, copy=False)
        try:
            return indptr, indices, _native.check_compressed(indptr, indices, n_values, *lengths)
        except LabelwoodError as e:
            raise self.unsound(str(e)) from None

    def places(self, part: str) -> NDArray[Any]:
        """An array of the matrix with whole numbers, contiguous and 32-bit or 64-bit."""
        return self.as_places(getattr(self.matrix, part, None), part)

    def as_places(self, value: Any, part: str) -> NDArray[Any]:
        """The same for an array that was read already."""
        array = plain_array(value, f"{self.name}.{part}")
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise self.unsound(
                f"{part} has {array.ndim} dimension(s) of {array.dtype} and should be a row of whole numbers"
            )
        narrow = array.dtype.kind == "i" and array.dtype.itemsize <= 4
        # An unsigned number that is too large becomes negative, and the checks refuse negative places.
        return np.ascontiguousarray(array, np.int32 if narrow else np.int64)

    def values(self, ndim: int = 1) -> NDArray[Any]:
        """The values of the matrix in a type that scipy can add up."""
        return self.as_values(getattr(self.matrix, "data", None), ndim)

    def as_values(self, value: Any, ndim: int = 1) -> NDArray[Any]:
        """The same for values that were read already."""
        data = plain_array(value, self.name)
        if data.ndim != ndim:
            raise self.unsound(f"its values have {data.ndim} dimension(s) and should have {ndim}")
        if data.dtype.kind not in "biuf":
            raise LabelwoodError(f"{self.name} holds values of the type {data.dtype}: give numbers")
        if data.dtype.isnative and data.dtype not in {np.dtype(np.float16), np.dtype(np.longdouble)}:
            return data
        with np.errstate(over="ignore"):
            return data.astype(np.float32 if data.dtype.kind == "f" and data.dtype.itemsize <= 4 else np.float64)

    def from_entries(self, rows: NDArray[Any], columns: NDArray[Any], data: NDArray[Any]) -> Any:
        """A matrix of values at rows and columns; raises for a place outside of the shape."""
        if not len(rows) == len(columns) == len(data):
            raise self.unsound(f"it has {len(data)} values at {len(rows)} rows and {len(columns)} columns")
        for places, n in ((rows, self.shape[0]), (columns, self.shape[1])):
            if len(places) and not 0 <= places.min() <= places.max() < n:
                raise self.unsound(f"an index from {places.min()} to {places.max()} is outside its shape {self.shape}")
        return sparse.coo_array((_summable(self.change(data)), (rows, columns)), shape=self.shape)


def _from_columns(given: _UserMatrix) -> Any:
    data = given.values()
    indptr, indices, _ = given.index_arrays(len(data), given.shape[::-1])
    return sparse.csc_array((_summable(given.change(data)), indices, indptr), shape=given.shape)


def _from_blocks(given: _UserMatrix) -> Any:
    """Converts bsr; zeros that only fill a block are not entries."""
    data, (n_rows, n_columns) = given.values(ndim=3), given.shape
    height, width = data.shape[1:]
    if height < 1 or width < 1 or n_rows % height or n_columns % width:
        raise given.unsound(f"blocks of {height} × {width} do not fill {n_rows} × {n_columns}")
    indptr, indices, _ = given.index_arrays(len(data), (n_rows // height, n_columns // width))
    filled = _summable(given.change(data.reshape(-1))).reshape(data.shape)
    csr = sparse.bsr_array((filled, indices, indptr), shape=given.shape).tocsr()
    csr.eliminate_zeros()
    return csr


def _from_pairs(given: _UserMatrix) -> Any:
    return given.from_entries(given.places("row"), given.places("col"), given.values())


def _from_diagonals(given: _UserMatrix) -> Any:
    """Converts dia: a value is stored at the place of its column; zeros that only fill a diagonal are not entries."""
    data, offsets = given.values(ndim=2), given.places("offsets").astype(np.int64)
    if len(offsets) != len(data) or len(np.unique(offsets)) != len(offsets):
        raise given.unsound(f"it has {len(data)} diagonals and {len(np.unique(offsets))} different offsets")
    n_rows, n_columns = given.shape
    data = data[:, :n_columns]
    columns = np.broadcast_to(np.arange(data.shape[1]), data.shape)
    rows = columns - np.clip(offsets, -n_rows, n_columns)[:, None]
    inside = (rows >= 0) & (rows < n_rows) & (data != 0)
    return given.from_entries(rows[inside], columns[inside], data[inside])


def _from_lists(given: _UserMatrix) -> Any:
    columns, data = (_lists(given, part) for part in ("rows", "data"))
    lengths = [len(row) for row in columns]
    if lengths != [len(row) for row in data]:
        raise given.unsound("a row has another number of values than of columns")
    rows = np.repeat(np.arange(given.shape[0]), lengths)
    return given.from_entries(rows, given.as_places(_flat(columns), "rows"), given.as_values(_flat(data)))


def _lists(given: _UserMatrix, part: str) -> list[list[Any]]:
    lists = getattr(given.matrix, part, None)
    if not isinstance(lists, np.ndarray) or lists.shape != given.shape[:1]:
        raise given.unsound(f"{part} is not an array of {given.shape[0]} lists")
    rows: list[Any] = lists.tolist()
    if not all(isinstance(row, list) for row in rows):
        raise given.unsound(f"{part} holds something other than lists")
    return rows


def _flat(lists: list[list[Any]]) -> Any:
    return list(chain.from_iterable(lists)) or np.empty(0, np.int64)


def _from_keys(given: _UserMatrix) -> Any:
    try:
        entries = [(row, column, value) for (row, column), value in given.matrix.items()]
    except Exception as e:  # a user's dictionary may raise anything
        raise given.unsound(f"its keys are not pairs of a row and a column ({first_line(e)})") from None
    rows, columns, data = zip(*entries, strict=True) if entries else (np.empty(0, np.int64),) * 3
    return given.from_entries(given.as_places(rows, "row"), given.as_places(columns, "col"), given.as_values(data))


def _summable(values: NDArray[Any]) -> NDArray[Any]:
    """Values that can be added up without overflow: whole numbers become float64."""
    return values.astype(np.float64) if values.dtype.kind in "biu" else values


_CONVERTERS: dict[str, Callable[[_UserMatrix], Any]] = {
    "csc": _from_columns,
    "bsr": _from_blocks,
    "coo": _from_pairs,
    "dia": _from_diagonals,
    "lil": _from_lists,
    "dok": _from_keys,
}
