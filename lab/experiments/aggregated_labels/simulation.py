"""Figures 3 and 6: when it helps to hand out what is known of groups, where the truth is known; and planted classes.

Regression: rows of a group lie around a centre, σ2 apart. NoAS is least squares on the sums of groups; AS then pairs
each response with the row of its group whose residual is least, and does least squares on rows. Classification: rows
lie around their class's direction, and a larger σ2 makes groups more alike, as most rows of a group are of one class;
estimators are the same, with a one for the class. Planted: rows of fifty classes in random groups, handed out by EAGLE.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import labelwood as lw
from lab.experiments.aggregated_labels.datasets import MADE
from lab.experiments.common.kept import Kept
from labelwood.groups import merged_labels, random_groups

SETS = (MADE,)
SEEDS = 20
GROUP, ROWS, FEATURES, OUTPUTS = 10, 1000, 10, 5
SIGMAS = (0, 0.1, 1, 5, 10)
NOISES = (0.1, 0.3)  # σ1 of the classification: the paper's, where nearly nothing is mistaken, and a harder one
TEST_ROWS = 5000
PLANTED_CLASSES, PLANTED_FEATURES, PLANTED_NOISE, PLANTED_ROWS = 50, 64, 0.12, 2000
PLANTED_GROUPS, PLANTED_ITERATIONS = (10, 20), (0, 20)
Matrix = Any


def measure(_name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """All three by seeds."""
    settings = {"seeds": given.simulation_seeds}
    return kept.figures(f"simulation-{given.simulation_seeds}", settings, lambda: simulate(given.simulation_seeds))


def simulate(seeds: int) -> dict[str, Any]:
    """For each setting a list of figures, one a seed."""
    return {
        "regression": {str(sigma): [regression(sigma, seed) for seed in range(seeds)] for sigma in SIGMAS},
        "classification": {
            str(noise): {str(sigma): [classification(sigma, noise, seed) for seed in range(seeds)] for sigma in SIGMAS}
            for noise in NOISES
        },
        "planted": {
            str(size): {str(t): [planted(size, t, seed) for seed in range(seeds)] for t in PLANTED_ITERATIONS}
            for size in PLANTED_GROUPS
        },
    }


def least_squares(X: Matrix, Z: Matrix) -> Matrix:
    """Features × outputs."""
    return np.linalg.lstsq(X, Z, rcond=None)[0]


def estimates(X: Matrix, Z: Matrix) -> dict[str, Matrix]:
    """What is estimated with known pairs, without assignment and with it; rows of a group follow each other."""
    grouped_X, grouped_Z = (M.reshape(-1, GROUP, M.shape[1]) for M in (X, Z))
    without = least_squares(grouped_X.sum(axis=1), grouped_Z.sum(axis=1))
    residuals = np.square(grouped_Z[:, :, None] - (grouped_X @ without)[:, None]).sum(axis=3)
    fitting = np.take_along_axis(grouped_X, residuals.argmin(axis=2)[:, :, None], axis=1)
    return {"oracle": least_squares(X, Z), "NoAS": without, "AS": least_squares(fitting.reshape(X.shape), Z)}


def relative(errors: dict[str, float]) -> dict[str, float]:
    """The others' errors in multiples of the oracle's."""
    return {name: float(error / errors["oracle"]) for name, error in errors.items() if name != "oracle"}


def regression(sigma: float, seed: int) -> dict[str, float]:
    """Relative root mean squares of what is wrong in the coefficients."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((FEATURES, OUTPUTS))
    truth /= np.linalg.norm(truth, 2)
    centres = np.repeat(rng.standard_normal((ROWS // GROUP, FEATURES)), GROUP, axis=0)
    X = centres + sigma * rng.standard_normal((ROWS, FEATURES))
    Z = X @ truth + rng.standard_normal((ROWS, OUTPUTS))
    return relative({name: np.sqrt(np.square(B - truth).mean()) for name, B in estimates(X, Z).items()})


def classification(sigma: float, noise: float, seed: int) -> dict[str, Any]:
    """Of test rows the share that is mistaken, in per cent, and relative root mean squares of scores' errors."""
    rng = np.random.default_rng(seed)
    classes = unit(rng.standard_normal((OUTPUTS, FEATURES)))

    def rows(of: Matrix) -> tuple[Matrix, Matrix]:
        X = classes[of] + noise * rng.standard_normal((len(of), FEATURES))
        return X, (X @ classes.T).argmax(axis=1)

    shares = np.ones((ROWS // GROUP, OUTPUTS))
    shares[np.arange(len(shares)), rng.integers(OUTPUTS, size=len(shares))] += np.expm1(sigma)
    shares /= shares.sum(axis=1, keepdims=True)
    X, y = rows(np.concatenate([rng.choice(OUTPUTS, GROUP, p=share) for share in shares]))
    X_test, y_test = rows(rng.integers(OUTPUTS, size=TEST_ROWS))
    found = estimates(X, np.eye(OUTPUTS)[y])
    mistaken = {name: 100 * float(((X_test @ B).argmax(axis=1) != y_test).mean()) for name, B in found.items()}
    away = {name: np.sqrt(np.square(X_test @ B - np.eye(OUTPUTS)[y_test]).mean()) for name, B in found.items()}
    return {"mistaken": mistaken, **relative(away)}


def planted(size: int, iterations: int, seed: int) -> float:
    """The share of assignments that are right."""
    rng = np.random.default_rng(seed)
    centres = unit(rng.standard_normal((PLANTED_CLASSES, PLANTED_FEATURES)))
    classes = rng.integers(PLANTED_CLASSES, size=PLANTED_ROWS)
    X = centres[classes] + PLANTED_NOISE * rng.standard_normal((PLANTED_ROWS, PLANTED_FEATURES))
    groups = random_groups(PLANTED_ROWS, size, seed)
    counts = merged_labels(np.eye(PLANTED_CLASSES)[classes], groups)
    given = lw.Eagle(iterations=iterations, seed=seed).fit(X, groups, counts).assignment_
    return float((classes[given.rows] == given.labels).mean())


def unit(rows: Matrix) -> Matrix:
    """Rows of unit length."""
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
