"""Precision on held-out rows over the time of training, as in Figure 3: what free vectors and centroids change."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from lab.experiments.common.kept import Kept
from lab.experiments.prime.corpora import Corpus
from lab.experiments.prime.learning import HELD_OUT, Trials

SETS = ("wordnet", "debian_deps", "bookcrossing")
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "PRIME-lite, anchored": ("anchored_lite", {}),
    "no free vectors": ("anchored_lite", {"prototypes": {"free_vectors": 0}}),
    "no centroids": ("anchored_lite", {"prototypes": {"centroids": False}}),
    "texts alone": ("dpr", {}),
}


def measure(corpus: Corpus, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """Of each way the held-out P@1 after each epoch, the seconds of training until then, without compiling, and the
    queries a second of each epoch as a whole.
    """
    trials = Trials(corpus, kept, given)
    return {way: _course(trials, way, *how) for way, how in WAYS.items()}


def _course(trials: Trials, way: str, config: str, changes: dict[str, Any]) -> dict[str, list[float]]:
    tuned = trials.tuned(config)
    settings = trials.settings(config, seed=0, **tuned).with_changes({"training": {"evaluate_every": 1}, **changes})
    return of_history(trials.run(run_name(way), settings)["history"], len(trials.corpus.train))


def run_name(way: str) -> str:
    """What the run of a way is kept as."""
    return f"course-{way.replace(' ', '-')}"


def of_history(history: list[dict[str, float]], n_rows: int) -> dict[str, list[float]]:
    """The course of a training on so many rows."""
    rates = [line["queries_per_second"] for line in history]
    rates[:1] = rates[1:2] or rates  # in the first epoch the encoder is compiled, which takes longer than the epoch
    seconds = (1 - HELD_OUT) * n_rows * np.cumsum(1 / np.array(rates))
    return {"seconds": seconds.tolist(), "P@1": [line["P@1"] for line in history], "rates": rates}
