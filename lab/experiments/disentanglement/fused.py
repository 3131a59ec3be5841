"""Figure 2: labels that were fused from k others, and what copies gain there; and the disentanglement score."""

from __future__ import annotations

import argparse
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from lab.experiments.common.rows import Rows
from lab.experiments.disentanglement import fusing, information
from lab.experiments.disentanglement.learning import Trials, judged
from labelwood.labels import pifa

SETS = ("eurlex4k", "wordnet")
KS = (2, 3, 4)
PLAIN = "plain"
# Whose matcher splits the rows of a label: the one that its leaves were chosen by, the one that was trained for them,
# or that of the baseline.
CHOOSING, REFITTED, ANYWHERE = "choosing", "refitted", "anywhere"


def measure(trials: Trials, options: argparse.Namespace) -> list[dict[str, Any]]:
    """A case for each k and mode: the figures of all seeds, which decide what is fused and how models are trained."""
    found = []
    for k, mode in product(options.ks, options.modes):
        runs = [_run(trials, k, mode, seed) for seed in range(options.seeds)]
        found.append({"k": k, "mode": mode, "runs": runs})
    return found


def _run(trials: Trials, k: int, mode: str, seed: int) -> dict[str, Any]:
    settings = {"k": k, "mode": mode, "seed": seed}
    return trials.figures(f"{mode}-{k}-seed-{seed}", settings, lambda: _figures(trials, k, mode, seed))


def _figures(trials: Trials, k: int, mode: str, seed: int) -> dict[str, Any]:
    """P of the plain tree, of those with copies, and of those with as many random ones; and how labels are split."""
    rows, numbers = _fused(trials.rows, k, mode, seed)
    fused = Trials(lambda: rows, trials.kept, trials.n_threads)
    plain = fused.trained(seed=seed)
    fused.remember(1, seed, plain)
    models = {PLAIN: judged(plain, rows)}
    split = {}
    for copies in sorted({2, k}):
        ours = fused.trained(copies=copies, seed=seed)
        fused.remember(copies, seed, ours)
        others = fused.trained(tree=fused.random_tree(copies=copies, seed=seed), seed=seed)
        models |= {f"copies {copies}": judged(ours, rows), f"random {copies}": judged(others, rows)}
        if copies == k:
            before = (rows.X_train, _widened(trials.rows.Y_train, len(numbers)), numbers)
            pairs = {CHOOSING: (plain, ours), REFITTED: (ours, ours), ANYWHERE: (others, others)}
            split = {
                name: information.disentanglement(matcher.trees_[0], model.trees_[0].tree, *before, seed=seed)
                for name, (matcher, model) in pairs.items()
            }
    return {"labels": rows.Y_train.shape[1], "models": models, "information": split}


def _fused(rows: Rows, k: int, mode: str, seed: int) -> tuple[Rows, Any]:
    """Rows with fused labels, and the fused label of each label."""
    n_labels = max(rows.Y_train.shape[1], rows.Y_test.shape[1])
    Y_train, Y_test = (_widened(Y, n_labels) for Y in (rows.Y_train, rows.Y_test))
    numbers = fusing.fused_labels(mode, pifa(rows.X_train, Y_train), k, seed)
    return rows.with_labels(fusing.fused(Y_train, numbers), fusing.fused(Y_test, numbers)), numbers


def _widened(Y: Any, n_labels: int) -> Any:
    Y = sparse.csr_array(Y)
    return sparse.csr_array((Y.data, Y.indices, Y.indptr), shape=(Y.shape[0], n_labels))


@cache
def series(k: int) -> dict[str, str]:
    """What is compared with the plain tree, by what it is called: copies for each component come where k is not 2."""
    found = {}
    for copies in sorted({2, k}):
        found |= {f"copies {copies}": f"copies={copies}", f"random {copies}": f"as many random copies ({copies})"}
    return found


def gains(case: dict[str, Any], name: str, metric: str = "P@5") -> np.ndarray[Any, Any]:
    """By how many points a model is above the plain one, for each seed."""
    return np.array([run["models"][name][metric] - run["models"][PLAIN][metric] for run in case["runs"]])
