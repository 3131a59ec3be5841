"""How long single rows take: the search alone, and a whole call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lab.experiments.disentanglement.learning import K
from labelwood.tuning import latency

SEARCHED_ROWS, CALLED_ROWS = 2000, 1000
TURNS = 5


def times(models: Mapping[str, Any], X: Any) -> dict[str, dict[str, float]]:
    """Of each model median microseconds of a row's search and of a call for one row, one thread.

    Models take turns, each time in another order, so that noise hits all alike; the median turn counts.
    """
    random = np.random.default_rng(0)
    searches: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(TURNS):
        for name in random.permutation(list(models)).tolist():
            searches[name].append(1e6 * float(np.median(models[name].search_seconds(X[:SEARCHED_ROWS], K))))
    calls = latency.measure(list(models.values()), X, k=K, rows=CALLED_ROWS, rounds=TURNS)
    return {
        name: {"search_us": float(np.median(turns)), "call_us": 1e3 * call["p50_ms"]}
        for (name, turns), call in zip(searches.items(), calls, strict=True)
    }
