"""Several classifiers of texts that answer as one."""

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
    """Fuses classifiers of texts, such as a tree on tf-idf, which is ahead on frequent labels, and a dual encoder.

    The members learn from most rows; on the others, which they have not seen, `Fusion` learns how likely their answers
    are to be right. Then the members learn again from all rows.

    Parameters:
        members: Classifiers that are not fitted yet: `TextClassifier`, `PrimeClassifier`; None for one of each.
        held_out: The share of rows to calibrate on.
        refit: Whether members learn again from all rows, which takes their training time once more.
        tail: How much rare labels are preferred, from 0 to 1; see `Fusion`. None chooses on the held-out rows.
        likely_first: Whether the most likely answer comes first, however rare others are.
        candidates: How many answers each member is asked for; what none of them names is no answer, whatever k is.
        propensity_family: See `labelwood.labels.inverse_propensities`.
        seed: Which rows are held out depends on it.
        n_threads: How many threads the members use, to learn and to answer; what they say themselves if not given.

    Fitted attributes: `members_`, `fusion_` (with `gains_`, what it gained on held-out rows), `n_labels_` and
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
        judged = self._held_out(len(rows))
        seen, part, rest = truth[~judged], *(rows.take(np.flatnonzero(which)) for which in (~judged, judged))
        given = {"label_texts": examples.label_texts, "filters": _of_rows(pairs, ~judged)}
        members = [self._learned(member, part, seen, given, "-part") for member in wanted]
        barred, width = _of_rows(pairs, judged), min(self.candidates, truth.shape[1])
        answers = [member.answer(rest, width, filters=barred) for member in members]
        rarity = inverse_propensities(label_frequencies(seen), seen.shape[0], family=self.propensity_family)
        self.fusion_ = Fusion(tail=self.tail, likely_first=self.likely_first).fit(answers, truth[judged], rarity)
        if self.refit:
            given = {"label_texts": examples.label_texts, "filters": pairs}
            members = [self._learned(member, rows, truth, given) for member in wanted]
        self.members_ = members

    def _held_out(self, n_rows: int) -> NDArray[np.bool_]:
        n_judged = round(self.held_out * n_rows)
        if not 0 < n_judged < n_rows:
            raise LabelwoodError(f"of {n_rows} rows none are left to learn from or to judge by: give more of them")
        judged = np.zeros(n_rows, np.bool_)
        judged[np.random.default_rng(self.seed).permutation(n_rows)[:n_judged]] = True
        return judged

    def _learned(self, member: Any, texts: Any, Y: Any, given: dict[str, Any], suffix: str = "") -> Any:
        """A copy, fitted with what it makes use of. Its checkpoints are not those of another training."""
        copy = _copied(member, suffix)
        if self.n_threads is not None:
            copy.set_params(n_threads=self.n_threads)
        return copy.fit(texts, Y, **{name: value for name, value in given.items() if name in copy.uses})

    def answer(self, X: Any, k: int, limits: Limits = NO_LIMITS, filters: Any = None) -> TopK:
        """Of those labels that any member has among its best."""
        self.check_fitted()
        k, (rows, _) = check_k(k, self.n_labels_), self._rows(X)
        width = min(self.candidates, self.n_labels_)  # for any k, so that the first answers do not depend on it
        if self.n_threads is not None:
            self.use_threads(self.n_threads)
        every = replace(limits, min_score=-math.inf)  # a fused score may be high enough although a member's is not
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
        """Whether `save` does: where its members do."""
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
        """The model that `state` describes; raises `ModelError` where its fields contradict each other."""
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
            raise ModelError("the model's rows have more labels than there are: save it again")
        if model.fusion_.n_models_ != len(members) or model.fusion_.n_labels_ < model.n_labels_:
            raise ModelError("the model's fusion is of other members or labels than it has: save it again")
        if {member.n_labels_ for member in members} != {model.n_labels_}:
            raise ModelError("the model's members differ in the number of labels: save it again")
        return model


def _of_rows(pairs: NDArray[np.int64], which: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The pairs of some rows, which are then counted anew."""
    some = pairs[which[pairs[:, 0]]]
    return np.column_stack([(np.cumsum(which) - 1)[some[:, 0]], some[:, 1]])


def _copied(member: Any, suffix: str) -> Any:
    """A copy that is not fitted; `suffix` is added to the folders of checkpoints, its own and those of its parts."""
    params = member.get_params(deep=False)
    for name, value in params.items():
        if name == "checkpoints" and value is not None:
            params[name] = f"{value}{suffix}"
        elif isinstance(value, Params):
            params[name] = _copied(value, suffix)
        elif name == "members":
            params[name] = None if value is None else [_copied(inner, suffix) for inner in value]
    return type(member)(**params)


def _default_members() -> list[Any]:
    return [model_class(name)() for name in ("text", "prime")]
