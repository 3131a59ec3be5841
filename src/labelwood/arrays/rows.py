"""Converts the X and Y that users pass into the arrays of native code, or raises an error of one sentence."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood import _native
from labelwood.arrays.containers import Change, is_sound_csr, rows_of
from labelwood.arrays.values import plain_array, real_numbers
from labelwood.errors import LabelwoodError

Floats: TypeAlias = NDArray[np.float32]
_NEAR_ONE = 1e-5  # rows with a squared length this near to one stay: scaling would only change the last bits


class Sparse(NamedTuple):
    """A matrix in compressed rows, as native functions read it.

    Columns ascend in each row and occur once. Unlike scipy's, row pointers are always 64-bit and columns 32-bit.

    Example:
        >>> as_features([[0.0, 2.0], [0.0, 0.0]], sparse_only=True).indices
        array([1], dtype=int32)
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: Floats
    n_cols: int

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.indptr) - 1

    def to_scipy(self) -> Any:
        """The same matrix as a scipy `csr_array`."""
        return sparse.csr_array((self.values, self.indices, self.indptr), shape=(self.n_rows, self.n_cols))


class Pattern(NamedTuple):
    """Where a matrix in compressed rows has entries, as native functions read it.

    Example:
        >>> Pattern(np.array([0, 2]), np.array([0, 3], np.int32), n_cols=4).n_rows
        1
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    n_cols: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1


Features: TypeAlias = Sparse | Floats


def from_scipy(matrix: Any, name: str = "a sparse matrix") -> Sparse:
    """A scipy matrix as `Sparse`; an array is copied only if its dtype or the order of columns requires it.

    Example:
        >>> from_scipy(sparse.eye_array(2)).indices
        array([0, 1], dtype=int32)
    """
    return _sparse(matrix, name, _unchanged)


def _sparse(matrix: Any, name: str, change: Change) -> Sparse:
    rows = rows_of(matrix, name, change)
    # Column indices are below the number of columns, so they fit into 32 bits.
    indptr, indices = rows.indptr.astype(np.int64, copy=False), rows.indices.astype(np.int32, copy=False)
    return Sparse(indptr, indices, real_numbers(rows.values, name), rows.shape[1])


def as_csr(matrix: Any, name: str, *, keep_order: bool = False) -> Any:
    """A matrix as a valid `csr_array` with ascending columns; the same object if it is one already.

    With `keep_order`, columns may have any order and may repeat. Values are not checked.

    Example:
        >>> as_csr([[0.0, 2.0]], "Y").indices
        array([1], dtype=int32)
    """
    if not sparse.issparse(matrix):
        return sparse.csr_array(as_matrix(matrix, name))
    rows = rows_of(matrix, name, _unchanged)
    if matrix.format == "csr":
        is_sorted = rows.values is matrix.data and rows.indices is matrix.indices
        is_plain = all(type(part) is np.ndarray for part in (matrix.data, matrix.indices, matrix.indptr))
        is_plain &= matrix.indices.dtype == matrix.indptr.dtype and matrix.indices.dtype in (np.int32, np.int64)
        if is_sorted or (keep_order and is_plain):
            return matrix
    return sparse.csr_array((rows.values, rows.indices, rows.indptr), shape=rows.shape)


def _unchanged(values: NDArray[Any]) -> NDArray[Any]:
    return values


def from_dense(matrix: Floats) -> Sparse:
    """A dense matrix as `Sparse`.

    Example:
        >>> from_dense(np.array([[0, 2]], np.float32)).indices
        array([1], dtype=int32)
    """
    return from_scipy(sparse.csr_array(matrix))


def unit_rows(matrix: Sparse) -> Sparse:
    """The rows scaled to unit length; a row of zeros does not change.

    Example:
        >>> unit_rows(from_dense(np.array([[3, 4], [0, 0]], np.float32))).values
        array([0.6, 0.8], dtype=float32)
    """
    values = _native.unit_values(matrix.indptr, matrix.values, _NEAR_ONE)
    return matrix if values is None else matrix._replace(values=values)


def as_features(X: Any, *, sparse_only: bool = False, name: str = "X") -> Sparse | Floats:
    """Checks a feature matrix: sparse stays sparse, dense stays dense (unless `sparse_only`), values become float32.

    `Sparse` and `_native.Rows` are not checked again, because only Labelwood makes them.

    Example:
        >>> as_features([[1, 2]])
        array([[1., 2.]], dtype=float32)
    """
    if isinstance(X, Sparse):
        return X
    if isinstance(X, _native.Rows):
        return Sparse(*X.arrays())
    if is_sound_csr(X, finite=True):
        indptr, indices = X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int32, copy=False)
        return Sparse(indptr, indices, X.data, X.shape[1])
    if sparse.issparse(X):
        result = from_scipy(X, name)
        _refuse_non_finite(result.values, name)
        return result
    dense = as_matrix(X, name)
    _refuse_non_finite(dense, name)
    return from_dense(dense) if sparse_only else dense


def as_labels(Y: Any, n_rows: int | None = None, name: str = "Y") -> Sparse:
    """Checks a rows × labels matrix. Every entry other than zero means that the row has the label.

    `n_rows` is the number of rows of X, if there is an X. `Sparse` is not checked again: only Labelwood makes it.

    Example:
        >>> as_labels([[0, 1], [1, 1]], n_rows=2).indptr
        array([0, 1, 3])
    """
    if Y is None:
        raise LabelwoodError(
            f"{name} is missing: fit requires y to be passed, but the target y is None; give a rows × labels matrix"
        )
    if isinstance(Y, Sparse):
        result = Y
    elif sparse.issparse(Y):
        result = _drop_zeros(_sparse(Y, name, _to_ones(name)))
    else:
        result = _drop_zeros(_sparse_ones(as_matrix(Y, name), name))
    if n_rows is not None and result.n_rows != n_rows:
        raise LabelwoodError(
            f"{name} has {result.n_rows} rows and X has {n_rows}: give each row of X its row of labels in {name}"
        )
    return result


def _to_ones(name: str) -> Change:
    """A function that turns every entry other than zero into one, because the size of an entry does not matter."""

    def marks(values: NDArray[Any]) -> NDArray[Any]:
        _refuse_non_finite(values, name)
        ones: Floats = (values != 0).astype(np.float32)
        return ones

    return marks


def _sparse_ones(dense: Floats, name: str) -> Sparse:
    _refuse_non_finite(dense, name)
    return from_dense(dense)


def _drop_zeros(marks: Sparse) -> Sparse:
    kept = marks.values != 0
    if kept.all():
        return marks._replace(values=np.ones_like(marks.values))
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    return Sparse(ends[marks.indptr], marks.indices[kept], np.ones(int(ends[-1]), np.float32), marks.n_cols)


def as_matrix(X: Any, name: str) -> Floats:
    """A dense rows × columns array of float32, finite or not.

    Example:
        >>> as_matrix([[1, 2]], "X")
        array([[1., 2.]], dtype=float32)
    """
    array = plain_array(X, name)
    if array.dtype.kind in "OUS":
        array = real_numbers(array, name)
    if array.ndim != 2:
        raise LabelwoodError(
            f"{name} has {array.ndim} dimension(s) and needs two, rows × columns. "
            "Reshape your data: use reshape(1, -1) for a single row"
        )
    dense: Floats = real_numbers(array, name)
    return dense


def _refuse_non_finite(values: NDArray[Any], name: str) -> None:
    flat = values.dtype == np.float32 and values.ndim == 1 and values.flags.c_contiguous
    if not (_native.all_finite(values) if flat else np.isfinite(values).all()):
        raise LabelwoodError(f"{name} contains NaN or infinity: replace or remove those values first")


def shape_of(features: Features) -> tuple[int, int]:
    """Rows and columns of checked features.

    Example:
        >>> shape_of(np.zeros((2, 3), np.float32))
        (2, 3)
    """
    if isinstance(features, Sparse):
        return features.n_rows, features.n_cols
    return int(features.shape[0]), int(features.shape[1])
