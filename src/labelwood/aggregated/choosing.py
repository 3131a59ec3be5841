"""How many iterations to take: what was learned from some groups is tried on others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.aggregated.assignment import best_cosines
from labelwood.aggregated.eagle import Eagle, learn, unit_features
from labelwood.aggregated.groups import GroupedLabels, without
from labelwood.base import shape_of
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.inputs import Floats
from labelwood.settings import check_params

CANDIDATES = (0, 1, 2, 5, 10, 20, 40)


@dataclass(frozen=True)
class IterationChoice:
    """The best number of iterations, and what each that was tried is worth.

    `scores` holds the chance that a group that has a label, and was not learned from, comes nearer to the label's
    vector than a group that does not; 0.5 is what guessing gives. `error` is the standard error of the best.

    Example:
        >>> IterationChoice(iterations=5, scores={0: 0.7, 5: 0.8}, error=0.01).iterations
        5
    """

    iterations: int
    scores: dict[int, float]
    error: float


def choose_iterations(
    X: Any,
    groups: Any,
    group_labels: Any,
    *,
    candidates: Sequence[int] = CANDIDATES,
    held_out: float = 0.2,
    eagle: Eagle | None = None,
    seed: int = 0,
) -> IterationChoice:
    """Tries numbers of iterations on groups that are held out, and takes the best; the smallest, if several are.

    A share `held_out` of each label's groups is not learned from; labels of one group only are left alone. `eagle` has
    the other parameters. The time is that of all candidates together.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> classes = rng.integers(5, size=400)
        >>> X = np.eye(5)[classes] + rng.normal(scale=0.2, size=(400, 5))
        >>> group_labels = np.eye(5)[classes].reshape(100, 4, 5).sum(axis=1)
        >>> choose_iterations(X, np.arange(400) // 4, group_labels).scores[20] > 0.8
        True
    """
    how = eagle or Eagle()
    check_params(Eagle, how.get_params(deep=False))
    if not 0 < held_out < 1 or not candidates or min(candidates) < 0:
        raise ParameterError("held_out must lie between 0 and 1, and candidates hold numbers that are not negative")
    rows = unit_features(X)
    watched, pairs = _hold_out(GroupedLabels.of(groups, group_labels, shape_of(rows)[0]), how, held_out, seed)
    if not len(pairs):
        raise LabelwoodError("no label has two groups, one of which could be held out: choose iterations yourself")
    wins = {t: _wins(best_cosines(watched, learn(rows, watched, how, t)[1]), pairs) for t in sorted(set(candidates))}
    scores = {t: float(won.mean()) for t, won in wins.items()}
    best = max(scores, key=lambda t: scores[t])
    return IterationChoice(best, scores, float(wins[best].std() / np.sqrt(len(pairs))))


def _hold_out(grouped: GroupedLabels, eagle: Eagle, share: float, seed: int) -> tuple[GroupedLabels, NDArray[np.int64]]:
    """Groups that count for nothing: some that have the label and some that do not, and pairs of one each."""
    weighed = eagle.weighed(grouped)
    held = np.random.default_rng(seed).random(len(weighed.labels.values)) < share
    held[weighed.labels.indptr[:-1][np.diff(weighed.labels.indptr) > 0]] = False  # something to learn from
    others = grouped.groups_without(seed + 1)
    pushed = without(grouped.groups_without(eagle.seed), others)
    learned = weighed.weighing(np.where(held, np.float32(0), weighed.labels.values))
    watched, origin = learned.joined(others, pushed) if eagle.negatives > 0 else learned.joined(others)
    pairs = _paired(np.flatnonzero(origin == 0)[held], np.flatnonzero(origin == 1), watched)
    return watched.pushing_away(origin == 2, eagle.negatives), pairs


def _paired(first: NDArray[np.int64], second: NDArray[np.int64], grouped: GroupedLabels) -> NDArray[np.int64]:
    """Each of the first with one of the second that has the same label; those without a partner are left out."""
    label_of = grouped.label_of
    starts = np.searchsorted(label_of[second], np.arange(grouped.n_labels + 1))
    counts = np.diff(starts)
    first = first[counts[label_of[first]] > 0]
    labels = label_of[first]
    turn = np.arange(len(first)) - np.searchsorted(labels, labels)  # its number among those of its label
    return np.stack([first, second[starts[labels] + turn % np.maximum(counts[labels], 1)]], axis=1)


def _wins(best: Floats, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    having, lacking = best[pairs[:, 0]], best[pairs[:, 1]]
    return np.where(having == lacking, 0.5, having > lacking)
