"""Whether rows that got no label matter: here trees leave them out, and Parabel's root learns from them too.

Such rows get a label of their own, which nothing else has and which is left out of answers: so all other labels take
them for rows that they do not fit. What comes out is compared with the paper's figures.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy import sparse

import labelwood as lw
from lab.experiments.aggregated_labels.learner import LEARNER, K
from lab.experiments.aggregated_labels.trials import PAPERS, Trials
from lab.experiments.common.kept import Kept
from labelwood.arrays.topk import TopK
from labelwood.metrics import evaluate

SETS = ("eurlex4k",)
WAYS = ("eagle-0", "eagle")
# Where EAGLE-0 is far from the paper's figures; N-8-0 are clusters as in D-8, but less sharp (see blurred.py).
GROUPINGS = ("R-8", "R-10", "D-8", "N-8-0", "D-9", "N-9-0")
SEEDS = 2


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """For each grouping the figures of EAGLE-0 and EAGLE, with such rows left out and learned from."""
    trials = Trials(given.data / name, kept, rows=given.rows, threads=given.threads)
    seeds = range(min(given.seeds, SEEDS))
    return {
        grouping: {
            way: {
                "left out": [trials.way(grouping, seed, way, PAPERS[way]) for seed in seeds],
                "learned from": [learned_from(trials, grouping, way, seed) for seed in seeds],
            }
            for way in WAYS
        }
        for grouping in given.unlabelled_groupings
    }


def learned_from(trials: Trials, grouping: str, way: str, seed: int) -> dict[str, Any]:
    """Of the learner that takes rows without labels for what no label fits."""

    def train() -> dict[str, Any]:
        eagle = lw.Eagle(seed=seed, n_threads=trials.threads, **(PAPERS[way] or {}))
        Y = sparse.csr_array(eagle.fit_transform(trials.rows.X_train, *trials.grouped(grouping, seed)))
        without = (np.diff(Y.indptr) == 0).astype(np.float32)
        marked = sparse.csr_array(sparse.hstack([Y, sparse.csr_array(without[:, None])]))
        model = lw.TreeClassifier(**LEARNER, seed=seed, n_threads=trials.threads).fit(trials.rows.X_train, marked)
        top = leave_out(model.predict_topk(trials.rows.X_test, K + 1), Y.shape[1])
        return {"without": 100 * float(without.mean()), **evaluate(top, trials.rows.Y_test, metrics=("P",))}

    settings = {"grouping": grouping, "seed": seed, "eagle": PAPERS[way], "learner": LEARNER}
    return trials.kept.figures(f"{grouping}-{way}-unlabelled-seed-{seed}", settings, train)


def leave_out(top: TopK, label: int) -> TopK:
    """The answers without one label, one place shorter."""
    kept = np.argsort(top.ids == label, axis=1, kind="stable")[:, :-1]
    return TopK(np.take_along_axis(top.ids, kept, axis=1), np.take_along_axis(top.scores, kept, axis=1))
