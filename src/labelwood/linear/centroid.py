"""The honest baseline: a label's score is its centroid times the row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from labelwood import _native
from labelwood.arrays.rows import Features, Floats, Sparse, from_scipy
from labelwood.arrays.threads import thread_count
from labelwood.arrays.topk import TopK
from labelwood.contract.examples import Examples
from labelwood.contract.feature_model import FeatureModel
from labelwood.contract.limits import Limits
from labelwood.contract.params import Threads
from labelwood.errors import LabelwoodError, ModelError
from labelwood.labels.representations import label_vectors

if TYPE_CHECKING:
    from labelwood.store import State


_LABELS_WITHOUT_WEIGHTS = 1 << 24
_LABELS_A_WEIGHT = 64


class CentroidClassifier(FeatureModel):
    """Ranks labels by the inner product of the row with the label's PIFA vector (the unit-length sum of its rows).

    Exact, without anything to tune: what every other model must beat. On sparse rows a label that shares no feature
    with the row is not among the answers. Time a row grows with the labels that share its features.

    Parameters:
        n_threads: How many threads to use; all cores if not given.

    Example:
        >>> import labelwood as lw
        >>> model = lw.CentroidClassifier().fit([[1.0, 0.0], [0.8, 0.6]], [[1, 0], [0, 1]])
        >>> model.predict_topk([[0.0, 1.0]], k=2).scores.round(1)
        array([[0.6, 0. ]], dtype=float32)
    """

    kind: ClassVar[str] = "centroid"

    def __init__(self, *, n_threads: Threads = None) -> None:
        self.n_threads = n_threads

    def _fit(self, examples: Examples) -> None:
        X, weights = examples.X, examples.row_weights
        vectors = label_vectors(_weighted(X, weights) if len(weights) else X, examples.Y, thread_count(self.n_threads))
        # Sparse vectors are kept by feature, so that a row visits only the labels that share its features.
        self.weights_: Sparse | Floats = from_scipy(vectors.to_scipy().T) if isinstance(vectors, Sparse) else vectors

    def _topk(self, X: Features, k: int, limits: Limits) -> TopK:
        if isinstance(X, Sparse) != isinstance(self.weights_, Sparse):
            X = _like(self.weights_, X)
        weights, n_threads = self.weights_, thread_count(self.n_threads)
        if isinstance(X, Sparse) and isinstance(weights, Sparse):
            return TopK(*_native.sparse_centroid_topk(X, weights, k, limits, n_threads))
        assert isinstance(X, np.ndarray) and isinstance(weights, np.ndarray)
        return TopK(*_native.dense_centroid_topk(X, weights, k, limits, n_threads))

    def _arrays(self) -> Mapping[str, NDArray[Any]]:
        if isinstance(self.weights_, Sparse):
            _check_labels(self.weights_)
            return {
                "indptr": self.weights_.indptr,
                "indices": self.weights_.indices,
                "values": self.weights_.values,
            }
        return {"centroids": self.weights_}

    def _restore(self, state: State) -> None:
        if "centroids" in state.arrays:
            self.weights_ = state.array("centroids", np.float32, 2)
            if self.weights_.shape != (self.n_labels_, self.n_features_in_):
                raise ModelError("the centroids do not have the model's number of labels and features: save it again")
            # The least and the largest, which are NaN if any is: no table of answers for each number is made.
            if state.verify and not np.isfinite([self.weights_.min(), self.weights_.max()]).all():
                raise ModelError("the centroids are not all finite numbers: save the model again")
            return
        indptr, indices = state.array("indptr", np.int64, 1), state.array("indices", np.int32, 1)
        self.weights_ = Sparse(indptr, indices, state.array("values", np.float32, 1), self.n_labels_)
        if self.weights_.n_rows != self.n_features_in_ or len(indices) != len(self.weights_.values):
            raise ModelError("the centroids do not have the model's number of labels and features: save it again")
        _check_labels(self.weights_)
        if state.verify:
            try:
                _native.check_csr(self.weights_)
            except LabelwoodError as e:
                raise ModelError(f"{e}: save the model again") from None


def _check_labels(weights: Sparse) -> None:
    """Labels may be without a weight, but a search makes room for each: a small file must not claim a great many."""
    if weights.n_cols > max(_LABELS_WITHOUT_WEIGHTS, _LABELS_A_WEIGHT * len(weights.indices)):
        raise ModelError(
            f"the centroids are of {weights.n_cols} labels and have only {len(weights.indices)} weights: "
            "leave out labels that no row has, and train again"
        )


def _weighted(X: Features, row_weights: Floats) -> Features:
    if isinstance(X, Sparse):
        return X._replace(values=X.values * np.repeat(row_weights, X.indptr[1:] - X.indptr[:-1]))
    return X * row_weights[:, None]


def _like(weights: Sparse | Floats, X: Features) -> Features:
    """Rows in the form the model was trained on."""
    if isinstance(weights, Sparse):
        from scipy import sparse

        return from_scipy(sparse.csr_array(X))
    assert isinstance(X, Sparse)
    dense: Floats = X.to_scipy().toarray()
    return dense
