"""Figure 3: precision against expected depth, for four ways from balanced clustering to a Fano code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.experiments.common.rows import Rows
from lab.experiments.interpolated_trees.datasets import GENERATED
from labelwood.trees import lam_of
from labelwood.tuning import sweep

SCALES = (0, 0.5, 1, 2, 6, 10, 30, 100, 1000, 1e5)  # λ′
MODEL = {"arity": 2, "max_leaf": 100, "beam": 10}
VARIANTS: dict[str, dict[str, Any]] = {
    "marginal": MODEL,
    "greedy": {**MODEL, "tree_options": {"rule": "greedy"}},
    "marginal, no midpoint": {**MODEL, "tree_options": {"midpoint": False}},
    "greedy, no midpoint": {**MODEL, "tree_options": {"rule": "greedy", "midpoint": False}},
}
# Of the generated set fewer are trained, for its trees take ten times as long.
GENERATED_SCALES, GENERATED_SEEDS = (0, 1, 2, 30, 1e5), 1
# The sweep measures latency too; `timing.py` does so with more care, so here it is kept short and not shown.
UNUSED_LATENCY = {"latency_rows": 20, "latency_rounds": 1}


def measure(name: str, rows: Rows, folder: Path, *, scales: Sequence[float], seeds: int, jobs: int) -> dict[str, Any]:
    """The points of all four curves: means over seeds, lowest and highest."""
    if name == GENERATED:
        scales, seeds = [scale for scale in scales if scale in GENERATED_SCALES], min(seeds, GENERATED_SEEDS)
    found = sweep(
        *(rows.X_train, rows.Y_train, rows.X_test, rows.Y_test),
        folder,
        lams=[lam_of(scale) for scale in scales],
        seeds=seeds,
        variants=VARIANTS,
        filters=rows.filters,
        jobs=jobs,
        progress=True,
        **UNUSED_LATENCY,
    )
    return {"data": found["data"], "points": found["points"]}
