"""Whether the same seed gives the same bytes, what threads cost and gain, and what seeds and batches change."""

from __future__ import annotations

import argparse
from typing import Any
from unittest.mock import patch

import numpy as np

from lab.experiments.softmax_tree.learning import Trials
from lab.experiments.softmax_tree.rival import SETS
from lab.experiments.softmax_tree.settings import settings
from labelwood.softmax_tree import classifier as softmax_tree

__all__ = ["SETS", "measure"]

THREADS = (1, 2, 4)
SEEDS = 5
BATCH_SEEDS = 3
# Rows and features that are embedded together, from one row at a time to far beyond the model's own.
BATCHES = ((1, 1), (8, 1 << 10), (128, 1 << 13), (256, 1 << 15), (1024, 1 << 17), (4096, 1 << 19))


def measure(trials: Trials, options: argparse.Namespace) -> dict[str, Any]:
    """What the three tables say."""
    epochs, own = max(options.epochs), softmax_tree._BATCH
    spread = range(options.spread_seeds)
    return {
        "epochs": epochs,
        "own_batch": own,
        "threads": _threads(trials, epochs, options.rounds),
        "seeds": [_figures(trials, epochs, own, seed, options.threads)["P@1"] for seed in spread],
        "batches": [
            _batch(trials, epochs, batch, spread[:BATCH_SEEDS], options.threads) for batch in sorted({*BATCHES, own})
        ],
    }


def _threads(trials: Trials, epochs: int, rounds: int) -> list[dict[str, Any]]:
    """Of each number of threads the digests of models and median costs; they take turns, for noise to hit all alike."""
    turns: dict[int, list[dict[str, Any]]] = {n: [] for n in THREADS}
    for turn in range(rounds):
        for n in THREADS:
            turns[n].append(_figures(trials, epochs, softmax_tree._BATCH, 0, n, turn=turn))
    return [
        {
            "threads": n,
            "digests": sorted({run["digest"] for run in runs}),
            **{name: float(np.median([run[name] for run in runs])) for name in ("train_cpu_s", "train_wall_s")},
        }
        for n, runs in turns.items()
    ]


def _batch(trials: Trials, epochs: int, batch: tuple[int, int], seeds: range, n_threads: int) -> dict[str, Any]:
    runs = [_figures(trials, epochs, batch, seed, n_threads) for seed in seeds]
    return {
        "rows": batch[0],
        "entries": batch[1],
        "P@1": [run["P@1"] for run in runs],
        "P@5": [run["P@5"] for run in runs],
        "train_cpu_s": float(np.median([run["train_cpu_s"] for run in runs])),
    }


def _figures(
    trials: Trials, epochs: int, batch: tuple[int, int], seed: int, n_threads: int, *, turn: int = 0
) -> dict[str, Any]:
    given = settings(epochs=epochs, seed=seed)
    name = f"batch-{batch[0]}-{batch[1]}-seed-{seed}-threads-{n_threads}-turn-{turn}"
    with patch.object(softmax_tree, "_BATCH", batch):
        return trials.figures(name, given, n_threads, batch=batch)
