"""The paper's Figure 4: precision against expected depth for trees from balanced to Fano's, beside Huffman's."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from lab.experiments.softmax_tree.corpora import NAMES
from lab.experiments.softmax_tree.learning import Trials
from lab.experiments.softmax_tree.settings import settings
from labelwood.trees import lam_of
from labelwood.tuning import Point

SETS = tuple(NAMES)
SCALES = (0, 0.25, 0.5, 0.75, 1, 2, 4, 16, 64, 256, 1e5)  # λ′
HUFFMAN, INTERPOLATED = "huffman", "interpolated"
SEEDS = 2
DECAYS = (0.015, 0.0)  # the model's own; and none, as fastText has it


def measure(trials: Trials, options: argparse.Namespace) -> list[dict[str, Any]]:
    """A point for each number of epochs, decay and tree: means over seeds, lowest and highest."""
    trees: list[dict[str, Any]] = [{"tree": HUFFMAN}]
    trees += [{"tree": INTERPOLATED, "lam": lam_of(scale)} for scale in options.scales]
    found = []
    for epochs, decay, tree in product(options.epochs, options.decays, trees):
        params = {"epochs": epochs, "decay": decay, **tree}
        runs = [_figures(trials, params, seed, options) for seed in range(options.figure_seeds)]
        found.append({"epochs": epochs, "decay": decay, **Point.of(tree["tree"], tree.get("lam"), runs).plain()})
    return found


def _figures(trials: Trials, params: dict[str, Any], seed: int, options: argparse.Namespace) -> dict[str, float]:
    name = "-".join(f"{value:.6g}" if isinstance(value, float) else str(value) for value in params.values())
    figures = trials.figures(f"{name}-seed-{seed}", settings(seed=seed, **params), options.threads)
    return {each: value for each, value in figures.items() if each != "digest"}


def way_of(point: Mapping[str, Any]) -> tuple[str, str]:
    """The epochs and the decay that a point was trained with."""
    return str(point["epochs"]), f"{point['decay']:g}"


def curves(points: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    """The points of each way to train."""
    return {way: [point for point in points if way_of(point) == way] for way in dict.fromkeys(map(way_of, points))}
