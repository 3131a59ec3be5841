"""Searches that may end early: what a bounded share of changed answers saves."""

from __future__ import annotations

import copy
import time
from typing import Any

import numpy as np

import labelwood as lw
from lab.experiments.common.rows import Rows
from labelwood.metrics import evaluate

SETS = ("wordnet", "debian_deps")
LOSSES = (0.01, 0.05, 0.2)
KS = (1, 5)
MODEL: dict[str, Any] = {"tree": "interpolated", "lam": 1.0, "arity": 2, "max_leaf": 10, "beam": 10}


def measure(rows: Rows, rounds: int) -> list[dict[str, Any]]:
    """For each k the exact search and those with a bound: what changed on rows that did not calibrate, and the time."""
    model = lw.TreeClassifier(**MODEL, n_threads=1).fit(rows.X_train, rows.Y_train)
    order = np.random.default_rng(0).permutation(rows.X_test.shape[0])
    middle = len(order) // 2
    calibrating, measuring = np.sort(order[:middle]), np.sort(order[middle:])
    X, Y = rows.X_test[measuring], rows.Y_test[measuring]
    found = []
    for k in KS:
        models = {loss: copy.copy(model).calibrate(rows.X_test[calibrating], k=k, loss=loss) for loss in LOSSES}
        found += _compared({None: model, **models}, X, Y, k, rounds)
    return found


def _compared(models: dict[float | None, Any], X: Any, Y: Any, k: int, rounds: int) -> list[dict[str, Any]]:
    exact = models[None].predict_topk(X, k).ids
    times = _cpu_times(list(models.values()), X, k, rounds)
    found = []
    for (loss, model), us in zip(models.items(), times, strict=True):
        top = model.predict_topk(X, k)
        costs = model.search_costs(X, k)
        found.append(
            {
                "k": k,
                "loss": loss,
                "changed": 100 * float((top.ids != exact).any(axis=1).mean()),
                **evaluate(top, Y, ks=(1, k) if k > 1 else (1,), metrics=("P",), n_threads=1),
                "nodes": costs["nodes"],
                "leaves": costs["leaves"],
                "batch_us": us,
            }
        )
    return found


def _cpu_times(models: list[Any], X: Any, k: int, rounds: int) -> list[float]:
    """CPU microseconds a row of one batch on one thread; models take turns, and the median round counts."""
    random = np.random.default_rng(0)
    found: list[list[float]] = [[] for _ in models]
    for _ in range(rounds):
        for number in random.permutation(len(models)).tolist():
            started = time.process_time()
            models[number].predict_topk(X, k)
            found[number].append(1e6 * (time.process_time() - started) / X.shape[0])
    return [float(np.median(turns)) for turns in found]
