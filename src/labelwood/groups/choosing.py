"""Chooses parameters for assigning labels: learns from some groups and tests on held-out ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.arrays.rows import Features, from_scipy, shape_of
from labelwood.contract.checks import check_params
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.groups.assignment import best_cosines
from labelwood.groups.eagle import Eagle, learn, unit_features
from labelwood.groups.grouped import GroupedLabels, without

# The published method with fewer or no iterations, and negatives of several strengths.
CANDIDATES: tuple[dict[str, Any], ...] = (
    *({"iterations": iterations} for iterations in (0, 5, 20)),
    *(
        {"iterations": 20, "step": step, "negatives": negatives, "leave_out": True}
        for negatives in (0.5, 1.0, 2.0)
        for step in (0.3, 1.0)
    ),
)


@dataclass(frozen=True)
class Scored:
    """Parameters of `Eagle` and their score on held-out groups.

    `score` is the probability that a held-out group with a label is nearer to the label's vector than a group without
    it; random vectors have 0.5. `error` is the standard error of the score.

    Example:
        >>> Scored({"iterations": 5}, score=0.8, error=0.01).score
        0.8
    """

    params: dict[str, Any]
    score: float
    error: float

    def describe(self) -> str:
        """The parameters as text."""
        return ", ".join(f"{name}={value}" for name, value in self.params.items())


@dataclass(frozen=True)
class EagleChoice:
    """The best `Eagle`, unfitted, and the scores of all candidates.

    Example:
        >>> EagleChoice(Eagle(iterations=5), (Scored({"iterations": 5}, 0.8, 0.01),)).best.describe()
        'iterations=5'
    """

    eagle: Eagle
    tried: tuple[Scored, ...]

    @property
    def best(self) -> Scored:
        """The first candidate with the highest score."""
        return max(self.tried, key=lambda each: each.score)


def choose_eagle(
    X: Any,
    groups: Any,
    group_labels: Any,
    *,
    candidates: Sequence[Mapping[str, Any]] = CANDIDATES,
    held_out: float = 0.2,
    n_labels: int = 1000,
    eagle: Eagle | None = None,
    seed: int = 0,
) -> EagleChoice:
    """Tests parameters of `Eagle` on held-out groups and returns the best ones; on a tie, the first.

    It draws `n_labels` labels at random from those with at least two groups, and holds out a share `held_out` of each
    label's groups. It needs only the labels of groups. `eagle` has the parameters that `candidates` do not name; if it
    is not given, a label that a group was given c times goes to c rows. Every candidate is fitted once.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> classes = rng.integers(5, size=400)
        >>> X = np.eye(5)[classes] + rng.normal(scale=0.2, size=(400, 5))
        >>> group_labels = np.eye(5)[classes].reshape(100, 4, 5).sum(axis=1)
        >>> found = choose_eagle(X, np.arange(400) // 4, group_labels)
        >>> Y = found.eagle.fit_transform(X, np.arange(400) // 4, group_labels)
        >>> float((Y.toarray() * np.eye(5)[classes]).sum() / Y.sum()) > 0.9  # most labels went to the right rows
        True
    """
    if not 0 < held_out < 1 or n_labels < 1 or not candidates:
        raise ParameterError(
            "held_out must be between 0 and 1, n_labels at least 1, and candidates must hold a set of parameters"
        )
    basis = (eagle or Eagle(repeats="topc")).get_params(deep=False)
    for params in candidates:
        check_params(Eagle, {**basis, **params})
    rows = unit_features(X)
    grouped = _sample_labels(GroupedLabels.of(groups, group_labels, shape_of(rows)[0]), n_labels, seed)
    tried = []
    for params in candidates:
        candidate = Eagle(**{**basis, **params})
        won = _compare_pairs(rows, candidate, *_hold_out(grouped, candidate, held_out, seed))
        tried.append(Scored(dict(params), float(won.mean()), float(won.std() / np.sqrt(len(won)))))
    best = max(tried, key=lambda each: each.score)
    return EagleChoice(Eagle(**{**basis, **best.params}), tuple(tried))


def _sample_labels(grouped: GroupedLabels, n_labels: int, seed: int) -> GroupedLabels:
    """A random part of the labels. The vectors of labels do not depend on each other, so a part is enough."""
    usable = np.flatnonzero(np.diff(grouped.labels.indptr) > 1)
    chosen = np.sort(np.random.default_rng(seed).permutation(usable)[:n_labels])
    return GroupedLabels(from_scipy(grouped.labels.to_scipy()[chosen]), grouped.groups)


def _hold_out(grouped: GroupedLabels, eagle: Eagle, share: float, seed: int) -> tuple[GroupedLabels, NDArray[np.int64]]:
    """Adds groups with weight zero, some with the label and some without it; returns also pairs of one of each.

    The same seed holds out the same groups for every candidate.
    """
    weighed = eagle.weigh_groups(grouped)
    held = np.random.default_rng(seed).random(len(weighed.labels.values)) < share
    held[weighed.labels.indptr[:-1][np.diff(weighed.labels.indptr) > 0]] = False  # keep a group to learn from
    others = grouped.groups_without(seed + 1)
    pushed = without(grouped.groups_without(eagle.seed), others)
    learned = weighed.with_values(np.where(held, np.float32(0), weighed.labels.values))
    watched, origin = learned.with_groups(others, pushed) if eagle.negatives > 0 else learned.with_groups(others)
    pairs = _pair_by_label(np.flatnonzero(origin == 0)[held], np.flatnonzero(origin == 1), watched)
    return watched.push_away(origin == 2, eagle.negatives), pairs


def _pair_by_label(first: NDArray[np.int64], second: NDArray[np.int64], grouped: GroupedLabels) -> NDArray[np.int64]:
    """Pairs each of the first with one of the second that has the same label, if there is one."""
    label_of = grouped.label_of
    starts = np.searchsorted(label_of[second], np.arange(grouped.n_labels + 1))
    counts = np.diff(starts)
    first = first[counts[label_of[first]] > 0]
    labels = label_of[first]
    turn = np.arange(len(first)) - np.searchsorted(labels, labels)  # the number within its label
    return np.stack([first, second[starts[labels] + turn % np.maximum(counts[labels], 1)]], axis=1)


def _compare_pairs(
    rows: Features, eagle: Eagle, watched: GroupedLabels, pairs: NDArray[np.int64]
) -> NDArray[np.float64]:
    """For each pair 1 if the group with the label is nearer to its vector, 0 if not, one half if they are equal."""
    if not len(pairs):
        raise LabelwoodError("no label has two groups, so none can be held out: choose the parameters yourself")
    best = best_cosines(watched, learn(rows, watched, eagle)[1])
    having, lacking = best[pairs[:, 0]], best[pairs[:, 1]]
    return np.where(having == lacking, 0.5, having > lacking)
