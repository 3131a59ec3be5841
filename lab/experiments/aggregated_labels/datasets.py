"""What the parts learn from: sparse rows with an official split, and images of ten classes."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

import labelwood as lw
from lab.experiments.common.rows import Rows
from labelwood.labels import LabelIndex
from labelwood.tagger.rows import features_as_learned, features_to_learn_from

MADE = "made"
NAMES = {
    "eurlex4k": "EURLex-4K",
    "eurlex57k": "EURLEX57K",
    "mnist": "MNIST",
    "fashion_mnist": "Fashion-MNIST",
    MADE: "made data",
}


@cache
def sparse_rows(folder: Path, rows: int | None) -> Rows:
    """Of a folder with a training and a test split; with `rows`, of the first ones only."""
    train = lw.read(folder, split="train")
    test = lw.read(folder, split="test").align(train.labels or LabelIndex())
    vectorizer, X_train = features_to_learn_from(train, lw.TextVectorizer())
    X_test = features_as_learned(test, vectorizer, X_train.shape[1])
    return Rows(X_train[:rows], train.labels_to_learn_from()[:rows], X_test[:rows], test.Y[:rows])


@cache
def images(folder: Path, rows: int | None) -> Rows:
    """Of an .npz with x_train, y_train, x_test and y_test: pixels from 0 to 1, less the mean of the training images."""
    with np.load(next(folder.glob("*.npz"))) as arrays:
        X_train, X_test = (
            arrays[name][:rows].reshape(len(arrays[name][:rows]), -1).astype(np.float32) / 255
            for name in ("x_train", "x_test")
        )
        y_train, y_test = (arrays[name][:rows].astype(np.int64) for name in ("y_train", "y_test"))
    mean = X_train.mean(axis=0)
    return Rows(X_train - mean, y_train, X_test - mean, y_test)
