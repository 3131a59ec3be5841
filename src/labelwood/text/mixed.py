"""Embeddings and tf-idf side by side, as one matrix to learn from."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelwood.arrays.rows import Sparse, as_features, unit_rows
from labelwood.errors import LabelwoodError, ParameterError


def mixed_rows(embeddings: Any, X: Any, *, share: float = 0.5) -> Any:
    """Rows that have a dense embedding first and then sparse features, a float32 `csr_array` of unit rows.

    Each side is brought to unit length, so that neither outweighs the other by how it was made. An inner product of two
    rows is then `share` times the cosine of their embeddings and 1 − `share` times that of the other features.

    Example:
        >>> mixed_rows([[3.0, 4.0]], [[0.0, 2.0]], share=0.36).toarray().round(2)
        array([[0.36, 0.48, 0.  , 0.8 ]], dtype=float32)
    """
    if not 0 <= share <= 1:
        raise ParameterError(f"share is {share} but should be from 0 to 1")
    dense, words = (
        as_features(side, sparse_only=True, name=name) for side, name in ((embeddings, "embeddings"), (X, "X"))
    )
    assert isinstance(dense, Sparse) and isinstance(words, Sparse)
    if dense.n_rows != words.n_rows:
        raise LabelwoodError(
            f"embeddings have {dense.n_rows} rows and X has {words.n_rows}: give both for the same rows"
        )
    sides = [unit_rows(side).to_scipy() * np.float32(s**0.5) for side, s in ((dense, share), (words, 1 - share))]
    return sparse.hstack(sides, format="csr", dtype=np.float32)
