"""What is advised, and what comes of both ways on held-out groups, beside which was better for single test rows."""

from __future__ import annotations

import argparse
from typing import Any

from lab.experiments.aggregated_labels.table5 import CLUSTERED, RANDOM, by_ways
from lab.experiments.aggregated_labels.trials import Trials
from lab.experiments.common.kept import Kept

SETS = ("eurlex4k",)
GROUPINGS = (*RANDOM, "R-15", *CLUSTERED, "D-13")  # beyond the paper's: large random groups, and pairs that are alike


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """For each grouping what the trial says, and the figures of the paper's ways."""
    trials = Trials(given.data / name, kept, rows=given.rows, threads=given.threads)
    return {
        grouping: {"trial": trials.trial(grouping), **by_ways(trials, grouping, given.seeds)}
        for grouping in given.both_groupings
    }
