"""Interpolated trees whose nodes have more than two children."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab.experiments.common.rows import Rows
from lab.experiments.interpolated_trees import timed

SETS = ("wordnet", "debian_deps")
ARITIES = (2, 4, 16, 64)
LAMS = (0.0, 1.0)
SEEDS = 2


def measure(rows: Rows, folder: Path, *, seeds: int, jobs: int, rounds: int) -> list[dict[str, Any]]:
    """A point for each arity and λ."""
    variants = {f"arity {arity}": {"arity": arity, "max_leaf": 100, "beam": 10} for arity in ARITIES}
    return timed.points(rows, folder, variants, LAMS, seeds=seeds, jobs=jobs, rounds=rounds)
