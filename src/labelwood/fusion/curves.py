"""Turns scores into probabilities: a rising curve for one model's scores, a logistic regression for several models."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
KNOTS = 32  # of a curve
_RIDGE = 1.0
_STEPS = 50


class Curve(NamedTuple):
    """The log-odds of a model's scores, linear between knots; they never fall. `absent` is used if there is no score.

    Example:
        >>> curve = Curve(np.array([0.0, 1.0]), np.array([-2.0, 2.0]), absent=-5.0)
        >>> curve(np.array([0.75, 3.0, np.nan]))
        array([ 1.,  2., -5.])
    """

    knots: Numbers
    odds: Numbers
    absent: float

    @classmethod
    def of(cls, scores: Numbers, right: NDArray[np.bool_]) -> Curve:
        """Learns a curve from scores, some of them NaN, and whether each label is right."""
        real = ~np.isnan(scores)
        some = scores[real & right] if (real & right).any() else scores[real]
        # Each bin holds the same number of right answers: they are the rare ones, so they decide the resolution.
        edges = np.unique(np.quantile(some, np.linspace(0, 1, KNOTS + 1)[1:-1])) if len(some) else np.zeros(1)
        bins = np.where(real, 1 + np.searchsorted(edges, scores), 0)
        total = np.bincount(bins, minlength=len(edges) + 2)
        hits = np.bincount(bins, right, minlength=len(edges) + 2)
        prior = (right.sum() + 0.5) / (len(right) + 1)  # the share of right answers, assumed for empty bins
        odds = np.log((hits + 2 * prior) / (total - hits + 2 * (1 - prior)))
        filled = np.flatnonzero(total[1:]) + 1
        centres = np.bincount(bins, np.where(real, scores, 0), minlength=len(edges) + 2)[filled] / total[filled]
        if not len(filled):
            return cls(np.zeros(KNOTS), np.zeros(KNOTS), float(odds[0]))
        spare = 0, KNOTS - len(filled)
        rising = np.pad(np.maximum.accumulate(odds[filled]), spare, mode="edge")
        return cls(np.pad(centres, spare, mode="edge"), rising, float(odds[0]))

    def __call__(self, scores: Numbers) -> Numbers:
        """The log-odds of scores."""
        return np.where(np.isnan(scores), self.absent, np.interp(scores, self.knots, self.odds))


class Regression(NamedTuple):
    """A logistic regression on standardised features.

    Example:
        >>> x = np.linspace(-2, 2, 200)[:, None]
        >>> learned = Regression.of(x, x[:, 0] > 0)
        >>> bool(learned(np.array([[1.0]]))[0] > 0.9)
        True
    """

    means: Numbers
    scales: Numbers
    weights: Numbers  # the intercept first

    @classmethod
    def of(cls, X: Numbers, right: NDArray[np.bool_]) -> Regression:
        """Fits by Newton's method; halves a step as long as it would increase the cost."""
        scales = X.std(axis=0)
        model = cls(X.mean(axis=0), np.where(scales > 1e-9, scales, 1.0), np.zeros(X.shape[1] + 1))
        Z = model._standardise(X)
        cost = model._cost(Z, right)
        for _ in range(_STEPS):
            probability = _sigmoid(Z @ model.weights)
            gradient = Z.T @ (probability - right) + _RIDGE * model.weights
            hessian = (Z * (probability * (1 - probability))[:, None]).T @ Z + _RIDGE * np.eye(Z.shape[1])
            step = np.linalg.solve(hessian, gradient)
            while (moved := model._replace(weights=model.weights - step))._cost(Z, right) > cost and abs(
                step
            ).max() > 1e-9:
                step /= 2
            model, before, cost = moved, cost, moved._cost(Z, right)
            if before - cost <= 1e-9 * before:
                break
        return model

    def __call__(self, X: Numbers) -> Numbers:
        """Probabilities. Unlike with a matrix product, a row's value does not depend on the other rows."""
        return _sigmoid(np.einsum("ij,j->i", self._standardise(X), self.weights))

    def _standardise(self, X: Numbers) -> Numbers:
        return np.column_stack([np.ones(len(X)), (X - self.means) / self.scales])

    def _cost(self, Z: Numbers, right: NDArray[np.bool_]) -> float:
        margins = Z @ self.weights
        penalty = _RIDGE / 2 * float(self.weights @ self.weights)
        return float(np.logaddexp(0, np.where(right, -margins, margins)).sum()) + penalty


def _sigmoid(x: Numbers) -> Numbers:
    return 0.5 * (1 + np.tanh(0.5 * x))
