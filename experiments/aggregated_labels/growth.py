"""What EAGLE takes: CPU time against non-zeros, in groups of ten, and beside a Parabel tree of omikuji."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import datasets
import numpy as np
from common.kept import Kept
from datasets import Rows
from rivals import environments, prepared
from rivals.contenders import RIVALS
from rivals.stages import Course
from scipy import sparse

import labelwood as lw
from labelwood.aggregated import merged_labels, random_groups

SETS = ("eurlex4k",)
SIZE = 10
ITERATIONS = (0, 20)
SHARES = (0.125, 0.25, 0.5, 1, 2, 4)  # of the training rows: fewer, or all of them several times
RIVAL = "omikuji-parabel-1"


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """For each number of rows the non-zeros and CPU seconds of one thread, the least of a few rounds."""
    points = [
        kept.figures(
            f"growth-{share:g}",
            {"size": SIZE, "iterations": ITERATIONS, "rounds": given.rounds},
            lambda share=share: point(  # type: ignore[misc]
                datasets.sparse_rows(given.data / name, given.rows), share, given.rounds
            ),
        )
        for share in SHARES
    ]
    return {"points": points, "rival": rival(given.data / name, kept, given)}


def point(rows: Rows, share: float, rounds: int) -> dict[str, Any]:
    """One size; rows are drawn at random where there are to be fewer."""
    n_rows = rows.X_train.shape[0]
    if share < 1:
        chosen = np.sort(np.random.default_rng(0).permutation(n_rows)[: int(share * n_rows)])
        X, Y = rows.X_train[chosen], rows.Y_train[chosen]
    else:
        X, Y = (sparse.vstack([M] * int(share), format="csr") for M in (rows.X_train, rows.Y_train))
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
    return {"rows": X.shape[0], "nonzeros": int(X.nnz), "labels": int(Y.nnz), "cpu_s": cost}


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
