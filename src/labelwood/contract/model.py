"""The one contract every model keeps.

    model = Model(param=…)            parameters are keyword-only; nothing is computed
    model.fit(X, Y)                   rows and rows × labels; or a `Dataset`; returns the model
    model.predict_topk(X, k)          TopK(ids, scores): the k best labels a row, best first, padded by id −1
    model.predict(X)                  scikit-learn's indicator matrix, sparse
    model.score(X, Y)                 P@1 between 0 and 1
    model.save(path), labelwood.load(path)

`fit` may also be given texts of labels, filters, weights of rows, groups of rows and names of features. A class says
which of these it `uses` and which it `needs`; what it cannot use is an error. Rows are what it `takes`: features or
texts.

One row, many rows, any chunking and any number of threads give the same answer, and the same seed gives the same
bytes. The first answers do not depend on k. Labels in another order get the same answers, but for ties: labels that
score the same, and labels that the very same training rows have. A model works in scikit-learn's pipelines and
searches, but Labelwood itself does not need scikit-learn. `tests/contract/` checks all of this for every kind of model,
and lists what a kind cannot promise, with the reason.

To write a model: subclass `FeatureModel` or `TextModel`, annotate the parameters of `__init__`, fill in `_fit` (which
sets what is learned, but no parameter), `_topk`, and how it is saved, and add a line to `labelwood.contract.kinds`.
Parameters that mean something only together are a `labelwood.contract.bundles.Bundle`.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from labelwood.arrays.topk import TopK, check_k, padded
from labelwood.contract.examples import Examples, check_needs, usable
from labelwood.contract.limits import NO_LIMITS, Limits
from labelwood.contract.params import Params
from labelwood.contract.saved import Saved
from labelwood.errors import LabelwoodError, ParameterError, not_fitted

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset


class Model(Params, Saved, ABC):
    """A multi-label model. See the module's page for the contract.

    Fitted attributes: `n_labels_`, and `labels_per_row_`, the rounded mean number of labels of a training row, which
    `predict` uses as its k.

    Example:
        >>> import labelwood as lw
        >>> model = lw.CentroidClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 1]])
        >>> model.predict_topk([[0.1, 0.9]], k=1).ids
        array([[1]], dtype=int32)
    """

    kind: ClassVar[str]  # its name in `labelwood.contract.kinds`, on the command line and in the manifest
    takes: ClassVar[Literal["features", "texts"]]  # what its rows are
    # Parameters that describe the machine rather than the model; they are not saved.
    machine_params: ClassVar[frozenset[str]] = frozenset({"n_threads"})
    # Parameters of the search: changed after `fit`, they hold for the next answers. All others wait for the next `fit`.
    search_params: ClassVar[frozenset[str]] = frozenset()

    n_threads: int | None  # every model has it; None means all cores

    n_labels_: int
    labels_per_row_: int
    learned_with_: Mapping[str, Any]  # the parameters at the time of `fit`
    imputed_: Any = None  # the labels that rows got, where those of their groups were learned from

    @property
    def uses(self) -> frozenset[str]:
        """What `fit` makes use of besides rows and labels; names as in `labelwood.contract.examples.EXTRAS`."""
        return frozenset()

    @property
    def needs(self) -> frozenset[str]:
        """Which of these it cannot do without."""
        return frozenset()

    def fit(
        self,
        X: Any,
        Y: Any = None,
        label_texts: Any = None,
        *,
        filters: Any = None,
        row_weights: Any = None,
        groups: Any = None,
        feature_names: Any = None,
    ) -> Self:
        """Learns from rows `X` and rows × labels `Y` (any entry other than zero is a label), or from a `Dataset`.

        What else may be given depends on the model, and what it cannot use is an error: `label_texts`, a text for each
        label; `filters`, pairs (row, label) that are neither right nor wrong, such as a document and itself;
        `row_weights`, how much each row counts; `groups`, the group of each row, where `Y` is groups × labels;
        `feature_names`, what features are called. Of a dataset it takes what it can use. If learning fails or is
        interrupted, the model stays as it was.
        """
        given: dict[str, Any] = {
            "label_texts": label_texts,
            "filters": filters,
            "row_weights": row_weights,
            "groups": groups,
            "feature_names": feature_names,
        }
        given = usable(self, given)
        if (data := _as_dataset(X)) is not None:
            for name, value in (("Y", Y), ("groups", groups)):
                if value is not None:
                    raise ParameterError(f"a dataset has its labels and groups itself: leave out {name}")
            X, Y, given = self._of_dataset(data, given)
        check_needs(self, given)
        return self.learn(self._examples(X, Y, given))

    def learn(self, examples: Examples, **how: Any) -> Self:
        """Learns from examples that are checked: what `fit` does, and models that are made of others.

        `how` is for kinds that can begin with something learned; see their `_fit`.
        """
        settings = self.settled()
        # A copy learns, with settings of one moment: until it has, and if it fails, the model answers as it did.
        learner = copy(self)
        learner.__dict__.update(settings)
        learner.learned_with_ = settings
        learner._count(examples)
        try:
            learner._fit(examples, **how)
        except KeyboardInterrupt:
            if learner._has_learned():
                self._take_over(learner)
            raise
        self._take_over(learner)
        return self

    def _take_over(self, learner: Self) -> None:
        own = {*learner.learned_with_, "_settled"}
        self.__dict__.update({name: value for name, value in vars(learner).items() if name not in own})

    def _count(self, examples: Examples) -> None:
        """Sets the counts that are known before anything is learned."""
        if examples.Y.n_cols == 0:
            raise LabelwoodError("Y has no label column: give at least one label")
        self.n_labels_ = examples.Y.n_cols
        self.labels_per_row_ = max(1, round(len(examples.Y.indices) / max(examples.Y.n_rows, 1)))

    def _has_learned(self) -> bool:
        """Whether what was learned before an interrupt is to be kept."""
        return False

    def predict_topk(
        self,
        X: Any,
        k: int = 5,
        *,
        include: Any = None,
        exclude: Any = None,
        min_score: float | None = None,
        filters: Any = None,
    ) -> TopK:
        """The `k` best labels of each row, best first.

        With `include`, only these labels can be answers; those in `exclude` cannot, nor can labels that score less than
        `min_score`, nor pairs (row, label id) in `filters`.
        """
        if include is None and exclude is None and min_score is None and filters is None:
            top = self._topk_of_few(X, k)
            if top is not None:
                return top
        self.check_fitted()
        return self.answer(X, k, self._limits(include, exclude, min_score), filters)

    def answer(self, X: Any, k: int, limits: Limits = NO_LIMITS, filters: Any = None) -> TopK:
        """The same within limits that are made: what a model asks those it is made of."""
        from labelwood.metrics.filters import filtered_answers

        self.check_fitted()
        k, (rows, n_rows) = check_k(k, self.n_labels_), self._rows(X)
        return filtered_answers(
            lambda n: padded(self._topk(rows, min(n, self.n_labels_), limits), n), k, filters, n_rows
        )

    def _limits(self, include: Any, exclude: Any, min_score: float | None) -> Limits:
        return Limits.of(self.n_labels_, include, exclude, min_score)

    def _topk_of_few(self, X: Any, k: Any) -> TopK | None:
        """Answers by a way that is as short as a few rows; None where there is none."""
        return None

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

    def use_threads(self, n_threads: int | None) -> None:
        """Answers with so many threads from now on, and so does all that the model is made of."""
        self.n_threads = n_threads
        for part in self._parts():
            part.use_threads(n_threads)

    @property
    def inner_model(self) -> Any:
        """The model itself, where this one only adds names and features to it."""
        return self

    def _parts(self) -> list[Any]:
        """The fitted models and vectorizers that the model is made of."""
        return []

    def check_fitted(self) -> None:
        """Raises `NotFittedError` unless `fit` or a load has run, `ParameterError` for a parameter set wrong since."""
        if not hasattr(self, "n_labels_"):
            raise not_fitted(self)
        self.settled()

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        of_texts = self.takes == "texts"
        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, multi_output=True, single_output=False),
            classifier_tags=ClassifierTags(multi_class=False, multi_label=True),
            input_tags=InputTags(string=True, two_d_array=False) if of_texts else InputTags(sparse=True),
        )

    @abstractmethod
    def _of_dataset(self, data: Dataset, given: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        """Rows, labels and what else the model uses of a dataset, besides what was given."""

    @abstractmethod
    def _examples(self, X: Any, Y: Any, given: Mapping[str, Any]) -> Examples:
        """What the caller gives, checked."""

    @abstractmethod
    def _fit(self, examples: Examples) -> None:
        """Learns; all counts are set."""

    @abstractmethod
    def _rows(self, X: Any) -> tuple[Any, int]:
        """Rows to answer for, checked, and how many there are."""

    @abstractmethod
    def _topk(self, X: Any, k: int, limits: Limits) -> TopK:
        """Answers for checked rows within `limits`; k is at most `n_labels_`."""


def _as_dataset(X: Any) -> Dataset | None:
    module = sys.modules.get("labelwood.data.dataset")  # while nobody has imported it, nobody has a dataset
    return X if module is not None and isinstance(X, module.Dataset) else None
