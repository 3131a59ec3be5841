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
but no parameter), `_topk`, `_arrays` and `_restore`, and add its name to `labelwood.models.MODELS`. `tests/contract/`
then checks all of the above.

`X` may also be `_native.Rows`: a few texts' features on a short way from the vectorizer. `_topk` gets them as it gets
sparse matrices. A model whose native code can read them where they are may override `predict_topk` for them, as
`TreeClassifier` does.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeAlias

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray
from scipy import sparse

from labelwood.arrays import plain_array, real_number, real_vector
from labelwood.errors import LabelwoodError, ModelError, ParameterError, not_fitted
from labelwood.inputs import Floats, Sparse, as_features, as_labels, check_k, from_dense
from labelwood.params import Params
from labelwood.settings import check_params

if TYPE_CHECKING:
    from labelwood.store import State

Features: TypeAlias = Sparse | Floats
Threads: TypeAlias = Annotated[int, Ge(1)] | None
Count: TypeAlias = Annotated[int, Ge(1), Le(2**31 - 1)]  # native code counts in 32 bits
Seed: TypeAlias = Annotated[int, Ge(0), Le(2**63 - 1)]  # others follow it, one for each tree


@dataclass(frozen=True)
class TopK:
    """The best labels of each row, best first: label ids and their scores, both rows × k.

    Equal scores are ordered by ascending id, except where several trees answer. A row with fewer than k answers is
    padded with id −1 and score −inf.

    Example:
        >>> top = TopK(ids=np.array([[7, 2], [4, -1]]), scores=np.array([[0.9, 0.1], [0.5, -np.inf]]))
        >>> len(top), top.k
        (2, 2)
        >>> [[label for label, score in row] for row in top]
        [[7, 2], [4]]
    """

    ids: NDArray[np.int32]
    scores: Floats

    @property
    def k(self) -> int:
        """How many labels a row can hold."""
        return int(self.ids.shape[1])

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[list[tuple[int, float]]]:
        for ids, scores in zip(self.ids, self.scores, strict=True):
            yield [pair for pair in zip(ids.tolist(), scores.tolist(), strict=True) if pair[0] >= 0]

    def to_scipy(self, n_labels: int) -> Any:
        """The scores as a sparse rows × labels `csr_array`.

        Example:
            >>> top = TopK(ids=np.array([[2, -1]]), scores=np.array([[0.5, -np.inf]]))
            >>> top.to_scipy(n_labels=3).toarray()
            array([[0. , 0. , 0.5]])
        """
        real = self.ids >= 0
        indptr = np.concatenate([[0], real.sum(axis=1).cumsum()])
        return sparse.csr_array((self.scores[real], self.ids[real], indptr), shape=(len(self), n_labels))


@dataclass(frozen=True)
class Limits:
    """What can be an answer.

    Example:
        >>> Limits.of(4, include=[1, 2], exclude=[2]).allowed
        array([0, 1, 0, 0], dtype=uint8)
    """

    allowed: NDArray[np.uint8]  # one a label; empty: all
    min_score: float = -math.inf

    @classmethod
    def of(cls, n_labels: int, include: Any = None, exclude: Any = None, min_score: float | None = None) -> Limits:
        """Limits from lists of label ids; an id that is not one of `n_labels` is an error."""
        if include is None and exclude is None and min_score is None:
            return NO_LIMITS
        lowest = -math.inf if min_score is None else real_number(min_score, "min_score")
        if include is None and exclude is None:
            return cls(_ALL, lowest)
        allowed = np.full(n_labels, include is None, np.uint8)
        for name, ids, value in (("include", include, 1), ("exclude", exclude, 0)):
            if ids is not None:
                allowed[_label_ids(ids, n_labels, name)] = value
        return cls(allowed, lowest)


_ALL = np.empty(0, np.uint8)
NO_LIMITS = Limits(_ALL)


def _label_ids(ids: Any, n_labels: int, name: str) -> NDArray[np.int64]:
    array = plain_array(list(ids) if isinstance(ids, Iterable) and not isinstance(ids, np.ndarray) else ids, name)
    whole = array.dtype.kind in "iu" or not array.size
    if array.ndim != 1 or not whole or (array.size and (array.min() < 0 or array.max() >= n_labels)):
        raise ParameterError(f"{name} must be a list of label ids from 0 to {n_labels - 1}")
    return array.astype(np.int64)


class Saved:
    """What can be written to a folder, and be read again by `labelwood.load`.

    Example:
        >>> from labelwood import CentroidClassifier
        >>> CentroidClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 1]]).save("model")
    """

    state: Any

    @property
    def writes(self) -> bool:
        """Whether `save` does: of processes that trained a model together, only the main one's does."""
        return True

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the model to a folder, replacing a model that is there in one step."""
        from labelwood import store

        if self.writes:
            store.write(path, self.state())


class Ranker(Params, Saved):
    """What follows from the best labels of rows, whether these are features or texts: `predict_topk` gives them.

    Example:
        >>> from labelwood import CentroidClassifier
        >>> CentroidClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 1]]).predict([[0.0, 2.0]]).toarray()
        array([[0, 1]], dtype=int8)
    """

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

    kind: ClassVar[str]  # its name in `labelwood.models.MODELS`, on the command line and in the manifest
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


def shape_of(features: Features) -> tuple[int, int]:
    """Rows and columns of checked features.

    Example:
        >>> shape_of(np.zeros((2, 3), np.float32))
        (2, 3)
    """
    if isinstance(features, Sparse):
        return features.n_rows, features.n_cols
    return int(features.shape[0]), int(features.shape[1])


def padded(top: TopK, k: int) -> TopK:
    """The same answers, filled up to k a row.

    Example:
        >>> padded(TopK(ids=np.array([[2]]), scores=np.array([[0.5]])), k=2).ids
        array([[ 2, -1]])
    """
    missing = k - top.k
    if missing <= 0:
        return top
    widths = ((0, 0), (0, missing))
    return TopK(
        np.pad(top.ids, widths, constant_values=-1),
        np.pad(top.scores, widths, constant_values=-np.inf),
    )
