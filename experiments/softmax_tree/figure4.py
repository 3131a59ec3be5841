"""The paper's Figure 4: precision against expected depth for trees from balanced to Fano's, beside Huffman's."""

from __future__ import annotations

import argparse
from typing import Any

from corpora import NAMES
from learning import Trials
from settings import settings

from labelwood.tradeoff import Point
from labelwood.trees import lam_of

SETS = tuple(NAMES)
SCALES = (0, 0.25, 0.5, 0.75, 1, 2, 4, 16, 64, 256, 1e5)  # λ′
HUFFMAN, INTERPOLATED = "huffman", "interpolated"
SEEDS = 2


def measure(trials: Trials, options: argparse.Namespace) -> list[dict[str, Any]]:
    """A point for each number of epochs and tree: means over seeds, lowest and highest."""
    trees: list[tuple[str, float | None]] = [(HUFFMAN, None)]
    trees += [(INTERPOLATED, lam_of(scale)) for scale in options.scales]
    found = []
    for epochs in options.epochs:
        for tree, lam in trees:
            own = {} if lam is None else {"lam": lam}
            runs = []
            for seed in range(options.figure_seeds):
                name = "-".join([f"{epochs}-epochs", tree, *(f"{value:.6g}" for value in own.values()), f"seed-{seed}"])
                figures = trials.figures(name, settings(epochs=epochs, seed=seed, tree=tree, **own), options.threads)
                runs.append({each: value for each, value in figures.items() if each != "digest"})
            found.append({"epochs": epochs, **Point.of(tree, lam, runs).plain()})
    return found
