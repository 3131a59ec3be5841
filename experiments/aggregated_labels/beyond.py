"""What is not in the paper: other ways to hand out, negatives, iterations chosen by groups that are held out."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from common.kept import Kept
from table5 import by_ways
from trials import ORACLE, Trials

import labelwood as lw
from labelwood.aggregated import choose_iterations

SETS = ("eurlex4k",)
GROUPINGS = ("R-4", "R-10", "D-8", "D-10")
SEEDS = 3
_AWAY = {"negatives": 1.0, "leave_out": True}
WAYS: dict[str, dict[str, Any]] = {
    "several": {"assign": "several"},
    "two-at-most": {"assign": "several", "at_most": 2},
    "soft": {"assign": "soft"},
    "set": {"repeats": "set"},
    "topc": {"repeats": "topc"},
    "leave-out": {"leave_out": True},
    "step-0.3": {"step": 0.3},
    "negatives-1-step-0.1": {**_AWAY, "step": 0.1},
    "negatives-1-step-0.3": {**_AWAY, "step": 0.3},
    "negatives-1-step-1": {**_AWAY, "step": 1.0},
}
WORDS = {
    "several": "all rows whose cosine is nearly as large",
    "two-at-most": "the same, two at most",
    "soft": "shares by softmax",
    "set": "groups count once for each label",
    "topc": "as many rows as the group has the label",
    "leave-out": "`leave_out`",
    "step-0.3": "`step` 0.3",
    **{f"negatives-1-step-{step}": f"`negatives` 1, `leave_out`, `step` {step}" for step in (0.1, 0.3, 1)},
    "chosen-iterations": "iterations chosen by held-out groups",
    "chosen": "negatives, step and iterations chosen by held-out groups",
}
# What held-out groups choose from; they see neither labels of rows nor test rows. More takes long with negatives.
ITERATIONS = (0, 1, 2, 5, 10, 20, 40)
TRIED: tuple[tuple[dict[str, Any], tuple[int, ...]], ...] = (
    ({"step": 0.1}, ITERATIONS),
    *(
        ({"negatives": negatives, "leave_out": True, "step": step}, (20,))
        for negatives in (0.5, 1.0, 2.0)
        for step in (0.1, 0.3, 1.0)
    ),
)


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """For each grouping the paper's ways, the others and what was chosen; and all iterations, of the first seed."""
    trials = Trials(given.data / name, kept, rows=given.rows, threads=given.threads)
    seeds = min(given.seeds, SEEDS)
    return {
        ORACLE: [trials.oracle(seed) for seed in range(seeds)],
        "groupings": {grouping: compare(trials, grouping, seeds) for grouping in given.beyond_groupings},
    }


def compare(trials: Trials, grouping: str, seeds: int) -> dict[str, Any]:
    """All ways on one grouping; the groups of the first seed choose for all."""
    choices = trials.kept.figures(
        f"{grouping}-choices", {"tried": TRIED}, lambda: {"tried": scores(trials, grouping, seed=0)}
    )["tried"]
    params = {**WAYS, "chosen-iterations": best(choices[:1]), "chosen": best(choices)}
    found: dict[str, Any] = {**by_ways(trials, grouping, seeds), **{way: [] for way in params}}
    for seed in range(seeds):
        for way, given in params.items():
            found[way].append(trials.way(grouping, seed, way, given))
    found["choices"], found["params"] = choices, params
    found["iterations"] = {str(t): trials.way(grouping, 0, f"iterations-{t}", {"iterations": t}) for t in ITERATIONS}
    return found


def scores(trials: Trials, grouping: str, seed: int) -> list[dict[str, Any]]:
    """What held-out groups say of everything that is tried."""
    groups, counts = trials.grouped(grouping, seed)
    return [
        {
            "params": params,
            "scores": choose_iterations(
                trials.rows.X_train,
                groups,
                counts,
                candidates=iterations,
                eagle=lw.Eagle(n_threads=trials.threads, **params),
                seed=seed,
            ).scores,
        }
        for params, iterations in TRIED
    ]


def best(among: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The parameters with the highest score; the first of several, and the fewest iterations."""
    tried = [(each["params"], int(t), score) for each in among for t, score in each["scores"].items()]
    params, iterations, _ = max(tried, key=lambda entry: entry[2])
    return {**params, "iterations": iterations}
