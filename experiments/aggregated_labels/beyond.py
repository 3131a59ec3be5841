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
# What held-out groups choose from. They see neither labels of rows nor test rows.
ITERATIONS = (0, 1, 2, 5, 10, 20, 40)
TRIED: tuple[dict[str, Any], ...] = (
    *({"step": step} for step in (0.1, 0.3, 1.0)),
    *({"negatives": n, "leave_out": True, "step": step} for n in (0.5, 1.0, 2.0) for step in (0.1, 0.3, 1.0)),
)


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """For each grouping the paper's ways, the others, and what was chosen; and P over iterations, of the first seed."""
    trials = Trials(given.data / name, kept, rows=given.rows, threads=given.threads)
    seeds = min(given.seeds, SEEDS)
    found: dict[str, Any] = {ORACLE: [trials.oracle(seed) for seed in range(seeds)], "groupings": {}}
    for grouping in given.beyond_groupings:
        ways = {**by_ways(trials, grouping, seeds), **{way: [] for way in WORDS}, "choices": [], "iterations": {}}
        for seed in range(seeds):
            _add(trials, grouping, seed, ways)
        for t in ITERATIONS:
            ways["iterations"][str(t)] = trials.way(grouping, 0, f"iterations-{t}", {"iterations": t})
        found["groupings"][grouping] = ways
    return found


def _add(trials: Trials, grouping: str, seed: int, ways: dict[str, Any]) -> None:
    for way, params in WAYS.items():
        ways[way].append(trials.way(grouping, seed, way, params))
    choices = trials.kept.figures(
        f"{grouping}-choices-seed-{seed}",
        {"tried": TRIED, "iterations": ITERATIONS},
        lambda: {"tried": scores(trials, grouping, seed)},
    )["tried"]
    ways["choices"].append(choices)
    for way, among in (("chosen-iterations", choices[:1]), ("chosen", choices)):
        params = best(among)
        ways[way].append({**trials.way(grouping, seed, way, params), "params": params})


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
                candidates=ITERATIONS,
                eagle=lw.Eagle(n_threads=trials.threads, **params),
                seed=seed,
            ).scores,
        }
        for params in TRIED
    ]


def best(among: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The parameters with the highest score; the first of several, and the fewest iterations."""
    tried = [(each["params"], int(t), score) for each in among for t, score in each["scores"].items()]
    params, iterations, _ = max(tried, key=lambda entry: entry[2])
    return {**params, "iterations": iterations}
