"""Precision by the number of negatives a query meets in a step, as in Figure 1."""

from __future__ import annotations

import argparse
from typing import Any

import methods
from common.kept import Kept
from corpora import Corpus
from learning import Trials

SETS = ("wordnet", "debian_deps")
SIZES = (128, 512, 2048)
CONFIGS = {"dpr": "DPR", "prime_lite": "PRIME-lite", "anchored_lite": "PRIME-lite, anchored"}
EVERY_LABEL = "DEXML"


def measure(corpus: Corpus, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """Of each method and size of batches: negatives a query, and test figures."""
    trials = Trials(corpus, kept, given)
    found: dict[str, Any] = {name: [_run(trials, config, size) for size in SIZES] for config, name in CONFIGS.items()}
    found[EVERY_LABEL] = [{"negatives": corpus.train.Y.shape[1] - 1, **methods.run(trials, "dexml", 0)}]
    return found


def _run(trials: Trials, config: str, size: int) -> dict[str, Any]:
    tuned = trials.tuned(config)
    if tuned["batches"]["size"] == size:
        return {"negatives": size - 1, **methods.run(trials, config, 0)}
    settings = trials.settings(config, seed=0, **{**tuned, "batches": {"size": size}})
    return {"negatives": size - 1, **trials.run(f"{config}-batch-{size}", settings)}
