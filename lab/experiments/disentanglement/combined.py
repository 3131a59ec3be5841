"""Copies together with other things that trees can be: interpolated, softmax trees, several of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import labelwood as lw
from lab.experiments.disentanglement.learning import Trials, judged, on_the_clock

SETS = ("wordnet", "debian_deps")
MODELS: dict[str, Callable[..., Any]] = {
    "k-means tree": lw.TreeClassifier,
    "interpolated tree": lambda **more: lw.TreeClassifier(tree="interpolated", lam=1.0, max_leaf=10, **more),
    "softmax tree": lw.SoftmaxTreeClassifier,
    "three trees": lambda **more: lw.TreeClassifier(n_trees=3, **more),
}
COPIES = 2


def measure(trials: Trials) -> dict[str, dict[str, dict[str, float]]]:
    """Of each model the figures without copies and with them."""
    return {name: _run(trials, name) for name in MODELS}


def _run(trials: Trials, name: str) -> dict[str, Any]:
    settings = {"model": name, "copies": COPIES, "seed": 0}
    return trials.figures(name.replace(" ", "-"), settings, lambda: _figures(trials, name))


def _figures(trials: Trials, name: str) -> dict[str, dict[str, float]]:
    """A trained model is disentangled; what this takes comes on top of its own training."""
    rows = trials.rows
    new = MODELS[name](seed=0, n_threads=trials.n_threads)
    plain, seconds = on_the_clock(lambda: new.fit(rows.X_train, rows.Y_train))
    ours, more = on_the_clock(lambda: lw.disentangle(plain, rows.X_train, rows.Y_train, copies=COPIES))
    return {
        "plain": {**judged(plain, rows), "train_cpu_s": seconds},
        "copies": {**judged(ours, rows), "train_cpu_s": seconds + more},
    }
