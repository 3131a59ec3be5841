"""Which terms stay in a vocabulary, and how much each counts."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.errors import LabelwoodError, ParameterError


def kept_terms(
    params: dict[str, Any], n_texts: NDArray[np.int64], occurrences: NDArray[np.int64], n_documents: int
) -> NDArray[np.int64]:
    """Ids of the terms that stay, ascending.

    Example:
        >>> params = {"min_df": 2, "max_df": 1.0, "max_features": None}
        >>> kept_terms(params, np.array([1, 2, 3]), np.array([1, 2, 3]), n_documents=3)
        array([1, 2])
    """
    fewest, most = (_as_count(params[name], n_documents) for name in ("min_df", "max_df"))
    if most < fewest:
        raise ParameterError(
            f"max_df={params['max_df']} is fewer texts than min_df={params['min_df']}: raise max_df or lower min_df"
        )
    kept = np.flatnonzero((n_texts >= fewest) & (n_texts <= most))
    limit = params["max_features"]
    if limit is not None and len(kept) > limit:
        # The same sort of the same numbers as scikit-learn's, so that ties fall the same way.
        frequency = (n_texts if params["binary"] else occurrences)[kept].astype(np.float64)
        kept = np.sort(kept[(-frequency).argsort()[:limit]])
    if len(kept) == 0:
        raise LabelwoodError("no terms remain after pruning: lower min_df or raise max_df")
    return kept


def _as_count(limit: float, n_documents: int) -> float:
    return limit if isinstance(limit, Integral) else limit * n_documents


def idf_of(params: dict[str, Any], n_texts: NDArray[np.int64], n_documents: int) -> NDArray[np.float64]:
    """Inverse document frequencies of terms that so many texts have.

    Example:
        >>> idf_of({"smooth_idf": False}, np.array([1, 4]), n_documents=4).round(2)
        array([2.39, 1.  ])
    """
    extra = int(params["smooth_idf"])
    seen = n_texts + extra > 0
    idf = np.zeros(len(n_texts))
    idf[seen] = np.log((n_documents + extra) / (n_texts[seen] + extra)) + 1.0
    return idf
