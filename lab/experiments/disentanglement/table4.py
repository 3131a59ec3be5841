"""Table 4: base, without and with refitting the matcher, on real labels; and what else can be chosen."""

from __future__ import annotations

import argparse
from typing import Any

from lab.experiments.disentanglement.datasets import NAMES
from lab.experiments.disentanglement.learning import Trials, copies_a_label, judged, with_merge

SETS = tuple(NAMES)
MERGES = ("max", "mean")
BASE, RANKER, ALL, RANDOM = "base", "without refit", "with refit", "random copies"
VARIANTS: dict[str, dict[str, Any]] = {
    BASE: {},
    RANKER: {"copies": 2, "refit": "ranker"},
    ALL: {"copies": 2},
    "out-of-fold": {"copies": 2, "matching": "out-of-fold"},
    "crowding 2": {"copies": 2, "crowding": 2.0},
    "crowding 1, the default": {"copies": 2, "crowding": 1.0},
    RANDOM: {},
}


def measure(trials: Trials, options: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """Of each variant the figures of all seeds."""
    found: dict[str, list[dict[str, Any]]] = {variant: [] for variant in VARIANTS}
    for seed in range(options.seeds):
        for variant, params in VARIANTS.items():
            found[variant].append(_run(trials, variant, params, seed))
    return found


def _run(trials: Trials, variant: str, params: dict[str, Any], seed: int) -> dict[str, Any]:
    settings = {"variant": variant, **params, "seed": seed}
    name = f"{variant.replace(' ', '-')}-seed-{seed}"
    return trials.figures(name, settings, lambda: _figures(trials, variant, params, seed))


def _figures(trials: Trials, variant: str, params: dict[str, Any], seed: int) -> dict[str, Any]:
    """How copies' scores are merged matters to the search only, so that one training serves both ways."""
    if variant == RANDOM:
        model = trials.trained(tree=trials.random_tree(copies=2, seed=seed), seed=seed)
    else:
        model = trials.trained(**params, seed=seed)
    if variant in (BASE, ALL):
        trials.remember(params.get("copies", 1), seed, model)
    merges = MERGES[:1] if variant == BASE else MERGES
    return {
        "copies_a_label": copies_a_label(model),
        "largest_leaf": int(model.trees_[0].tree.leaf_sizes.max()),
        **{merge: judged(with_merge(model, merge), trials.rows) for merge in merges},
    }
