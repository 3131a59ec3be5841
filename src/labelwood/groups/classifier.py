"""A model of single rows from labels of groups: EAGLE assigns the labels to rows, and any model learns from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from labelwood.arrays.rows import as_features, as_labels, shape_of
from labelwood.arrays.topk import TopK
from labelwood.contract.checks import check_params
from labelwood.contract.examples import Examples, as_weights
from labelwood.contract.feature_model import FeatureModel
from labelwood.contract.kinds import from_state, model_class, takes
from labelwood.contract.limits import NO_LIMITS, Limits
from labelwood.contract.params import Params, Threads, unfitted
from labelwood.errors import LabelwoodError, ModelError
from labelwood.groups.eagle import Eagle
from labelwood.groups.grouped import as_counts
from labelwood.groups.imputing import Imputed, impute

if TYPE_CHECKING:
    from labelwood.store import State


class GroupedClassifier(FeatureModel):
    """Learns to label single rows from labels of groups: `Eagle` assigns them to rows, then a model learns from rows.

    Parameters:
        model: The name of a model over features (see `labelwood.contract.kinds`), or an unfitted model.
        eagle: How labels are assigned to rows; `Eagle` with its defaults if not given.
        choose: Whether parameters of `eagle` are first chosen on held-out groups (`choose_eagle`).
        baseline: Whether rows get all labels of their groups instead.
        n_threads: How many threads to use. If not given, each part decides.

    Fitted attributes: `model_`, and `imputed_`, an `Imputed`: which row got which label, how certain that is, and
    whether assignment is advised.

    Example:
        >>> import labelwood as lw
        >>> dog, rose, oak = [1, 0, 0], [0, 1, 0], [0, 0, 1]  # pages of two paragraphs, whose tags are animal and plant
        >>> X, pages, tags = [dog, rose, oak, dog, rose, oak], [0, 0, 1, 1, 2, 2], [[1, 1], [1, 0], [0, 1]]
        >>> model = GroupedClassifier(model="centroid").fit(X, tags, groups=pages)
        >>> model.predict_topk([dog, rose], k=1).ids.ravel().tolist()
        [0, 1]
    """

    kind: ClassVar[str] = "grouped"

    model_: Any
    imputed_: Imputed | None

    def __init__(
        self,
        *,
        model: Params | str = "tree",
        eagle: Eagle | None = None,
        choose: bool = False,
        baseline: bool = False,
        n_threads: Threads = None,
    ) -> None:
        self.model = model
        self.eagle = eagle
        self.choose = choose
        self.baseline = baseline
        self.n_threads = n_threads

    @property
    def uses(self) -> frozenset[str]:
        """Groups, and what its model uses of their rows."""
        return frozenset({"groups"}) | (self._given_model().uses & {"row_weights", "feature_names"})

    @property
    def needs(self) -> frozenset[str]:
        """Groups, and what its model needs."""
        return frozenset({"groups"}) | self._given_model().needs

    def _given_model(self) -> FeatureModel:
        model = model_class(self.model)() if isinstance(self.model, str) else self.model
        if not isinstance(model, FeatureModel) or model.kind == self.kind:
            kind = getattr(model, "kind", type(model).__name__)
            raise LabelwoodError(f"a model of the kind {kind!r} cannot learn from groups: use another model")
        return model

    def _examples(self, X: Any, Y: Any, given: Mapping[str, Any]) -> Examples:
        """Rows, the group of each (or rows × groups), and groups × labels: how often a group was given a label."""
        features = as_features(X)
        counts = as_labels(Y) if Y is None else as_counts(Y)  # `as_labels` says what is missing
        return Examples(
            features,
            counts,
            groups=given["groups"],
            row_weights=as_weights(given.get("row_weights"), shape_of(features)[0]),
            feature_names=given.get("feature_names"),
        )

    def _fit(self, examples: Examples) -> None:
        model = unfitted(self._given_model(), self.n_threads)
        eagle = None if self.eagle is None else unfitted(self.eagle, self.n_threads)
        # A parameter of eagle that is changed later waits for the next fit.
        self.learned_with_ = {**self.learned_with_, "eagle": eagle}
        imputed = impute(
            examples.X, examples.groups, examples.Y, eagle=eagle, baseline=self.baseline, choose=self.choose
        )
        given: dict[str, Any] = {"feature_names": examples.feature_names} if "feature_names" in model.needs else {}
        if len(examples.row_weights):
            given["row_weights"] = examples.row_weights
        self.model_ = model.fit(examples.X, as_labels(imputed.Y, shape_of(examples.X)[0]), **given)
        self.imputed_, self.labels_per_row_ = imputed, self.model_.labels_per_row_

    def answer(self, X: Any, k: int, limits: Limits = NO_LIMITS, filters: Any = None) -> TopK:
        """The answers of the model that learned from the rows' labels."""
        self.check_fitted()
        answers: TopK = self.model_.answer(X, k, limits, filters)
        return answers

    def _topk(self, X: Any, k: int, limits: Limits) -> TopK:
        return self.answer(X, k, limits)

    def _parts(self) -> list[Any]:
        return [self.model_]

    def state(self) -> State:
        """Everything the store needs, without the labels that rows got."""
        state = super().state()
        eagle = state.params["eagle"]
        kept = None if eagle is None else {**eagle.get_params(deep=False), "n_threads": None}
        params = {"eagle": kept, "choose": state.params["choose"], "baseline": state.params["baseline"]}
        return replace(state, params=params, parts={"model": self.model_.state()})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The model that `state` describes; raises `ModelError` if its fields contradict each other."""
        eagle = state.params.get("eagle")
        if eagle is not None:
            if not isinstance(eagle, dict):
                raise ModelError("the model's parameters of eagle are not a table: save it again")
            check_params(Eagle, eagle)
            eagle = Eagle(**eagle)
        return super().from_state(replace(state, params={**state.params, "eagle": eagle}))

    def _arrays(self) -> Mapping[str, Any]:
        return {}

    def _restore(self, state: State) -> None:
        inner = state.parts.get("model")
        if inner is None or inner.kind == self.kind or takes(inner.kind) != "features":
            raise ModelError("the model lacks its inner model: save it again")
        self.model_ = from_state(inner)
        self.model, self.imputed_ = unfitted(self.model_), None
        if (self.model_.n_features_in_, self.model_.n_labels_) != (self.n_features_in_, self.n_labels_):
            raise ModelError("the model and its inner model differ in features or labels: save it again")
