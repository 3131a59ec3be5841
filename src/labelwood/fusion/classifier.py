"""Combines several text classifiers into one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from annotated_types import Ge, Gt, Le, Lt
from numpy.typing import NDArray

from labelwood.arrays.topk import TopK, check_k, padded
from labelwood.contract.checks import check_params
from labelwood.contract.examples import Examples
from labelwood.contract.kinds import from_state, model_class, takes
from labelwood.contract.limits import NO_LIMITS, Limits
from labelwood.contract.params import Params, Threads
from labelwood.contract.text_model import TextModel
from labelwood.errors import LabelwoodError, ModelError, ParameterError
from labelwood.fusion.combining import Fusion
from labelwood.labels import inverse_propensities, label_frequencies

if TYPE_CHECKING:
    from labelwood.store import State


class FusedClassifier(TextModel):
    """Fuses text classifiers, such as a tree on tf-idf, which is better at frequent labels, and a dual encoder.

    The members learn from most of the rows. On the held-out rows, `Fusion` learns how likely their answers are to be
    right. Then the members learn again from all rows.

    Parameters:
        members: Unfitted classifiers, such as `TextClassifier` and `PrimeClassifier`. None means one of each of these.
        held_out: The share of rows to calibrate on.
        refit: Whether members learn again from all rows. This takes their training time a second time.
        tail: How much rare labels are preferred, from 0 to 1; see `Fusion`. None chooses it on the held-out rows.
        likely_first: Whether the most likely label comes first, even if other labels are rarer.
        candidates: How many labels each member returns. Only these labels can be answers, whatever k is.
        propensity_family: See `labelwood.labels.inverse_propensities`.
        seed: Decides which rows are held out.
        n_threads: How many threads the members use to learn and to answer. If not given, each member decides.

    Fitted attributes: `members_`, `fusion_` (its `gains_` are measured on the held-out rows), `n_labels_` and
    `labels_per_row_`.

    Example:
        >>> from labelwood import TextClassifier
        >>> texts = ["a dog barks", "red roses bloom"] * 20
        >>> model = FusedClassifier(members=[TextClassifier(), TextClassifier(model="centroid")])
        >>> model.fit(texts, np.eye(2)[[0, 1] * 20]).predict_topk(["the dog", "roses"], k=1).ids.ravel().tolist()
        [0, 1]
    """

    kind: ClassVar[str] = "fused"
    uses: ClassVar[frozenset[str]] = frozenset({"label_texts", "filters"})
    search_params: ClassVar[frozenset[str]] = frozenset({"candidates"})

    members_: list[Any]
    fusion_: Fusion
    learned_with_: Mapping[str, Any]  # the parameters at the time of `fit`
    n_labels_: int
    labels_per_row_: int

    def __init__(
        self,
        *,
        members: list[Any] | None = None,
        held_out: Annotated[float, Gt(0), Lt(1)] = 0.1,
        refit: bool = True,
        tail: Annotated[float, Ge(0), Le(1)] | None = None,
        likely_first: bool = True,
        candidates: Annotated[int, Ge(1)] = 100,
        propensity_family: Literal["default", "wikipedia", "amazon"] = "default",
        seed: Annotated[int, Ge(0)] = 0,
        n_threads: Threads = None,
    ) -> None:
        self.members = members
        self.held_out = held_out
        self.refit = refit
        self.tail = tail
        self.likely_first = likely_first
        self.candidates = candidates
        self.propensity_family = propensity_family
        self.seed = seed
        self.n_threads = n_threads

    def _fit(self, examples: Examples) -> None:
        wanted = _default_members() if self.members is None else self.members
        if not wanted or any(getattr(member, "takes", None) != "texts" for member in wanted):
            raise ParameterError("members must be classifiers of texts, such as TextClassifier and PrimeClassifier")
        rows, truth, pairs = examples.X, examples.Y.to_scipy(), examples.filters
        if pairs is None:
            pairs = np.zeros((0, 2), np.int64)
        held = self._choose_held_out(len(rows))
        seen, part, rest = truth[~held], *(rows.take(np.flatnonzero(which)) for which in (~held, held))
        given = {"label_texts": examples.label_texts, "filters": _pairs_of_rows(pairs, ~held)}
        members = [self._fit_copy(member, part, seen, given, "-part") for member in wanted]
        filtered, width = _pairs_of_rows(pairs, held), min(self.candidates, truth.shape[1])
        answers = [member.answer(rest, width, filters=filtered) for member in members]
        rarity = inverse_propensities(label_frequencies(seen), seen.shape[0], family=self.propensity_family)
        self.fusion_ = Fusion(tail=self.tail, likely_first=self.likely_first).fit(answers, truth[held], rarity)
        if self.refit:
            given = {"label_texts": examples.label_texts, "filters": pairs}
            members = [self._fit_copy(member, rows, truth, given) for member in wanted]
        self.members_ = members

    def _choose_held_out(self, n_rows: int) -> NDArray[np.bool_]:
        n_held = round(self.held_out * n_rows)
        if not 0 < n_held < n_rows:
            raise LabelwoodError(f"{n_rows} rows are too few to hold some out and learn from the rest: give more rows")
        held = np.zeros(n_rows, np.bool_)
        held[np.random.default_rng(self.seed).permutation(n_rows)[:n_held]] = True
        return held

    def _fit_copy(self, member: Any, texts: Any, Y: Any, given: dict[str, Any], suffix: str = "") -> Any:
        """A fitted copy of a member. `suffix` keeps its checkpoints apart from those of another training."""
        copy = _unfitted_copy(member, suffix)
        if self.n_threads is not None:
            copy.set_params(n_threads=self.n_threads)
        return copy.fit(texts, Y, **{name: value for name, value in given.items() if name in copy.uses})

    def answer(self, X: Any, k: int, limits: Limits = NO_LIMITS, filters: Any = None) -> TopK:
        """The best labels among those that at least one member returns."""
        self.check_fitted()
        k, (rows, _) = check_k(k, self.n_labels_), self._rows(X)
        width = min(self.candidates, self.n_labels_)  # does not depend on k, so the best labels do not either
        if self.n_threads is not None:
            self.use_threads(self.n_threads)
        every = replace(limits, min_score=-math.inf)  # a fused score can reach the minimum when a member's does not
        answers = [member.answer(rows, width, every, filters) for member in self.members_]
        top = self.fusion_.combine(answers, min(k, self.n_labels_))
        low = top.scores < limits.min_score
        return padded(TopK(np.where(low, -1, top.ids), np.where(low, np.float32(-np.inf), top.scores)), k)

    def _topk(self, X: Any, k: int, limits: Limits) -> TopK:
        return self.answer(X, k, limits)

    def _parts(self) -> list[Any]:
        return self.members_

    def _size(self) -> dict[str, Any]:
        return {"members": ", ".join(member.describe()["model"] for member in self.members_)}

    @property
    def writes(self) -> bool:
        """Whether `save` writes in this process: only if all members write."""
        return all(member.writes for member in getattr(self, "members_", ()))

    def state(self) -> State:
        """Everything the store needs."""
        from labelwood.store import State

        self.check_fitted()
        parts = {f"member-{number}": member.state() for number, member in enumerate(self.members_)}
        names = ("held_out", "refit", "tail", "likely_first", "candidates", "propensity_family", "seed")
        return State(
            kind=self.kind,
            params={name: self.learned_with_[name] for name in names},
            fitted={"n_labels": self.n_labels_, "labels_per_row": self.labels_per_row_, "n_members": len(parts)},
            parts={**parts, "fusion": self.fusion_.state()},
        )

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The model that `state` describes; raises `ModelError` if its fields contradict each other."""
        names = [f"member-{number}" for number in range(min(state.count("n_members"), len(state.parts)))]
        if (
            "members" in state.params
            or {*names, "fusion"} != state.parts.keys()
            or any(takes(state.parts[name].kind) != "texts" for name in names)
        ):
            raise ModelError("the model lacks its fusion or some of its members: save it again")
        check_params(cls, {**state.params, "members": []})
        members = [from_state(state.parts[name]) for name in names]
        model = cls(members=members, **state.params)
        model.learned_with_ = model.settled()
        model.members_, model.fusion_ = members, Fusion.from_state(state.parts["fusion"])
        model.n_labels_, model.labels_per_row_ = state.count("n_labels"), state.count("labels_per_row")
        if model.labels_per_row_ > model.n_labels_:
            raise ModelError("the model has more labels per row than labels: save it again")
        if model.fusion_.n_models_ != len(members) or model.fusion_.n_labels_ < model.n_labels_:
            raise ModelError("the model's fusion was fitted for other members or labels: save it again")
        if {member.n_labels_ for member in members} != {model.n_labels_}:
            raise ModelError("the model's members differ in the number of labels: save it again")
        return model


def _pairs_of_rows(pairs: NDArray[np.int64], which: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The pairs of the chosen rows, with rows numbered from 0 among the chosen ones."""
    some = pairs[which[pairs[:, 0]]]
    return np.column_stack([(np.cumsum(which) - 1)[some[:, 0]], some[:, 1]])


def _unfitted_copy(member: Any, suffix: str) -> Any:
    """An unfitted copy; `suffix` is added to its checkpoint folders and to those of its parts."""
    params = member.get_params(deep=False)
    for name, value in params.items():
        if name == "checkpoints" and value is not None:
            params[name] = f"{value}{suffix}"
        elif isinstance(value, Params):
            params[name] = _unfitted_copy(value, suffix)
        elif name == "members":
            params[name] = None if value is None else [_unfitted_copy(inner, suffix) for inner in value]
    return type(member)(**params)


def _default_members() -> list[Any]:
    return [model_class(name)() for name in ("text", "prime")]
