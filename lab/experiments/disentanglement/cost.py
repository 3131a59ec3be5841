"""Table 5: what two copies cost in training and in prediction, against the plain tree."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from lab.experiments.disentanglement import predicting
from lab.experiments.disentanglement.datasets import NAMES
from lab.experiments.disentanglement.learning import Trials, on_the_clock, with_merge
from lab.experiments.disentanglement.table4 import ALL, BASE, RANDOM, VARIANTS

SETS = tuple(NAMES)
TIMED = {variant: params for variant, params in VARIANTS.items() if variant != RANDOM}
MEAN = f"{ALL}, merged by mean"  # trained as with refit


def measure(trials: Trials, options: argparse.Namespace) -> list[dict[str, dict[str, float]]]:
    """The figures of each round, in which every variant takes its turn."""
    return [_run(trials, number) for number in range(options.rounds)]


def _run(trials: Trials, number: int) -> dict[str, dict[str, float]]:
    settings = {"variants": TIMED, "threads": trials.n_threads, "round": number}
    return trials.figures(f"round-{number}", settings, lambda: _round(trials, number))


def _round(trials: Trials, number: int) -> dict[str, dict[str, float]]:
    """CPU seconds of training, then times of single rows; variants come in another order each time."""
    order = np.random.default_rng(number).permutation(list(TIMED)).tolist()
    models: dict[str, Any] = {}
    found: dict[str, dict[str, float]] = {}
    rows = trials.rows  # read before the clock starts
    for variant in order:
        params = TIMED[variant]
        models[variant], seconds = on_the_clock(lambda params=params: trials.trained(**params))
        found[variant] = {"train_cpu_s": seconds}
    models[MEAN], found[MEAN] = with_merge(models[ALL], "mean"), dict(found[ALL])
    for variant, times in predicting.times(models, rows.X_test).items():
        found[variant] |= times
    return {variant: found[variant] for variant in (*TIMED, MEAN)}


def ratios(rounds: list[dict[str, dict[str, float]]], variant: str, figure: str) -> np.ndarray[Any, Any]:
    """A variant's figure relative to that of the plain tree, for each round."""
    return np.array([each[variant][figure] / each[BASE][figure] for each in rounds])
