"""Tables 2 and 5: what is lost on EURLex-4K when only groups' labels are known, and how much EAGLE brings back."""

from __future__ import annotations

import argparse
from typing import Any

from lab.experiments.aggregated_labels.trials import ORACLE, PAPERS, Trials
from lab.experiments.common.kept import Kept

SETS = ("eurlex4k",)
RANDOM = tuple(f"R-{size}" for size in (2, 4, 6, 8, 10))
CLUSTERED = tuple(f"D-{depth}" for depth in (8, 9, 10, 11, 12))
SEEDS = 5
KS = (1, 3, 5)
# P@1, P@3 and P@5 of the paper's Table 5.
PAPERS_ORACLE = (82.71, 69.42, 58.14)
PAPERS_FIGURES: dict[str, dict[str, tuple[float, float, float]]] = {
    "R-2": {"baseline": (79.90, 66.59, 55.16), "eagle-0": (81.94, 68.10, 56.37), "eagle": (82.00, 68.52, 56.63)},
    "R-4": {"baseline": (76.58, 61.36, 49.50), "eagle-0": (80.16, 63.49, 51.01), "eagle": (80.87, 65.33, 52.88)},
    "R-6": {"baseline": (72.31, 56.66, 44.94), "eagle-0": (75.06, 57.31, 44.63), "eagle": (77.80, 60.20, 47.57)},
    "R-8": {"baseline": (67.71, 51.66, 41.07), "eagle-0": (69.54, 50.76, 38.57), "eagle": (73.02, 54.11, 41.53)},
    "R-10": {"baseline": (62.95, 47.72, 37.59), "eagle-0": (62.58, 44.07, 33.25), "eagle": (67.56, 48.03, 35.91)},
    "D-8": {"baseline": (17.94, 16.27, 14.83), "eagle-0": (39.11, 28.02, 22.46), "eagle": (43.11, 30.08, 23.78)},
    "D-9": {"baseline": (34.43, 30.50, 27.29), "eagle-0": (52.22, 37.63, 30.07), "eagle": (56.70, 39.92, 31.83)},
    "D-10": {"baseline": (49.45, 43.17, 37.55), "eagle-0": (61.92, 46.99, 38.06), "eagle": (63.50, 48.06, 38.83)},
    "D-11": {"baseline": (62.32, 52.90, 44.87), "eagle-0": (67.64, 54.34, 44.68), "eagle": (68.80, 54.79, 45.00)},
    "D-12": {"baseline": (72.07, 60.19, 50.66), "eagle-0": (73.76, 60.61, 50.43), "eagle": (74.36, 60.98, 50.81)},
}


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """For each grouping and way a list of figures, one a seed."""
    trials = Trials(given.data / name, kept, rows=given.rows, threads=given.threads)
    seeds = range(given.seeds)
    return {
        ORACLE: [trials.oracle(seed) for seed in seeds],
        "groupings": {grouping: by_ways(trials, grouping, given.seeds) for grouping in given.groupings},
    }


def by_ways(trials: Trials, grouping: str, seeds: int) -> dict[str, Any]:
    """The paper's ways, and what is advised; seed by seed, for groups are made once a seed."""
    found: dict[str, Any] = {way: [] for way in (*PAPERS, "advice")}
    for seed in range(seeds):
        for way, params in PAPERS.items():
            found[way].append(trials.way(grouping, seed, way, params))
        found["advice"].append(trials.advice(grouping, seed))
    return found
