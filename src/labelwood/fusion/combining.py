"""Combines the answers of several models into one list, by the probability that each answer is right.

    answers of each model ──▶ candidates: every label that a model returned
    scores ──curves──▶ log-odds ──┐
    ranks, distances to the best ─┼── logistic regression ──▶ probability × inverse propensity^tail ──▶ TopK
    inverse propensities ─────────┘

Curves and weights are learned on rows that the models were not trained on: on its own training rows a model is too
confident, and some models more than others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from labelwood.arrays.rows import Sparse, as_labels
from labelwood.arrays.topk import TopK, check_k, padded
from labelwood.arrays.values import real_vector
from labelwood.contract.checks import check_params
from labelwood.contract.params import Params
from labelwood.errors import LabelwoodError, ModelError, not_fitted
from labelwood.fusion.curves import KNOTS, Curve, Numbers, Regression

if TYPE_CHECKING:
    from labelwood.store import State

Ids = NDArray[np.int64]
_BLOCK = 4096  # rows whose candidates are in memory at a time
_CHUNK = 1 << 16  # candidates whose features are in memory at a time
_TAILS = tuple(round(0.05 * i, 2) for i in range(21))
_METRICS = ("P@1", "P@5", "PSP@5")
_TOP_RANKS = 10  # the regression learns only from labels that a model ranks this high: the others are too many


class Candidates(NamedTuple):
    """Every label that a model returned, in order of rows and then labels.

    Example:
        >>> first = TopK(np.int32([[2, 0]]), np.float32([[0.9, 0.1]]))
        >>> second = TopK(np.int32([[0, -1]]), np.float32([[0.5, -np.inf]]))
        >>> found = candidates([first, second])
        >>> found.labels.tolist(), found.scores.round(1).tolist(), found.ranks.tolist()
        ([0, 2], [[0.1, 0.5], [0.9, nan]], [[1, 0], [0, 2]])
    """

    rows: Ids
    labels: Ids
    scores: Numbers  # candidates × models, NaN where a model does not name the label
    best: Numbers  # candidates × models: the score of the model's best answer for the row, or NaN
    ranks: Ids  # candidates × models, from 0; the model's k where it does not name the label


def candidates(answers: Sequence[TopK]) -> Candidates:
    """All answers of all models; each pair of a row and a label comes once.

    Example:
        >>> candidates([TopK(np.int32([[1], [0]]), np.float32([[0.9], [0.1]]))]).rows
        array([0, 1])
    """
    width = max(1, *(int(top.ids.max(initial=0)) + 1 for top in answers))
    rows = np.arange(len(answers[0]), dtype=np.int64)[:, None]
    named = [(rows * width + top.ids)[top.ids >= 0] for top in answers]
    pairs = np.unique(np.concatenate(named))
    shape = len(pairs), len(answers)
    scores, best = np.full(shape, np.nan), np.full(shape, np.nan)
    ranks = np.repeat([[top.k for top in answers]], len(pairs), axis=0)
    for m, (top, mine) in enumerate(zip(answers, named, strict=True)):
        real, place = top.ids >= 0, np.searchsorted(pairs, mine)
        scores[place, m] = top.scores[real]
        ranks[place, m] = np.broadcast_to(np.arange(top.k), top.ids.shape)[real]
        highest = np.where(real, top.scores, -np.inf).max(axis=1)
        best[:, m] = np.where(np.isfinite(highest), highest, np.nan)[pairs // width]
    return Candidates(pairs // width, pairs % width, scores, best, ranks)


def features(found: Candidates, curves: Sequence[Curve], inv_propensity: Numbers) -> Numbers:
    """The features of candidates for the regression.

    For each model: the log-odds of its score, their distance to the log-odds of the row's best score, the logarithm of
    the rank, and whether the label is missing. Then the rarity of the label, and the products of any two of these: how
    far to trust a model depends on the other models and on the label's rarity.

    Example:
        >>> found = candidates([TopK(np.int32([[1, 0]]), np.float32([[0.75, 0.25]]))])
        >>> curve = Curve(np.array([0.0, 1.0]), np.array([-2.0, 2.0]), absent=-5.0)
        >>> features(found, [curve], np.array([1.0, np.e]))[:, :5].round(2)
        array([[-1.  ,  2.  ,  0.69,  0.  ,  0.  ],
               [ 1.  ,  0.  ,  0.  ,  0.  ,  1.  ]])
    """
    odds = np.column_stack([curve(found.scores[:, m]) for m, curve in enumerate(curves)])
    best = np.column_stack([curve(found.best[:, m]) for m, curve in enumerate(curves)])
    rarity = np.log(inv_propensity[found.labels])
    each = np.column_stack([odds, best - odds, np.log1p(found.ranks), np.isnan(found.scores), rarity])
    first, second = np.triu_indices(each.shape[1])
    return np.column_stack([each, each[:, first] * each[:, second]])


def n_features(n_models: int) -> int:
    """How many features a candidate has.

    Example:
        >>> n_features(2)
        54
    """
    each = 4 * n_models + 1
    return each + each * (each + 1) // 2


class Fusion(Params):
    """Combines the answers of several models, calibrated on rows that they were not trained on.

    The score of an answer is its probability of being right, times the label's inverse propensity to the power `tail`.
    With tail 0 the score is the probability itself, which is best for precision. A larger tail ranks rare labels
    higher: each is less likely to be right, but tells more. By default the most likely label still comes first.

    Parameters:
        tail: Between 0 and 1. None chooses it on the calibration rows: the smallest gain over the best single model
            among P@1, P@5 and PSP@5 should be as large as possible.
        likely_first: Whether the most likely label always comes first; it then gets the row's highest score. Otherwise
            `tail` also decides the first label.

    Fitted attributes: `n_models_`, `n_labels_`, `tail_`, and `gains_`: by how many points the fused answers beat the
    best single model on the calibration rows, in each of these metrics.

    Example:
        >>> from labelwood.labels import inverse_propensities
        >>> Y = np.eye(4)[[0, 1, 2, 3] * 10]
        >>> good = TopK(np.tile(np.int32([[0], [1], [2], [3]]), (10, 1)), np.ones((40, 1), np.float32))
        >>> bad = TopK(np.tile(np.int32([[1], [1], [3], [3]]), (10, 1)), np.ones((40, 1), np.float32))
        >>> fusion = Fusion().fit([good, bad], Y, inverse_propensities([10, 10, 10, 10], n_rows=40))
        >>> fusion.combine([good, bad], k=1).ids[:4].ravel().tolist()
        [0, 1, 2, 3]
    """

    kind: ClassVar[str] = "fusion"

    n_models_: int
    n_labels_: int
    tail_: float
    gains_: dict[str, float]
    curves_: list[Curve]
    regression_: Regression
    inv_propensity_: Numbers  # of each label

    def __init__(self, *, tail: Annotated[float, Ge(0), Le(1)] | None = None, likely_first: bool = True) -> None:
        self.tail = tail
        self.likely_first = likely_first

    def fit(self, answers: Sequence[TopK], Y: Any, inv_propensity: Any) -> Self:
        """Learns from each model's answers for the same rows, on which no model was trained, and their labels `Y`.

        `inv_propensity` is what `labelwood.labels.inverse_propensities` returns, or an array with one value per label.
        Ask each model for more answers than you need in the end, such as 100: a label that one model ranks low may be
        ranked high by another.
        """
        check_params(type(self), self.get_params())
        answers = _check_answers(answers)
        truth = as_labels(Y, len(answers[0]))
        found = candidates(answers)
        if not len(found.rows):
            raise LabelwoodError("there is no answer to learn from: give at least one row for which a model has one")
        self.inv_propensity_ = _propensities(inv_propensity, max(truth.n_cols, int(found.labels.max()) + 1))
        right = _are_right(found, truth)
        self.curves_ = [Curve.of(found.scores[:, m], right) for m in range(len(answers))]
        top_ranked = np.flatnonzero(found.ranks.min(axis=1) < _TOP_RANKS)
        X = features(_subset(found, top_ranked), self.curves_, self.inv_propensity_)
        self.regression_ = Regression.of(X, right[top_ranked])
        self.n_models_, self.n_labels_ = len(answers), len(self.inv_propensity_)
        probabilities = self._probabilities(found)
        tails = _TAILS if self.tail is None else (float(self.tail),)
        ranked = (self._rank(found, probabilities, tail, truth.n_rows, 5) for tail in tails)
        fused = [_metrics(top, truth, self.inv_propensity_) for top in ranked]
        single = [_metrics(top, truth, self.inv_propensity_) for top in answers]
        gains = [{name: f[name] - max(s[name] for s in single) for name in f} for f in fused]
        # The smallest gain decides; if several tails have the same one, the next smallest does.
        which = max(range(len(gains)), key=lambda i: sorted(gains[i].values()))
        self.tail_, self.gains_ = tails[which], gains[which]
        return self

    def _probabilities(self, found: Candidates) -> Numbers:
        blocks = [slice(at, at + _CHUNK) for at in range(0, max(len(found.rows), 1), _CHUNK)]
        parts = (features(_subset(found, block), self.curves_, self.inv_propensity_) for block in blocks)
        return np.concatenate([self.regression_(X) for X in parts])

    def _rank(self, found: Candidates, probabilities: Numbers, tail: float, n_rows: int, k: int) -> TopK:
        scores = probabilities * self.inv_propensity_[found.labels] ** tail
        if not self.likely_first or not len(scores):
            return _top_k(found, scores, scores, n_rows, k)
        starts = np.flatnonzero(np.diff(found.rows, prepend=-1))
        most_likely = np.lexsort((-probabilities, found.rows))[starts]
        order = scores.copy()
        order[most_likely] = np.inf
        scores[most_likely] = np.maximum.reduceat(scores, starts)
        return _top_k(found, scores, order, n_rows, k)

    def combine(self, answers: Sequence[TopK], k: int = 5) -> TopK:
        """The `k` best labels of each row, best first. Give the models' answers in the same order as to `fit`."""
        self.check_fitted()
        answers = _check_answers(answers)
        if len(answers) != self.n_models_:
            raise LabelwoodError(
                f"there are answers of {len(answers)} models: give those of the {self.n_models_} fused models"
            )
        k, n = check_k(k), len(answers[0])
        blocks = [slice(at, at + _BLOCK) for at in range(0, max(n, 1), _BLOCK)]
        tops = [self._combine_block([TopK(a.ids[rows], a.scores[rows]) for a in answers], k) for rows in blocks]
        return TopK(np.concatenate([top.ids for top in tops]), np.concatenate([top.scores for top in tops]))

    def _combine_block(self, answers: Sequence[TopK], k: int) -> TopK:
        found = candidates(answers)
        if len(found.labels) and int(found.labels.max()) >= self.n_labels_:
            raise LabelwoodError(
                f"an answer is label {found.labels.max()}, but the fused models had {self.n_labels_} labels: "
                "give answers of these models"
            )
        return self._rank(found, self._probabilities(found), self.tail_, len(answers[0]), k)

    def check_fitted(self) -> None:
        """Raises `NotFittedError` unless `fit` has run."""
        if not hasattr(self, "n_models_"):
            raise not_fitted(self)

    def state(self) -> State:
        """Everything the store needs."""
        from labelwood.store import State

        self.check_fitted()
        arrays = {
            "knots": np.stack([curve.knots for curve in self.curves_]),
            "odds": np.stack([curve.odds for curve in self.curves_]),
            "absent": np.array([curve.absent for curve in self.curves_]),
            "inv_propensity": self.inv_propensity_,
            **self.regression_._asdict(),
        }
        fitted = {"tail": self.tail_, "gains": self.gains_, "n_models": self.n_models_}
        return State(kind=self.kind, params=self.get_params(), fitted=fitted, arrays=arrays)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The fusion that `state` describes; raises `ModelError` if its fields contradict each other."""
        check_params(cls, state.params)
        fusion, n = cls(**state.params), state.count("n_models")
        knots, odds = state.array("knots", np.float64, 2), state.array("odds", np.float64, 2)
        vectors = [state.array(name, np.float64, 1) for name in ("absent", "means", "scales", "weights")]
        fusion.inv_propensity_ = state.array("inv_propensity", np.float64, 1)
        tail, width = state.fitted.get("tail"), n_features(n)
        shapes = [a.shape for a in (knots, odds, *vectors)]
        if shapes != [(n, KNOTS), (n, KNOTS), (n,), (width,), (width,), (width + 1,)]:
            raise ModelError("the model's fusion has arrays for another number of models: save the model again")
        finite = all(np.isfinite(a).all() for a in (knots, odds, *vectors, fusion.inv_propensity_))
        rising = (np.diff(knots) >= 0).all() and (vectors[2] > 0).all() and (fusion.inv_propensity_ > 0).all()
        if not finite or not rising or not isinstance(tail, float) or not 0 <= tail <= 1:
            raise ModelError("the model's fusion holds numbers that cannot be right: save the model again")
        fusion.curves_ = [Curve(k, o, float(a)) for k, o, a in zip(knots, odds, vectors[0], strict=True)]
        fusion.regression_ = Regression(*vectors[1:])
        fusion.n_models_, fusion.n_labels_, fusion.tail_ = n, len(fusion.inv_propensity_), tail
        gains = state.fitted.get("gains")
        fusion.gains_ = dict(gains) if isinstance(gains, dict) else {}
        return fusion


def _subset(found: Candidates, which: Any) -> Candidates:
    return Candidates(*(column[which] for column in found))


def _check_answers(answers: Sequence[TopK]) -> list[TopK]:
    from labelwood.metrics.predictions import as_topk

    if isinstance(answers, TopK) or not isinstance(answers, Sequence):
        raise LabelwoodError("answers must be a list of each model's TopK for the same rows")
    answers = [as_topk(top) for top in answers]
    if len({len(top) for top in answers}) != 1:
        raise LabelwoodError(
            f"answers have {', '.join(str(len(top)) for top in answers) or 'no'} rows: "
            "give a list of each model's TopK for the same rows"
        )
    if any(np.isnan(top.scores[top.ids >= 0]).any() for top in answers):
        raise LabelwoodError("answers have NaN scores: replace or remove those answers first")
    return answers


def _propensities(inv_propensity: Any, n_labels: int) -> Numbers:
    if hasattr(inv_propensity, "for_labels"):
        return np.asarray(inv_propensity.for_labels(n_labels), np.float64)
    values = real_vector(inv_propensity, "inv_propensity")
    if len(values) < n_labels or not (np.isfinite(values) & (values > 0)).all():
        raise LabelwoodError(f"inv_propensity must be {n_labels} numbers above zero: pass inverse_propensities(…)")
    return values


def _are_right(found: Candidates, truth: Sparse) -> NDArray[np.bool_]:
    width = max(truth.n_cols, int(found.labels.max()) + 1)
    true = np.repeat(np.arange(truth.n_rows), np.diff(truth.indptr)) * np.int64(width) + truth.indices
    pairs = found.rows * width + found.labels
    if not len(true):
        return np.zeros(len(pairs), np.bool_)
    right: NDArray[np.bool_] = true[np.minimum(np.searchsorted(true, pairs), len(true) - 1)] == pairs
    return right


def _top_k(found: Candidates, scores: Numbers, by: Numbers, n_rows: int, k: int) -> TopK:
    """The k best candidates of each row; ties keep the candidates' order, which is that of labels."""
    order = np.lexsort((-by, found.rows))
    rows = found.rows[order]
    place = np.arange(len(rows)) - np.searchsorted(rows, rows)
    kept = place < k
    ids, best = np.full((n_rows, k), -1, np.int32), np.full((n_rows, k), -np.inf, np.float32)
    where = rows[kept], place[kept]
    ids[where], best[where] = found.labels[order[kept]], scores[order[kept]]
    return TopK(ids, best)


def _metrics(top: TopK, truth: Sparse, inv_propensity: Numbers) -> dict[str, float]:
    from labelwood.metrics import evaluate

    Y = truth.to_scipy()
    Y.resize(truth.n_rows, len(inv_propensity))
    found = evaluate(padded(top, 5), Y, ks=(1, 5), metrics=("P", "PSP"), inv_propensity=inv_propensity)
    return {name: found[name] for name in _METRICS}
