"""Sparse matrices of scipy's as users pass them, checked before any routine of scipy's or of ours runs over them.

Scipy's routines trust the arrays of a matrix: where these do not fit each other, they read and write outside of them.
So nothing here calls a method of a matrix before its arrays are checked, and what is converted afterwards is a matrix of
our own with these arrays. Every container comes out as compressed rows.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood import _native
from labelwood.arrays import MOST, first_line, plain_array
from labelwood.errors import LabelwoodError, ParameterError

Values: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]  # what becomes of the values, before equal places are added up


class Rows(NamedTuple):
    """A sound matrix in compressed rows; whether the columns of each row ascend is known."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[Any]
    shape: tuple[int, int]
    ascending: bool


def rows_of(matrix: Any, name: str, values: Values) -> Rows:
    """The entries of a scipy matrix in compressed rows, ascending in each row; `values` says what becomes of values.

    Example:
        >>> rows_of(sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 2)), "X", lambda v: v).values
        array([3.])
    """
    shape = _shape(matrix, name)
    if matrix.format == "csr":
        rows = _compressed(matrix, name, shape, shape, values)
        return rows if rows.ascending else _in_order(rows)
    if matrix.format not in _CONVERTED:
        raise LabelwoodError(f"{name} is a sparse matrix of an unknown format: give one of scipy's, such as csr")
    made = _CONVERTED[matrix.format](matrix, name, shape, values)
    rows = _compressed(made.tocsr(), name, shape, shape, _as_they_are)
    return rows if rows.ascending else _in_order(rows)


def _as_they_are(values: NDArray[Any]) -> NDArray[Any]:
    return values


def _in_order(rows: Rows) -> Rows:
    """The same with ascending columns and the sums of equal places; small integers would wrap around."""
    wide = rows.values.astype(np.float64) if rows.values.dtype.kind in "biu" else rows.values
    csr = sparse.csr_array((wide, rows.indices, rows.indptr), shape=rows.shape, copy=True)
    csr.sum_duplicates()
    return Rows(csr.indptr, csr.indices, csr.data, rows.shape, True)


def _shape(matrix: Any, name: str) -> tuple[int, int]:
    shape = tuple(matrix.shape)
    if len(shape) != 2:
        raise LabelwoodError(f"{name} has {len(shape)} dimension(s) and needs two, rows × columns: reshape it")
    if not all(isinstance(n, int | np.integer) and n >= 0 for n in shape):
        raise LabelwoodError(f"{name} has the shape {shape}, which no matrix has: build it again")
    if shape[1] > MOST:
        raise ParameterError(f"{name} with {shape[1]} columns is too wide; at most {MOST} are possible")
    return int(shape[0]), int(shape[1])


def _compressed(matrix: Any, name: str, shape: tuple[int, int], lengths: tuple[int, int], values: Values) -> Rows:
    """The arrays of a compressed matrix that has so many runs, and so many places in each."""
    data = _values(matrix, name)
    indptr, indices, ascending = _runs(matrix, name, len(data), lengths)
    return Rows(indptr, indices, values(data), shape, ascending)


def _runs(matrix: Any, name: str, n_values: int, lengths: tuple[int, int]) -> tuple[NDArray[Any], NDArray[Any], bool]:
    """Where runs begin and which places they name, if these fit each other; and whether the places of all ascend."""
    indptr, indices = _places(matrix, "indptr", name), _places(matrix, "indices", name)
    if indptr.dtype != indices.dtype:
        indptr, indices = indptr.astype(np.int64, copy=False), indices.astype(np.int64, copy=False)
    try:
        return indptr, indices, _native.check_compressed(indptr, indices, n_values, *lengths)
    except LabelwoodError as e:
        raise _unsound(name, str(e)) from None


def _places(matrix: Any, part: str, name: str) -> NDArray[Any]:
    """Whole numbers of a matrix, 32-bit or 64-bit, in one piece."""
    array = plain_array(getattr(matrix, part, None), f"{name}.{part}")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise _unsound(name, f"{part} has {array.ndim} dimension(s) of the type {array.dtype}, not one of whole numbers")
    narrow = array.dtype.kind == "i" and array.dtype.itemsize <= 4
    # An unsigned number that is too large comes out below zero, which no place is.
    return np.ascontiguousarray(array, np.int32 if narrow else np.int64)


def _values(matrix: Any, name: str, ndim: int = 1) -> NDArray[Any]:
    """The values of a matrix as a type that scipy can add up."""
    data = plain_array(getattr(matrix, "data", None), name)
    if data.ndim != ndim:
        raise _unsound(name, f"its values have {data.ndim} dimension(s) and should have {ndim}")
    if data.dtype.kind not in "biuf":
        raise LabelwoodError(f"{name} holds values of the type {data.dtype}, which are not numbers: give numbers")
    if data.dtype.isnative and data.dtype != np.float16 and data.dtype != np.longdouble:
        return data
    with np.errstate(over="ignore"):
        return data.astype(np.float32 if data.dtype.itemsize <= 4 and data.dtype.kind == "f" else np.float64)


def _from_columns(matrix: Any, name: str, shape: tuple[int, int], values: Values) -> Any:
    columns = _compressed(matrix, name, shape, shape[::-1], values)
    return sparse.csc_array((_wide(columns.values), columns.indices, columns.indptr), shape=shape)


def _from_blocks(matrix: Any, name: str, shape: tuple[int, int], values: Values) -> Any:
    data = _values(matrix, name, 3)
    height, width = data.shape[1:]
    if height < 1 or width < 1 or shape[0] % height or shape[1] % width:
        raise _unsound(name, f"blocks of {height} × {width} do not fill {shape[0]} × {shape[1]}")
    indptr, indices, _ = _runs(matrix, name, len(data), (shape[0] // height, shape[1] // width))
    filled = _wide(values(data.reshape(-1))).reshape(data.shape)
    return sparse.bsr_array((filled, indices, indptr), shape=shape)


def _from_pairs(matrix: Any, name: str, shape: tuple[int, int], values: Values) -> Any:
    return _placed(_places(matrix, "row", name), _places(matrix, "col", name), _values(matrix, name), name, shape, values)


def _placed(
    rows: NDArray[Any], columns: NDArray[Any], data: NDArray[Any], name: str, shape: tuple[int, int], values: Values
) -> Any:
    """A matrix of values at places."""
    if not len(rows) == len(columns) == len(data):
        raise _unsound(name, f"it has {len(data)} values at {len(rows)} rows and {len(columns)} columns")
    for places, n in ((rows, shape[0]), (columns, shape[1])):
        if len(places) and not 0 <= places.min() <= places.max() < n:
            raise _unsound(name, f"an index from {places.min()} to {places.max()} is outside its shape {shape}")
    return sparse.coo_array((_wide(values(data)), (rows, columns)), shape=shape)


def _from_diagonals(matrix: Any, name: str, shape: tuple[int, int], values: Values) -> Any:
    """A diagonal's value stands at the place of its column."""
    data, offsets = _values(matrix, name, 2), _places(matrix, "offsets", name).astype(np.int64)
    if len(offsets) != len(data) or len(np.unique(offsets)) != len(offsets):
        raise _unsound(name, f"it has {len(data)} diagonals and {len(set(offsets.tolist()))} different offsets")
    width = min(data.shape[1], shape[1])
    columns = np.broadcast_to(np.arange(width), (len(offsets), width))
    rows = columns - np.clip(offsets, -shape[0], shape[1])[:, None]
    inside = (rows >= 0) & (rows < shape[0]) & (data[:, :width] != 0)
    return _placed(rows[inside], columns[inside], data[:, :width][inside], name, shape, values)


def _from_lists(matrix: Any, name: str, shape: tuple[int, int], values: Values) -> Any:
    columns, data = getattr(matrix, "rows", None), getattr(matrix, "data", None)
    for part in (columns, data):
        if not isinstance(part, np.ndarray) or part.shape != shape[:1] or not all(isinstance(row, list) for row in part):
            raise _unsound(name, f"it has not one list for each of its {shape[0]} rows")
    lengths = [len(row) for row in columns]
    if lengths != [len(row) for row in data]:
        raise _unsound(name, "a row has another number of values than of columns")
    lists = _Lists(_flat(columns, np.int64), _flat(data, np.float64))
    rows = np.repeat(np.arange(shape[0]), lengths)
    return _placed(rows, _places(lists, "columns", name), _values(lists, name), name, shape, values)


class _Lists(NamedTuple):
    """The numbers of lists, one list after the other."""

    columns: Any
    data: Any


def _flat(lists: Any, empty: Any) -> Any:
    every = list(chain.from_iterable(lists))
    return every if every else np.empty(0, empty)


def _from_keys(matrix: Any, name: str, shape: tuple[int, int], values: Values) -> Any:
    try:
        pairs = list(matrix.items())
        rows, columns = [key[0] for key, _ in pairs], [key[1] for key, _ in pairs]
        data = [value for _, value in pairs]
    except Exception as e:  # whatever a dictionary of the user's raises
        raise _unsound(name, f"its keys are not pairs of a row and a column ({first_line(e)})") from None
    some = len(pairs) > 0
    keys = _Keys(*(part if some else np.empty(0, np.int64) for part in (rows, columns, data)))
    return _placed(_places(keys, "row", name), _places(keys, "col", name), _values(keys, name), name, shape, values)


class _Keys(NamedTuple):
    """The rows, columns and values of a dictionary of keys."""

    row: Any
    col: Any
    data: Any


def _wide(data: NDArray[Any]) -> NDArray[Any]:
    """Values that do not wrap around when equal places are added up."""
    return data.astype(np.float64) if data.dtype.kind in "biu" else data


def _unsound(name: str, why: str) -> LabelwoodError:
    return LabelwoodError(f"{name} is not a sound sparse matrix: {why}; build it again from its entries")


_CONVERTED: dict[str, Callable[[Any, str, tuple[int, int], Values], Any]] = {
    "csc": _from_columns,
    "bsr": _from_blocks,
    "coo": _from_pairs,
    "dia": _from_diagonals,
    "lil": _from_lists,
    "dok": _from_keys,
}
