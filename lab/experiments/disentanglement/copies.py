"""Figure 3: how many copies are enough, and what they cost."""

from __future__ import annotations

import argparse
from typing import Any

from lab.experiments.disentanglement import predicting
from lab.experiments.disentanglement.datasets import NAMES
from lab.experiments.disentanglement.learning import Trials, copies_a_label, judged, on_the_clock

SETS = tuple(NAMES)
COPIES = (1, 2, 3, 4, 5, 6)
PLAIN = "plain"


def measure(trials: Trials, options: argparse.Namespace) -> list[dict[str, dict[str, float]]]:
    """For each seed the figures of the plain tree and of trees with copies."""
    return [_run(trials, options.copies, seed) for seed in range(options.seeds)]


def _run(trials: Trials, numbers: list[int], seed: int) -> dict[str, Any]:
    settings = {"copies": list(numbers), "seed": seed}
    return trials.figures(f"seed-{seed}", settings, lambda: _figures(trials, numbers, seed))


def _figures(trials: Trials, numbers: list[int], seed: int) -> dict[str, dict[str, float]]:
    """One copy is not the plain tree: its labels are moved to where their rows are led."""
    ways: dict[str, dict[str, Any]] = {PLAIN: {}}
    ways |= {str(copies): {"copies": copies, "rounds": 1} for copies in numbers}
    models, found = {}, {}
    rows = trials.rows  # read before the clock starts
    for way, params in ways.items():
        models[way], seconds = on_the_clock(lambda params=params: trials.trained(**params, seed=seed))
        found[way] = {
            **judged(models[way], rows),
            "copies_a_label": copies_a_label(models[way]),
            "train_cpu_s": seconds,
        }
    for way, times in predicting.times(models, rows.X_test).items():
        found[way] |= times
    return found
