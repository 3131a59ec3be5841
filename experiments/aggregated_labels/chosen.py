"""All groupings of Table 5 with parameters that held-out groups chose, beside the published method's."""

from __future__ import annotations

import argparse
from typing import Any

from common.kept import Kept
from trials import CHOSEN, PAPERS, Trials

SETS = ("eurlex4k",)


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """For each grouping what held-out groups say, and figures of both, one a seed."""
    trials = Trials(given.data / name, kept, rows=given.rows, threads=given.threads)
    return {grouping: compare(trials, grouping, given.seeds) for grouping in given.groupings}


def compare(trials: Trials, grouping: str, seeds: int) -> dict[str, Any]:
    """Of one grouping; the groups of the first seed choose for all."""
    return {
        "tried": trials.choice(grouping),
        "eagle": [trials.way(grouping, seed, "eagle", PAPERS["eagle"]) for seed in range(seeds)],
        CHOSEN: [trials.chosen(grouping, seed) for seed in range(seeds)],
    }
