"""Turns what users pass as X and Y into the arrays native code reads, or says in one sentence why it cannot."""

from __future__ import annotations

import os
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood import _native
from labelwood.errors import LabelwoodError, ParameterError

Floats: TypeAlias = NDArray[np.float32]
_NEAR_ONE = 1e-5  # a squared length this near to one is left alone: scaling would only change last bits

_MOST = 2**31 - 1  # columns, and labels for a row: native code counts them in 32 bits
_MOST_PADDED = 10_000  # answers for a row where there are fewer labels; some people ask for more than there are
_MOST_THREADS = 1024  # results do not depend on it, and scratch space is set aside for each


class Sparse(NamedTuple):
    """A matrix in compressed rows, in the order native functions take it: `native.f(*X, …)`.

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
        """Number of rows."""
        return len(self.indptr) - 1

    def to_scipy(self) -> Any:
        """The same matrix as a scipy `csr_array`."""
        return sparse.csr_array((self.values, self.indices, self.indptr), shape=(self.n_rows, self.n_cols))


def thread_count(n_threads: int | None) -> int:
    """How many threads to use; `None` means one for each core this process may run on.

    Example:
        >>> thread_count(3)
        3
    """
    if n_threads is not None:
        return min(int(n_threads), _MOST_THREADS)
    available = getattr(os, "sched_getaffinity", None)
    return len(available(0)) if available else os.cpu_count() or 1


def check_k(k: Any, n_labels: int | None = None) -> int:
    """A k that can be used, or an error.

    Every row of the answers is k wide, so much more than the number of labels is a mistake that would take all memory.

    Example:
        >>> check_k(np.int64(5), n_labels=3)
        5
    """
    most = _MOST if n_labels is None else max(n_labels, _MOST_PADDED)
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= most:
        raise ParameterError(f"k must be a whole number from 1 to {most}, not {k!r}")
    return int(k)


def from_scipy(matrix: Any) -> Sparse:
    """A scipy matrix as `Sparse`: copied only where a dtype or the order of columns asks for it.

    Example:
        >>> from_scipy(sparse.eye_array(2)).indices
        array([0, 1], dtype=int32)
    """
    if matrix.ndim != 2:
        raise LabelwoodError(f"a sparse array has {matrix.ndim} dimension(s) and needs two, rows × columns: reshape it")
    csr = matrix if matrix.format == "csr" else matrix.tocsr()
    n_cols = csr.shape[1]
    if n_cols > _MOST:
        raise ParameterError(f"a matrix with {n_cols} columns is too wide; at most {_MOST} are possible")
    indptr, indices = np.ascontiguousarray(csr.indptr, np.int64), np.ascontiguousarray(csr.indices, np.int32)
    if not _native.columns_ascend(indptr, indices):
        # Small integers would wrap around when duplicates are added up.
        csr = csr.astype(np.float64 if csr.dtype.kind in "biu" else csr.dtype, copy=True)
        csr.sum_duplicates()
        indptr, indices = np.ascontiguousarray(csr.indptr, np.int64), np.ascontiguousarray(csr.indices, np.int32)
    return Sparse(indptr, indices, _float32(csr.data), n_cols)


def from_dense(matrix: Floats) -> Sparse:
    """A dense matrix as `Sparse`.

    Example:
        >>> from_dense(np.array([[0, 2]], np.float32)).indices
        array([1], dtype=int32)
    """
    return from_scipy(sparse.csr_array(matrix))


def unit_rows(matrix: Sparse) -> Sparse:
    """The rows scaled to unit length; a row of zeros stays as it is.

    Example:
        >>> unit_rows(from_dense(np.array([[3, 4], [0, 0]], np.float32))).values
        array([0.6, 0.8], dtype=float32)
    """
    values = _native.unit_values(matrix.indptr, matrix.values, _NEAR_ONE)
    return matrix if values is None else matrix._replace(values=values)


def as_features(X: Any, *, sparse_only: bool = False, name: str = "X") -> Sparse | Floats:
    """Checks a feature matrix: sparse stays sparse, dense stays dense (unless `sparse_only`), values become float32.

    `_native.Rows`, which a vectorizer makes of a few texts, are sound as they are.

    Example:
        >>> as_features([[1, 2]])
        array([[1., 2.]], dtype=float32)
    """
    if isinstance(X, _native.Rows):
        return Sparse(*X.arrays())
    if sparse.issparse(X):
        _refuse_complex(X.dtype, name)
        result = from_scipy(X)
        _refuse_non_finite(result.values, name)
        return result
    dense = _as_matrix(X, name)
    _refuse_non_finite(dense, name)
    return from_scipy(sparse.csr_array(dense)) if sparse_only else dense


def as_labels(Y: Any, n_rows: int, name: str = "Y") -> Sparse:
    """Checks a rows × labels matrix. Every entry other than zero means that the row has the label.

    Example:
        >>> as_labels([[0, 1], [1, 1]], n_rows=2).indptr
        array([0, 1, 3])
    """
    if Y is None:
        raise LabelwoodError(
            f"{name} is missing: fit requires y to be passed, but the target y is None; give a rows × labels matrix"
        )
    matrix = Y if sparse.issparse(Y) else sparse.csr_array(_as_matrix(Y, name))
    if matrix.ndim != 2:
        raise LabelwoodError(f"{name} has {matrix.ndim} dimension(s) and needs two, rows × labels: reshape it")
    if matrix.shape[0] != n_rows:
        raise LabelwoodError(
            f"{name} has {matrix.shape[0]} rows and X has {n_rows}: give each row of X its row of labels in {name}"
        )
    result = from_scipy(_marks(matrix, name))
    return result._replace(values=np.ones_like(result.values))


def _marks(matrix: Any, name: str) -> Any:
    """A one for each entry other than zero: what they add up to, or are as float32, does not matter for a label."""
    csr = matrix.tocsr()
    _refuse_non_finite(csr.data, name)
    marks = sparse.csr_array((np.ones(csr.nnz, np.float32), csr.indices, csr.indptr), shape=csr.shape)
    if not csr.data.all():
        marks = marks.copy()
        marks.data[csr.data == 0] = 0
        marks.eliminate_zeros()
    return marks


def _as_matrix(X: Any, name: str) -> Floats:
    try:
        array = np.asarray(X)
    except ValueError:
        raise LabelwoodError(f"{name} has rows of different lengths: give every row a value for each column") from None
    _refuse_complex(array.dtype, name)
    if array.dtype.kind in "OUS":
        array = _objects_to_floats(array, name)
    if array.ndim != 2:
        raise LabelwoodError(
            f"{name} has {array.ndim} dimension(s) and needs two, rows × columns. "
            "Reshape your data: use reshape(1, -1) for a single row"
        )
    return _float32(array)


def _float32(array: NDArray[Any]) -> Floats:
    if array.dtype == np.float32:
        return np.ascontiguousarray(array)
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is told apart by its checks
        return np.ascontiguousarray(array, np.float32)


def _objects_to_floats(array: NDArray[Any], name: str) -> Floats:
    try:
        return array.astype(np.float32)
    except (TypeError, ValueError) as e:
        raise LabelwoodError(
            f"{name} holds values that are not numbers ({e}); for texts use TextClassifier, "
            "or turn them into features with TextVectorizer first"
        ) from None


def _refuse_complex(dtype: np.dtype[Any], name: str) -> None:
    if dtype.kind == "c":
        raise LabelwoodError(f"{name} holds complex numbers. Complex data not supported: pass real ones")


def _refuse_non_finite(values: NDArray[Any], name: str) -> None:
    flat = values.dtype == np.float32 and values.ndim == 1 and values.flags.c_contiguous
    if not (_native.all_finite(values) if flat else np.isfinite(values).all()):
        raise LabelwoodError(f"{name} contains NaN or infinity: replace or remove those values first")
