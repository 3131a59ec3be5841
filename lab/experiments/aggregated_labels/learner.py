"""The learner of all trials on sparse rows: three label trees, as Parabel has them, and how it was chosen.

Parabel grows three balanced binary trees with leaves of 100 labels, trains a squared hinge with C = 1 and takes the
cubed hinge for a link. Its code was used by the paper on features that are not brought to unit length. The candidates
keep three trees and change what else may matter; rows that are held out from the training rows choose.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import Any

import labelwood as lw
from lab.experiments.aggregated_labels import datasets
from lab.experiments.common.kept import Kept
from lab.experiments.common.rows import Rows
from labelwood.metrics import evaluate

SETS = ("eurlex4k",)
K = 5
HELD_OUT = 6  # one training row in six chooses
_PARABEL = {"tree": "balanced", "arity": 2, "max_leaf": 100, "n_trees": 3}
CANDIDATES: dict[str, dict[str, Any]] = {
    "Parabel's trees": _PARABEL,
    "trained longer": {**_PARABEL, "max_passes": 20, "tolerance": 0.01},
    "bias 1": {**_PARABEL, "bias": 1.0},
    "small weights kept": {**_PARABEL, "threshold": 0.01},
    "rows as they are": {**_PARABEL, "normalize": False},
    "arity 16": {**_PARABEL, "arity": 16},
    "k-means": {"tree": "kmeans", "n_trees": 3},
    "k-means, arity 16": {"tree": "kmeans", "n_trees": 3, "arity": 16, "max_leaf": 100},
}
LEARNER: dict[str, Any] = CANDIDATES["k-means"]


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """Precision of all candidates on rows that are held out."""
    found = {}
    for candidate, params in CANDIDATES.items():
        found[candidate] = kept.figures(
            f"learner-{candidate.replace(' ', '-')}",
            {"params": params, "held_out": HELD_OUT},
            lambda params=params: precision(  # type: ignore[misc]
                datasets.sparse_rows(given.data / name, given.rows).held_out(HELD_OUT), params, 0, given.threads
            ),
        )
    return found


def precision(rows: Rows, params: Mapping[str, Any], seed: int, threads: int) -> dict[str, float]:
    """Of the learner with these parameters, on the test rows; and what training took."""
    started = time.process_time()
    model = lw.TreeClassifier(**params, seed=seed, n_threads=threads).fit(rows.X_train, rows.Y_train)
    cost = {"train_cpu_s": time.process_time() - started}
    return {**evaluate(model.predict_topk(rows.X_test, K), rows.Y_test, metrics=("P",), n_threads=threads), **cost}
