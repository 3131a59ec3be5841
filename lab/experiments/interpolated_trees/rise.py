"""Why depth rises near λ = 2: answers whose labels are never the most frequent one of a row."""

from __future__ import annotations

from typing import Any

import numpy as np

import labelwood as lw
from lab.experiments.common.rows import Rows
from lab.experiments.interpolated_trees.datasets import GENERATED, NAMES
from labelwood.arrays.rows import as_labels
from labelwood.trees import lam_of
from labelwood.trees.coverage import label_weights

SETS = tuple(name for name in NAMES if name != GENERATED)
SCALES = (0, 2, 1e5)  # λ′
KS = (1, 5)


def measure(rows: Rows) -> dict[str, Any]:
    """The share of labels that count for no row, and of a few λ's how many answers they are and how deep they lie."""
    _, counted = label_weights(as_labels(rows.Y_train, rows.Y_train.shape[0]), "marginal", None)
    uncounted = counted == 0
    found: dict[str, Any] = {"labels": 100 * float(uncounted.mean()), "lams": []}
    for scale in SCALES:
        model = lw.TreeClassifier(tree="interpolated", lam=lam_of(scale), arity=2, max_leaf=100, beam=10, n_threads=1)
        ids = model.fit(rows.X_train, rows.Y_train).predict_topk(rows.X_test, max(KS)).ids
        depths = np.asarray(model.trees_[0].tree.label_depths)
        found["lams"].append({"lam": lam_of(scale), **_answers(ids, uncounted, depths)})
    return found


def _answers(ids: Any, uncounted: Any, depths: Any) -> dict[str, float | None]:
    """Of the first answers: the share that are uncounted labels, and the mean depths of these and of the others."""
    found: dict[str, float | None] = {}
    for k in KS:
        answers = ids[:, :k][ids[:, :k] >= 0]
        such = uncounted[answers]
        found[f"share@{k}"] = 100 * float(such.mean())
        for name, chosen in (("uncounted", such), ("counted", ~such)):
            found[f"{name}_depth@{k}"] = float(depths[answers[chosen]].mean()) if chosen.any() else None
    return found
