"""All groupings of Table 5 with parameters that held-out groups chose, beside the published method's."""

from __future__ import annotations

import argparse
from typing import Any

from lab.experiments.aggregated_labels.table5 import by_ways
from lab.experiments.aggregated_labels.trials import CHOSEN, ORACLE, Trials
from lab.experiments.common.kept import Kept

SETS = ("eurlex4k",)


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """For each grouping what held-out groups say, and figures of all ways, one a seed."""
    trials = Trials(given.data / name, kept, rows=given.rows, threads=given.threads)
    return {
        ORACLE: [trials.oracle(seed) for seed in range(given.seeds)],
        "groupings": {grouping: compare(trials, grouping, given.seeds) for grouping in given.groupings},
    }


def compare(trials: Trials, grouping: str, seeds: int) -> dict[str, Any]:
    """Of one grouping; the groups of the first seed choose for all."""
    chosen = [trials.chosen(grouping, seed) for seed in range(seeds)]
    return {"tried": trials.choice(grouping), CHOSEN: chosen, **by_ways(trials, grouping, seeds)}
