"""Tries both ways and says which of them predicts the labels of held-out groups better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from labelwood.arrays.rows import Sparse, as_features, shape_of
from labelwood.arrays.topk import TopK
from labelwood.contract.model import Model
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.groups.eagle import Eagle
from labelwood.groups.grouped import as_counts, as_groups, baseline_labels

_CANDIDATES = 20  # labels of each row that count for its group


@dataclass(frozen=True)
class Trial:
    """How well labels of held-out groups are predicted, after training in either way.

    Fields:
        use: The better way, "assignment" or "baseline".
        assignment, baseline: The share of right labels among the best few of a group, in per cent.

    Example:
        >>> Trial("baseline", assignment=60.2, baseline=65.6).use
        'baseline'
    """

    use: Literal["assignment", "baseline"]
    assignment: float
    baseline: float


def try_both(
    X: Any,
    groups: Any,
    group_labels: Any,
    *,
    eagle: Eagle | None = None,
    model: Model | None = None,
    held_out: float = 0.2,
    k: int = 5,
    seed: int = 0,
) -> Trial:
    """Assigns labels by `eagle` and by the baseline, trains `model` on each, and says which is better.

    A share `held_out` of the groups is held out. The model predicts their rows one by one. A group's labels are those
    with the best score in one of its rows, or with the best mean score; the better of the two counts, measured by P@k.
    This finds what `advice` cannot: whether rows with different words have the same topic. The model is a
    `TreeClassifier` if none is given. It is trained twice; with the baseline that may take long.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> classes = rng.integers(8, size=400)
        >>> X = np.eye(8)[classes] + rng.normal(scale=0.1, size=(400, 8))
        >>> group_labels = np.eye(8)[classes].reshape(100, 4, 8).sum(axis=1)
        >>> try_both(X, np.arange(400) // 4, group_labels, k=3).use
        'assignment'
    """
    if not 0 < held_out < 1 or k < 1:
        raise ParameterError("held_out must be between 0 and 1, and k at least 1")
    features = as_features(X)
    rows = features.to_scipy() if isinstance(features, Sparse) else features
    counts = as_counts(group_labels).to_scipy()
    members = as_groups(groups, shape_of(features)[0], counts.shape[0]).to_scipy()
    held = np.random.default_rng(seed).random(counts.shape[0]) < held_out
    if held.all() or not held.any():
        raise LabelwoodError(
            f"{counts.shape[0]} group(s) are too few to hold some out and learn from others: give more"
        )
    learned = np.flatnonzero(members[~held].sum(axis=0) > 0)
    own = members[~held][:, learned].T.tocsr()
    given = {
        "assignment": (eagle or Eagle()).fit_transform(rows[learned], own, counts[~held]),
        "baseline": baseline_labels(own, counts[~held]),
    }
    found = {
        way: _precision(_fresh(model).fit(rows[learned], Y), rows, members[held], counts[held], k)
        for way, Y in given.items()
    }
    return Trial("assignment" if found["assignment"] >= found["baseline"] else "baseline", **found)


def _fresh(model: Model | None) -> Model:
    from labelwood.linear.classifier import TreeClassifier

    return TreeClassifier() if model is None else type(model)(**model.get_params(deep=False))


def _precision(model: Model, rows: Any, members: Any, counts: Any, k: int) -> float:
    """P@k of groups, in per cent."""
    from labelwood.metrics import evaluate

    asked = members.tocoo()
    top = model.predict_topk(rows[asked.col], _CANDIDATES)
    truth = counts[:, : model.n_labels_]
    answers = (joined(top, asked.row, members.shape[0], k, how) for how in ("best", "mean"))
    return max(float(evaluate(answer, truth, ks=(k,), metrics=("P",))[f"P@{k}"]) for answer in answers)


def joined(top: TopK, groups: NDArray[Any], n_groups: int, k: int, how: Literal["best", "mean"]) -> TopK:
    """The best labels of groups, from the answers for their rows.

    A label's score is its best score in any row of the group, or its mean score. For the mean, it scores 0 in rows that
    do not have it among their answers.

    Example:
        >>> top = TopK(np.array([[0, 1], [1, 2]]), np.array([[0.9, 0.4], [0.8, 0.1]]))
        >>> [joined(top, np.array([0, 0]), 1, 2, how).ids.tolist() for how in ("best", "mean")]
        [[[0, 1]], [[1, 0]]]
    """
    there = top.ids.ravel() >= 0
    scores = top.scores.ravel()[there]
    n_labels = int(top.ids.max(initial=0)) + 1
    pairs = np.repeat(groups, top.ids.shape[1]).astype(np.int64) * n_labels + top.ids.ravel()
    kinds, places = np.unique(pairs[there], return_inverse=True)
    totals = np.full(len(kinds), -np.inf)
    if how == "best":
        np.maximum.at(totals, places, scores)
    else:
        totals = np.bincount(places, weights=scores, minlength=len(kinds))
    of_group, labels = kinds // n_labels, kinds % n_labels
    order = np.lexsort((-totals, of_group))
    ranks = np.arange(len(order)) - np.searchsorted(of_group[order], of_group[order])
    chosen, places = order[ranks < k], ranks[ranks < k]
    ids, best = np.full((n_groups, k), -1, np.int32), np.zeros((n_groups, k), np.float32)
    ids[of_group[chosen], places] = labels[chosen]
    best[of_group[chosen], places] = totals[chosen]
    return TopK(ids, best)
