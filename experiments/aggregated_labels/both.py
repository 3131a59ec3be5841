"""Both ways tried on held-out groups, beside which was better for single test rows."""

from __future__ import annotations

import argparse
from typing import Any

from common.kept import Kept
from table5 import by_ways
from trials import Trials

SETS = ("eurlex4k",)
GROUPINGS = ("R-2", "R-4", "R-10", "D-8", "D-10", "D-12")


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """For each grouping what the trial says, and the figures of the paper's ways."""
    trials = Trials(given.data / name, kept, rows=given.rows, threads=given.threads)
    return {
        grouping: {"trial": trials.trial(grouping), **by_ways(trials, grouping, given.seeds)}
        for grouping in given.both_groupings
    }
