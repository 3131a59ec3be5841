"""Models over numeric features."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray

from labelwood.arrays.rows import Features, Sparse, as_features, as_labels, from_dense, shape_of
from labelwood.contract.checks import check_params
from labelwood.contract.examples import Examples, as_weights
from labelwood.contract.model import Model
from labelwood.errors import LabelwoodError, ModelError

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset
    from labelwood.store import State


class FeatureModel(Model):
    """A model whose rows are features, sparse or dense, and whose state is a set of arrays.

    `X` may also be `_native.Rows`: a few texts' features on a short way from the vectorizer. `_topk` gets them as it
    gets sparse matrices. A model whose native code can read them where they are may do so in `_topk_of_few`.

    Fitted attribute: `n_features_in_`.

    Example:
        >>> import labelwood as lw
        >>> lw.CentroidClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 1]]).n_features_in_
        2
    """

    takes = "features"

    @property
    def uses(self) -> frozenset[str]:
        """Weights of rows."""
        return frozenset({"row_weights"})

    n_features_in_: int

    def _of_dataset(self, data: Dataset, given: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        if data.sparse is None and data.dense is None:
            raise LabelwoodError(f"{type(self).__name__} takes features and the data has texts: use TextClassifier")
        if data.groups is not None and "groups" not in self.uses:
            raise LabelwoodError(
                f"the labels are those of groups and not of single rows, which {type(self).__name__} cannot use: "
                "use GroupedClassifier"
            )
        if data.sparse is not None and data.dense is not None:
            raise LabelwoodError("the data has sparse and dense features: use TextClassifier, which joins them")
        X = data.dense if data.sparse is None else data.sparse
        if data.groups is not None:
            return X, data.groups.Y, {"groups": data.groups.of_row, **given}
        return X, data.labels_to_learn_from(), given

    def _examples(self, X: Any, Y: Any, given: Mapping[str, Any]) -> Examples:
        features = as_features(X)
        n_rows = shape_of(features)[0]
        labels, weights = as_labels(Y, n_rows), as_weights(given.get("row_weights"), n_rows)
        return Examples(features, labels, row_weights=weights, feature_names=given.get("feature_names"))

    def _count(self, examples: Examples) -> None:
        n_rows, n_features = shape_of(examples.X)
        if n_rows == 0 or n_features == 0:
            raise LabelwoodError(
                f"X has {n_rows} row(s) and {n_features} feature(s) (shape={(n_rows, n_features)}) "
                "while a minimum of 1 is required: give at least one row and one feature"
            )
        super()._count(examples)
        self.n_features_in_ = n_features

    def _rows(self, X: Any) -> tuple[Features, int]:
        features = self.check_features(X)
        return features, shape_of(features)[0]

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
            raise ModelError("the model has more labels per row than labels: save it again")
        model._restore(state)
        return model

    @abstractmethod
    def _arrays(self) -> Mapping[str, NDArray[Any]]:
        """The learned arrays by name."""

    @abstractmethod
    def _restore(self, state: State) -> None:
        """Takes the arrays back, perhaps mapped and read-only; with `state.verify`, after checking them."""
