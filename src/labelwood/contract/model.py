"""The one contract every model keeps.

    model = Model(param=…)            parameters are keyword-only; nothing is computed
    model.fit(X, Y)                   rows × features and rows × labels; sparse or dense; returns the model
    model.predict_topk(X, k)          TopK(ids, scores): the k best labels a row, best first, padded by id −1
    model.predict(X)                  scikit-learn's indicator matrix, sparse
    model.score(X, Y)                 P@1 between 0 and 1
    model.save(path), labelwood.load(path)

One row, many rows, any chunking and any number of threads give the same answer, and the same seed gives the same
bytes. The first answers do not depend on k. Labels in another order get the same answers, but for ties: labels that
score the same, and labels that the very same training rows have. A model works in scikit-learn's pipelines and
searches, but Labelwood itself does not need scikit-learn.

To write a model: subclass `Model`, annotate the parameters of `__init__`, fill in `_fit` (which sets what is learned,
but no parameter), `_topk`, `_arrays` and `_restore`, and add its name to `labelwood.contract.kinds`. `tests/contract/`
then checks all of the above.

`X` may also be `_native.Rows`: a few texts' features on a short way from the vectorizer. `_topk` gets them as it gets
sparse matrices. A model whose native code can read them where they are may override `predict_topk` for them, as
`TreeClassifier` does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from labelwood.arrays.rows import Features, Floats, Sparse, as_features, as_labels, from_dense, shape_of
from labelwood.arrays.topk import TopK, check_k, padded
from labelwood.arrays.values import real_vector
from labelwood.contract.checks import check_params
from labelwood.contract.limits import Limits
from labelwood.contract.params import Params
from labelwood.contract.saved import Saved
from labelwood.errors import LabelwoodError, ModelError, ParameterError, not_fitted

if TYPE_CHECKING:
    from labelwood.store import State


class Ranker(Params, Saved):
    """What follows from the best labels of rows, whether these are features or texts: `predict_topk` gives them.

    Example:
        >>> from labelwood import CentroidClassifier
        >>> CentroidClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 1]]).predict([[0.0, 2.0]]).toarray()
        array([[0, 1]], dtype=int8)
    """

    kind: ClassVar[str]  # its name on the command line and in the manifest

    n_labels_: int
    labels_per_row_: int
    predict_topk: Any

    def predict(self, X: Any, k: int | None = None) -> Any:
        """An indicator matrix (sparse, rows × labels, int8) of the `k` best labels of each row.

        `k` defaults to the rounded mean number of labels of a training row.
        """
        self.check_fitted()
        marks = self.predict_topk(X, self.labels_per_row_ if k is None else k).to_scipy(self.n_labels_)
        marks.data = np.ones(marks.nnz, np.int8)
        marks.sort_indices()
        return marks

    def score(self, X: Any, Y: Any) -> float:
        """P@1 between 0 and 1, so that scikit-learn's searches have something to maximise."""
        from labelwood.metrics import evaluate

        return evaluate(self.predict_topk(X, 1), Y, ks=(1,), metrics=("P",))["P@1"] / 100

    def describe(self) -> dict[str, Any]:
        """What a person asks for first.

        Example:
            >>> from labelwood import CentroidClassifier
            >>> CentroidClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 1]]).describe()
            {'model': 'centroid', 'labels': 2, 'features': 2}
        """
        self.check_fitted()
        return {"model": self.kind, "labels": self.n_labels_, **self._size()}

    def _size(self) -> dict[str, Any]:
        return {}

    def check_fitted(self) -> None:
        """Raises `NotFittedError` unless `fit` or a load has run, `ParameterError` for a parameter set wrong since."""
        if not hasattr(self, "n_labels_"):
            raise not_fitted(self)
        self.settled()


class Model(Ranker, ABC):
    """A multi-label model over numeric features. See the module's page for the contract.

    Fitted attributes: `n_features_in_`, `n_labels_`, and `labels_per_row_`, the rounded mean number of labels of a
    training row, which `predict` uses as its k.

    Example:
        >>> import labelwood as lw
        >>> model = lw.CentroidClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 1]])
        >>> model.predict_topk([[0.1, 0.9]], k=1).ids
        array([[1]], dtype=int32)
    """

    # Parameters that describe the machine rather than the model; they are not saved.
    machine_params: ClassVar[frozenset[str]] = frozenset({"n_threads"})
    # Parameters of the search: changed after `fit`, they hold for the next answers. All others wait for the next `fit`.
    search_params: ClassVar[frozenset[str]] = frozenset()

    reads_texts: ClassVar[bool] = False  # whether rows are texts, which such a model embeds by itself
    needs_feature_names: bool = False  # whether `fit` takes `feature_names` and cannot do without

    n_threads: int | None  # every model has it; None means all cores

    n_features_in_: int
    n_labels_: int
    labels_per_row_: int
    learned_with_: Mapping[str, Any]  # the parameters at the time of `fit`

    def fit(self, X: Any, Y: Any, *, row_weights: Any = None) -> Self:
        """Learns from rows × features `X` and rows × labels `Y` (any entry other than zero is a label).

        `row_weights` says how much each row counts; all the same if not given.
        """
        settings = self.settled()
        features = as_features(X)
        n_rows, n_features = shape_of(features)
        labels = as_labels(Y, n_rows)
        if n_rows == 0 or n_features == 0:
            raise LabelwoodError(
                f"X has {n_rows} row(s) and {n_features} feature(s) (shape={(n_rows, n_features)}) "
                "while a minimum of 1 is required: give at least one row and one feature"
            )
        if labels.n_cols == 0:
            raise LabelwoodError("Y has no label column: give at least one label")
        weights = as_weights(row_weights, n_rows)
        # A copy learns, with settings of one moment: until it has, and if it fails, the model answers as it did.
        learner = copy(self)
        learner.__dict__.update(settings)
        learner.n_features_in_ = n_features
        learner.n_labels_ = labels.n_cols
        learner.labels_per_row_ = max(1, round(len(labels.indices) / n_rows))
        learner.learned_with_ = settings
        learner._fit(features, labels, weights)
        names = {*settings, "_settled"}
        self.__dict__.update({name: value for name, value in vars(learner).items() if name not in names})
        return self

    def predict_topk(
        self, X: Any, k: int = 5, *, include: Any = None, exclude: Any = None, min_score: float | None = None
    ) -> TopK:
        """The `k` best labels of each row, best first.

        With `include`, only these label ids can be answers; those in `exclude` cannot, nor can labels that score less
        than `min_score`.
        """
        self.check_fitted()
        k = check_k(k, self.n_labels_)
        limits = Limits.of(self.n_labels_, include, exclude, min_score)
        top = self._topk(self.check_features(X), min(k, self.n_labels_), limits)
        return padded(top, k)

    def check_features(self, X: Any) -> Features:
        """Rows as native code reads them, if they have the features that were trained on."""
        self.check_fitted()
        features = as_features(X)
        n_features = shape_of(features)[1]
        if n_features != self.n_features_in_:
            raise LabelwoodError(
                f"X has {n_features} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input: make them as for training"
            )
        return features

    def check_sparse(self, X: Any) -> Sparse:
        """The same as sparse rows, whatever they were."""
        features = self.check_features(X)
        return features if isinstance(features, Sparse) else from_dense(features)

    def _size(self) -> dict[str, Any]:
        return {"features": self.n_features_in_}

    def state(self) -> State:
        """Everything the store needs to write this model."""
        from labelwood.store import State

        self.check_fitted()
        now = self.settled()
        own = [name for name in self._param_names() if name not in self.machine_params]
        params = {name: (now if name in self.search_params else self.learned_with_)[name] for name in own}
        fitted = {
            "n_features": self.n_features_in_,
            "n_labels": self.n_labels_,
            "labels_per_row": self.labels_per_row_,
        }
        return State(kind=self.kind, params=params, fitted=fitted, arrays=self._arrays())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The model that `state` describes; raises `ModelError` where its fields contradict each other."""
        names = cls._param_names()
        check_params(cls, {name: value for name, value in state.params.items() if name not in names})
        model = cls(**state.params)
        model.learned_with_ = model.settled()
        model.n_features_in_ = state.count("n_features")
        model.n_labels_ = state.count("n_labels")
        model.labels_per_row_ = state.count("labels_per_row")
        if model.labels_per_row_ > model.n_labels_:
            raise ModelError("the model's rows have more labels than there are: save it again")
        model._restore(state)
        return model

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, multi_output=True, single_output=False),
            classifier_tags=ClassifierTags(multi_class=False, multi_label=True),
            input_tags=InputTags(sparse=True),
        )

    @abstractmethod
    def _fit(self, X: Features, Y: Sparse, row_weights: Floats) -> None:
        """Learns from checked input; empty weights mean that all rows count the same."""

    @abstractmethod
    def _topk(self, X: Features, k: int, limits: Limits) -> TopK:
        """Answers for checked input within `limits`; k is at most `n_labels_`."""

    @abstractmethod
    def _arrays(self) -> Mapping[str, NDArray[Any]]:
        """The learned arrays by name."""

    @abstractmethod
    def _restore(self, state: State) -> None:
        """Takes the arrays back, perhaps mapped and read-only; with `state.verify`, after checking them."""


def as_weights(row_weights: Any, n_rows: int) -> Floats:
    """Checks how much rows count; none at all if that was not given.

    Example:
        >>> as_weights([1, 2], n_rows=2)
        array([1., 2.], dtype=float32)
    """
    if row_weights is None:
        return np.empty(0, np.float32)
    weights = real_vector(row_weights, "row_weights").astype(np.float32)
    if weights.shape != (n_rows,) or not (np.isfinite(weights) & (weights > 0)).all():
        raise ParameterError(f"row_weights must be {n_rows} finite numbers above zero, one for each row")
    return weights
