"""What is not in the paper: other ways to hand out, negatives, iterations chosen by groups that are held out."""

from __future__ import annotations

import argparse
from typing import Any

from lab.experiments.aggregated_labels.table5 import by_ways
from lab.experiments.aggregated_labels.trials import CHOSEN, ORACLE, Trials
from lab.experiments.common.kept import Kept

SETS = ("eurlex4k",)
GROUPINGS = ("R-4", "R-10", "D-8", "D-10")
SEEDS = 3
_AWAY = {"negatives": 1.0, "step": 0.3}
# Each with the words of its line.
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "set": ('`repeats="set"`: groups count once for each label', {"repeats": "set"}),
    "topc": ('`repeats="topc"`: as many rows as the group has the label', {"repeats": "topc"}),
    "several": ("all rows whose cosine is less by at most 0.05", {"assign": "several"}),
    "two-at-most": ("the same, two at most", {"assign": "several", "at_most": 2}),
    "soft": ("rows with a share of 0.05 in the softmax, or more", {"assign": "soft"}),
    "step-0.3": ("`step=0.3`", {"step": 0.3}),
    "leave-out": ("`leave_out`", {"leave_out": True}),
    "negatives": ("`negatives=1`, `step=0.3`", _AWAY),
    "negatives-leave-out": ("the same with `leave_out`", {**_AWAY, "leave_out": True}),
}
# How often vectors move; what is measured for Table 5 anyway is not measured again.
ITERATIONS: dict[int, tuple[str, dict[str, Any]]] = {
    0: ("eagle-0", {"iterations": 0}),
    5: ("iterations-5", {"iterations": 5}),
    20: ("eagle", {}),
    40: ("iterations-40", {"iterations": 40}),
}


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """For each grouping the paper's ways, the others and what was chosen; and all iterations, of the first seed."""
    trials = Trials(given.data / name, kept, rows=given.rows, threads=given.threads)
    seeds = min(given.seeds, SEEDS)
    return {
        ORACLE: [trials.oracle(seed) for seed in range(seeds)],
        "groupings": {grouping: compare(trials, grouping, seeds) for grouping in given.beyond_groupings},
    }


def compare(trials: Trials, grouping: str, seeds: int) -> dict[str, Any]:
    """All ways on one grouping."""
    found: dict[str, Any] = by_ways(trials, grouping, seeds)
    found |= {way: [] for way in (*WAYS, CHOSEN)}
    for seed in range(seeds):
        for way, (_, params) in WAYS.items():
            found[way].append(trials.way(grouping, seed, way, params))
        found[CHOSEN].append(trials.chosen(grouping, seed))
    scores = trials.choice(grouping, [{"iterations": t} for t in ITERATIONS])
    found["iterations"] = {
        str(t): {"score": each["score"], **trials.way(grouping, 0, *named)}
        for (t, named), each in zip(ITERATIONS.items(), scores, strict=True)
    }
    return found
