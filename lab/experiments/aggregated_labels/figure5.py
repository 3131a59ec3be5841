"""Figure 5: the vectors that labels of images get, which are images themselves."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import labelwood as lw
from lab.experiments.aggregated_labels import datasets
from lab.experiments.aggregated_labels.table3 import one_hot
from lab.experiments.common.kept import Kept
from labelwood.groups import merged_labels, random_groups

SETS = ("mnist", "fashion_mnist")
SIZE = 4
CLASS_NAMES = {
    "mnist": tuple("0123456789"),
    "fashion_mnist": ("T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Boot"),
}
ITERATIONS = {"EAGLE-0": 0, "EAGLE": 20}
LEVELS = 31  # what is kept of a pixel: whole numbers up to this, and as many below zero


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """Of EAGLE-0 and EAGLE the labels' vectors, and the shares of assignments that are right."""
    settings = {"size": SIZE, "iterations": ITERATIONS, "levels": LEVELS}
    return kept.figures(
        f"figure5-{SIZE}", settings, lambda: vectors(datasets.images(given.data / name, given.rows), given.threads)
    )


def vectors(rows: datasets.Rows, threads: int) -> dict[str, Any]:
    """Vectors with their largest entry at LEVELS."""
    groups = random_groups(len(rows.Y_train), SIZE, 0)
    counts = merged_labels(one_hot(rows.Y_train), groups)
    found = {}
    for way, iterations in ITERATIONS.items():
        eagle = lw.Eagle(iterations=iterations, n_threads=threads).fit(rows.X_train, groups, counts)
        embeddings = np.asarray(eagle.label_embeddings_)
        scaled = LEVELS * embeddings / np.abs(embeddings).max(axis=1, keepdims=True)
        given = eagle.assignment_
        found[way] = {
            "vectors": np.rint(scaled).astype(int).tolist(),
            "right": 100 * float((rows.Y_train[given.rows] == given.labels).mean()),
        }
    return found
