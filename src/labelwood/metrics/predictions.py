"""Converts predictions and true labels for the native code that ranks them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood import _native
from labelwood.arrays.rows import Sparse, as_labels, from_scipy
from labelwood.arrays.threads import thread_count
from labelwood.arrays.topk import TopK
from labelwood.arrays.values import plain_array, real_numbers
from labelwood.errors import LabelwoodError
from labelwood.labels.propensities import InversePropensities

_LARGEST_GAIN = 1e100  # so that sums over all labels and rows stay finite


def best_labels(top: Any, k: int, n_threads: int | None = None) -> TopK:
    """A `TopK` at least `k` wide from a `TopK` or from a sparse rows × labels matrix of scores.

    From a matrix, the `k` highest stored entries of each row are taken, equal scores by ascending id; stored zeros
    count too. Scores are compared as float32, the type that models return.

    Example:
        >>> best_labels(sparse.csr_array([[0.5, 0.0, 0.9]]), k=3).ids
        array([[ 2,  0, -1]], dtype=int32)
    """
    if sparse.issparse(top):
        return _best_scores(top, k, n_threads)
    best = as_topk(top)
    if best.k < k:
        raise LabelwoodError(f"the predictions hold {best.k} labels a row and k is {k}: predict with a larger k")
    return TopK(np.ascontiguousarray(best.ids, np.int32), best.scores)


def as_topk(top: Any) -> TopK:
    """A `TopK` with checked ids and scores as plain arrays.

    Example:
        >>> as_topk(TopK(ids=[[1, 0]], scores=[[0.5, 0.25]])).ids
        array([[1, 0]])
    """
    if not isinstance(top, TopK):
        raise LabelwoodError(
            f"predictions are a {type(top).__name__} and should be a TopK or a scipy sparse matrix of scores:"
            " pass what predict_topk returns"
        )
    ids, scores = _as_ids(top.ids), plain_array(top.scores, "the scores of predictions")
    if scores.shape != ids.shape or scores.dtype.kind not in "biuf":
        raise LabelwoodError(
            f"the predictions have ids of shape {ids.shape} and scores of shape {scores.shape} and dtype "
            f"{scores.dtype}: pass a number for each id"
        )
    return TopK(ids, scores)


def true_labels(Y: Any, n_rows: int) -> Sparse:
    """The true labels of `n_rows` predicted rows.

    Example:
        >>> true_labels([[0, 1], [1, 1]], n_rows=2).indices
        array([1, 0, 1], dtype=int32)
    """
    if n_rows == 0:
        raise LabelwoodError("the predictions have no rows: there is nothing to evaluate")
    labels = as_labels(Y)
    if labels.n_rows != n_rows:
        raise LabelwoodError(
            f"the predictions have {n_rows} rows and Y has {labels.n_rows}: pass the Y of the rows that were predicted"
        )
    return labels


def label_gains(inv_propensity: Any, n_labels: int) -> NDArray[np.float64]:
    """Inverse propensities of `n_labels` labels; labels not seen in training get the value of frequency zero.

    Example:
        >>> label_gains(InversePropensities(np.array([2.0]), unseen=5.0), n_labels=2)
        array([2., 5.])
    """
    if inv_propensity is None:
        return np.zeros(0)
    if isinstance(inv_propensity, InversePropensities):
        values = inv_propensity.for_labels(n_labels)
    else:
        values = real_numbers(plain_array(inv_propensity, "inv_propensity"), "inv_propensity", np.float64)
    if values.ndim != 1 or len(values) < n_labels:
        raise LabelwoodError(
            f"inv_propensity has shape {values.shape} and Y has {n_labels} labels: pass what "
            "inverse_propensities returns, which also knows the value of labels that training has not seen"
        )
    if not np.isfinite(values).all() or (values < 0).any():
        raise LabelwoodError(
            "inv_propensity contains a negative or non-finite number: make it with inverse_propensities"
        )
    if values.max(initial=0) > _LARGEST_GAIN:
        raise LabelwoodError(
            f"inv_propensity contains {values.max():g}, too large for sums: make it with inverse_propensities"
        )
    return np.ascontiguousarray(values[:n_labels])


def ranking_sums(
    top: TopK,
    labels: Sparse,
    ks: list[int],
    gain: NDArray[np.float64],
    *,
    count_labels: bool,
    n_threads: int | None,
) -> dict[str, Any]:
    """The sums of native code for each of the ascending `ks`, and with `count_labels` the counts of each label.

    Example:
        >>> top = TopK(np.array([[1]], np.int32), np.array([[0.5]], np.float32))
        >>> ranking_sums(top, true_labels([[0, 1]], 1), [1], np.zeros(0), count_labels=False, n_threads=1)["correct"]
        [1]
    """
    return _native.rank_predictions(
        top.ids,
        labels,
        ks=np.array(ks, np.int32),
        gains=gain,
        count_labels=count_labels,
        n_threads=thread_count(n_threads),
    )


def _best_scores(matrix: Any, k: int, n_threads: int | None) -> TopK:
    # A score beyond the range of float32 becomes infinite and still ranks first or last.
    scores = from_scipy(matrix, "predictions")
    if np.isnan(scores.values).any():
        raise LabelwoodError("the matrix of predictions contains NaN: replace or remove those values first")
    return TopK(*_native.best_entries(scores, k, thread_count(n_threads)))


def _as_ids(ids: Any) -> NDArray[Any]:
    ids = plain_array(ids, "the ids of predictions")
    if ids.ndim != 2 or ids.dtype.kind not in "iu":
        raise LabelwoodError(f"ids have shape {ids.shape} and dtype {ids.dtype}: pass whole numbers, rows × k")
    limits = np.iinfo(np.int32)
    if ids.dtype != np.int32 and ids.size and not limits.min <= ids.min() <= ids.max() <= limits.max:
        raise LabelwoodError(f"ids reach from {ids.min()} to {ids.max()}: label ids are at most {limits.max}")
    native: NDArray[Any] = ids.astype(ids.dtype.newbyteorder("="), copy=False)
    return native
