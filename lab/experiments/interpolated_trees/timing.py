"""Does depth pay in time: precision, depth and the time of a search for a few λ's and sizes of leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab.experiments.common.rows import Rows
from lab.experiments.interpolated_trees import timed
from lab.experiments.interpolated_trees.datasets import GENERATED
from labelwood.trees import lam_of

SETS = ("wordnet", "debian_deps", "loc_lcsh", GENERATED)
SCALES = (0, 0.5, 1, 2)  # λ′
MORE_SCALES = {"loc_lcsh": (10,)}  # where precision lasts further
LEAVES = (1, 10, 100)
SEEDS = 3
FEWER_SEEDS = {"loc_lcsh": 1, GENERATED: 1}  # which take longest


def measure(name: str, rows: Rows, folder: Path, *, seeds: int, jobs: int, rounds: int) -> list[dict[str, Any]]:
    """A point for each size of leaves and λ, with its changes against λ = 0 in per cent."""
    variants = {f"max_leaf {size}": {"arity": 2, "max_leaf": size, "beam": 10} for size in LEAVES}
    seeds = min(seeds, FEWER_SEEDS.get(name, seeds))
    lams = [lam_of(scale) for scale in (*SCALES, *MORE_SCALES.get(name, ()))]
    found = timed.points(rows, folder, variants, lams, seeds=seeds, jobs=jobs, rounds=rounds)
    return [{**point, "change": changes(point, found)} for point in found]


def changes(point: dict[str, Any], points: list[dict[str, Any]]) -> dict[str, float]:
    """By how many per cent a point's figures differ from those of λ = 0 with the same settings."""
    base = next(p["mean"] for p in points if (p["variant"], p["lam"]) == (point["variant"], 0))
    names = ("depth@1", "depth@5", "search_k1_us", "search_k5_us", "call_k1_us", "call_k5_us")
    found = {name: _percent(point["mean"][name], base[name]) for name in names}
    for k in timed.KS:
        found[f"level_k{k}_us"] = _percent(point["mean"][f"search_k{k}_us"], base[f"level_k{k}_us"])
    return found


def _percent(value: float, base: float) -> float:
    return 100 * (value / base - 1) if base else 0.0
