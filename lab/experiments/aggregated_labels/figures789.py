"""Figure 9: from groups of rows that are alike to random ones. Figures 7 and 8 are drawn from Table 5's figures."""

from __future__ import annotations

import argparse
from typing import Any

from lab.experiments.aggregated_labels.table5 import by_ways
from lab.experiments.aggregated_labels.trials import CHOSEN, ORACLE, Trials
from lab.experiments.common.kept import Kept

SETS = ("eurlex4k",)
NOISES = (0, 0.2, 0.4, 0.6, 0.8, 1)
DEPTH = 10  # groups of fifteen; the paper does not say its own
SEEDS = 3


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """For each level of noise and way a list of figures, one a seed."""
    trials = Trials(given.data / name, kept, rows=given.rows, threads=given.threads)
    seeds = min(given.seeds, SEEDS)
    return {
        "depth": given.noise_depth,
        ORACLE: [trials.oracle(seed) for seed in range(seeds)],
        "noises": {f"{noise:g}": compare(trials, f"N-{given.noise_depth}-{noise:g}", seeds) for noise in given.noises},
    }


def compare(trials: Trials, grouping: str, seeds: int) -> dict[str, Any]:
    """The paper's ways, and what held-out groups chose."""
    return {**by_ways(trials, grouping, seeds), CHOSEN: [trials.chosen(grouping, seed) for seed in range(seeds)]}
