"""What EAGLE takes: CPU time against non-zeros, in groups of ten, and beside a Parabel tree of omikuji."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import labelwood as lw
from lab.benchmarks.rivals import environments, prepared
from lab.benchmarks.rivals.contenders import RIVALS
from lab.benchmarks.rivals.stages import Course
from lab.experiments.aggregated_labels import datasets
from lab.experiments.common.kept import Kept
from lab.experiments.common.rows import Rows
from labelwood.groups import merged_labels, random_groups

SETS = ("eurlex4k",)
SIZE = 10
ITERATIONS = (0, 20)
# Of the training rows: fewer of them, or all of them several times. Their labels are the same, and become more frequent
# with rows; or each copy has labels of its own, which are as frequent as before.
SHARES = {"the same labels": (0.125, 0.25, 0.5, 1, 2, 4), "more labels": (1, 2, 4, 8)}
RIVAL = "omikuji-parabel-1"


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """For each number of rows the non-zeros and CPU seconds of one thread, the least of a few rounds."""
    points = {
        kind: [
            kept.figures(
                f"growth-{kind.replace(' ', '-')}-{share:g}",
                {"size": SIZE, "iterations": ITERATIONS, "rounds": given.rounds},
                lambda kind=kind, share=share: point(  # type: ignore[misc]
                    *sized(datasets.sparse_rows(given.data / name, given.rows), kind, share), given.rounds
                ),
            )
            for share in shares
        ]
        for kind, shares in SHARES.items()
    }
    return {"points": points, "rival": rival(given.data / name, kept, given)}


def sized(rows: Rows, kind: str, share: float) -> tuple[Any, Any]:
    """Features and labels; rows are drawn at random where there are to be fewer."""
    X, Y = rows.X_train, rows.Y_train
    if share < 1:
        chosen = np.sort(np.random.default_rng(0).permutation(X.shape[0])[: int(share * X.shape[0])])
        return X[chosen], Y[chosen]
    copies = int(share)
    joined = sparse.vstack([Y] * copies, format="csr")
    if kind == "more labels":
        joined = sparse.block_diag([Y] * copies, format="csr")
    return sparse.vstack([X] * copies, format="csr"), joined


def point(X: Any, Y: Any, rounds: int) -> dict[str, Any]:
    """What one size takes."""
    groups = random_groups(X.shape[0], SIZE, 0)
    counts = merged_labels(Y, groups)
    cost = {}
    for iterations in ITERATIONS:
        times = []
        for _ in range(rounds):
            started = time.process_time()
            lw.Eagle(iterations=iterations, n_threads=1).fit(X, groups, counts)
            times.append(time.process_time() - started)
        cost[str(iterations)] = min(times)
    return {"rows": X.shape[0], "nonzeros": int(X.nnz), "labels": Y.shape[1], "cpu_s": cost}


def rival(data: Path, kept: Kept, given: argparse.Namespace) -> float | None:
    """CPU seconds that omikuji takes to train one tree; None where its environment is not made."""
    if (
        given.rows is not None
        or not (environments.python_of("omikuji", given.cache).parent.parent / "complete.txt").exists()
    ):
        return None

    def train() -> dict[str, float]:
        course = Course(prepared.prepare(data, given.cache), given.cache, given.timeout)
        return {"train_cpu_s": course.run(f"aggregated-{RIVAL}", RIVALS[RIVAL])["train_cpu_s"]}

    return float(kept.figures(f"growth-{RIVAL}", {}, train)["train_cpu_s"])
