"""A fitted vectorizer in native code, and its results as scipy has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood import _native
from labelwood.text.documents import Documents

Unit: TypeAlias = Literal["word", "char", "char_wb"]
Norm: TypeAlias = Literal["none", "l1", "l2"]


class Terms(NamedTuple):
    """Term i is `bytes[offsets[i]:offsets[i + 1]]`."""

    bytes: NDArray[np.uint8]
    offsets: NDArray[np.int64]


class Analysis(NamedTuple):
    """How a text is taken apart into terms."""

    unit: Unit
    min_n: int  # the lengths of n-grams
    max_n: int
    min_token: int
    lowercase: bool
    stop_words: Terms | None


class Weighing(NamedTuple):
    """How the counts of a text's terms are weighed."""

    binary: bool
    sublinear_tf: bool
    norm: Norm
    idf: NDArray[np.float64] | None


class NativeVectorizer:
    """Turns texts into tf-idf weights; made once, since the terms are put into a table for it.

    Example:
        >>> how = Analysis("word", 1, 1, 1, True, None), None, Weighing(False, False, "none", None)
        >>> hashed = NativeVectorizer(*how, n_features=8)
        >>> hashed.transform_plain(["a b a"], 1).data
        array([2., 1.], dtype=float32)
    """

    def __init__(self, analysis: Analysis, terms: Terms | None, weighing: Weighing, n_features: int) -> None:
        self._native = _native.Vectorizer(analysis=analysis, terms=terms, weighing=weighing, n_cols=n_features)
        # rows(texts, n_features): a few texts as `_native.Rows`, which a model searches without a way through scipy.
        self.rows: Callable[[list[str], int], Any] = self._native.rows
        self._row = to_scipy((np.zeros(2, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32)), n_features)

    def transform(self, documents: Documents, n_threads: int) -> Any:
        """The weights of checked texts, a `csr_array`."""
        return self._to_scipy(self._native.transform(documents, n_threads))

    def transform_plain(self, texts: Any, n_threads: int) -> Any:
        """The same for a list of nothing but plain strings; None for anything else."""
        csr = self._native.transform_plain(texts, n_threads)
        return None if csr is None else self._to_scipy(csr)

    def _to_scipy(self, csr: tuple[NDArray[Any], ...]) -> Any:
        if len(csr[0]) != len(self._row.indptr):
            return to_scipy(csr, self._row.shape[1])
        # scipy's checks of a new array take longer than a text; this one is like a row that has passed them.
        row = sparse.csr_array.__new__(sparse.csr_array)
        row.__dict__.update(self._row.__dict__)
        row.indptr, row.indices, row.data = csr
        return row


def to_scipy(csr: tuple[NDArray[Any], ...], n_features: int) -> Any:
    """Native code's arrays as a `csr_array`; their columns ascend.

    Example:
        >>> to_scipy((np.array([0, 1]), np.array([2]), np.ones(1, np.float32)), 3).toarray()
        array([[0., 0., 1.]], dtype=float32)
    """
    indptr, indices, values = csr
    matrix = sparse.csr_array((values, indices, indptr), shape=(len(indptr) - 1, n_features))
    matrix.has_canonical_format = True
    return matrix
