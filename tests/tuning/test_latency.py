"""Latency: all models take turns on the same rows with one thread, and a noisy round does not change the result."""

from __future__ import annotations

import time

import numpy as np
import pytest

from labelwood.tuning.latency import _WARM, measure


class Model:
    """Logs the rows that it predicts."""

    def __init__(self, name, log):
        self.name, self.log, self.params = name, log, {}

    def set_params(self, **params):
        self.params |= params

    def predict_topk(self, row, k):
        assert (row.shape[0], k, self.params) == (1, 5, {"n_threads": 1})
        self.log.append((self.name, float(row[0, 0])))


def test_models_take_turns_in_every_round():
    log = []
    models = [Model(name, log) for name in "abc"]
    calls = []
    found = measure(models, np.arange(100.0)[:, None], rows=30, rounds=4, on_model=calls.append)
    assert len(found) == 3
    assert sum(calls) == 3 * 4
    turns = [log[i : i + 30 + _WARM] for i in range(0, len(log), 30 + _WARM)]
    assert len(turns) == 12
    for number in range(4):
        assert sorted(turn[0][0] for turn in turns[3 * number : 3 * number + 3]) == ["a", "b", "c"]
    assert all(len({name for name, _ in turn}) == 1 for turn in turns)
    asked = {tuple(row for _, row in turn[_WARM:]) for turn in turns}
    assert len(asked) == 1  # the same rows for all
    assert len(set(asked.pop())) == 30


def test_a_figure_is_the_median_over_rounds(monkeypatch):
    # Ten rows take 1 ms each, but 50 ms in the second of three rounds.
    spans = [1e6] * 10 + [50e6] * 10 + [1e6] * 10
    ends = np.repeat(np.cumsum(spans), 2)
    ends[::2] -= spans
    ticks = iter(ends.astype(int).tolist())
    monkeypatch.setattr(time, "perf_counter_ns", lambda: next(ticks))
    assert measure([Model("a", [])], np.eye(10), rounds=3) == [
        {"p50_ms": pytest.approx(1.0), "p99_ms": pytest.approx(1.0)}
    ]
