"""Whether the sharpness of clusters matters: how the paper clusters rows is not said beyond "hierarchical k-means".

Clusters of rows in a random projection to a few dimensions are less sharp. The baseline on these and on clusters of the
rows themselves is compared with the paper's figures.
"""

from __future__ import annotations

import argparse
from typing import Any

from lab.experiments.aggregated_labels.trials import Trials
from lab.experiments.common.kept import Kept

SETS = ("eurlex4k",)
DEPTHS = (8, 9, 10, 11)  # where the baseline is far from the paper's figures
SEEDS = 2


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """For each depth the baseline and how mixed groups are, of clusters of rows and of projected rows."""
    trials = Trials(given.data / name, kept, rows=given.rows, threads=given.threads)
    seeds = range(min(given.seeds, SEEDS))
    return {
        f"D-{depth}": {
            grouping: [
                {**trials.way(grouping, seed, "baseline", None), **trials.advice(grouping, seed)["counts"]}
                for seed in seeds
            ]
            for grouping in (f"D-{depth}", f"N-{depth}-0")
        }
        for depth in given.blurred_depths
    }
