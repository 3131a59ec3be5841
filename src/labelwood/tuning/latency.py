"""Measures the latency of single rows, so that noise affects all models equally."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WARM = 20  # rows before the measurement: until then, caches hold the weights of the previous model


def measure(
    models: Sequence[Any],
    X: Any,
    *,
    k: int = 5,
    rows: int = 1000,
    rounds: int = 5,
    seed: int = 0,
    on_model: Callable[[int], object] = lambda _: None,
) -> list[dict[str, float]]:
    """The p50 and p99 of each model in milliseconds, for one row at a time with one thread.

    All models predict the same rows of `X`, at most `rows` of them. They take turns in each round, each round in a new
    random order. A figure is the median over rounds. `on_model` is called with 1 after each turn.

    Example:
        >>> import labelwood as lw
        >>> model = lw.CentroidClassifier().fit(np.eye(4), np.eye(4))
        >>> [sorted(found) for found in measure([model], np.eye(4), k=1, rounds=2)]
        [['p50_ms', 'p99_ms']]
    """
    random = np.random.default_rng(seed)
    chosen = np.sort(random.permutation(X.shape[0])[:rows])
    single = [X[row : row + 1] for row in chosen.tolist()]
    for model in models:
        model.set_params(n_threads=1)
    found: list[list[NDArray[np.float64]]] = [[] for _ in models]
    for _ in range(rounds):
        for number in random.permutation(len(models)).tolist():
            times = _time_rows(models[number], single, k)
            found[number].append(np.percentile(times, [50, 99]) / 1e6)
            on_model(1)
    medians = [np.median(turns, axis=0) for turns in found]
    return [{"p50_ms": float(p50), "p99_ms": float(p99)} for p50, p99 in medians]


def _time_rows(model: Any, rows: Sequence[Any], k: int) -> NDArray[np.int64]:
    """The nanoseconds that each row takes."""
    times = np.empty(len(rows), np.int64)
    for row in rows[:_WARM]:
        model.predict_topk(row, k)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for i, row in enumerate(rows):
            started = time.perf_counter_ns()
            model.predict_topk(row, k)
            times[i] = time.perf_counter_ns() - started
    finally:
        if collecting:
            gc.enable()
    return times
