"""What a dataset is to an experiment: features and labels of training and test rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import labelwood as lw
from labelwood.labels import LabelIndex
from labelwood.tagger.rows import features_as_learned, features_to_learn_from


@dataclass(frozen=True)
class Rows:
    """Features and labels of training and test rows; `filters` are pairs (test row, label) that do not count.

    Of images the labels are numbers, else rows × labels.
    """

    X_train: Any
    Y_train: Any
    X_test: Any
    Y_test: Any
    filters: Any = None

    def with_labels(self, Y_train: Any, Y_test: Any) -> Rows:
        """The same rows with other labels."""
        return replace(self, Y_train=Y_train, Y_test=Y_test, filters=None)

    def held_out(self, every: int) -> Rows:
        """Splits the training rows at random: one row in `every` is held out to test, the others train."""
        judged = np.random.default_rng(0).permutation(self.X_train.shape[0]) % every == 0
        X, Y = self.X_train, self.Y_train
        return Rows(X[~judged], Y[~judged], X[judged], Y[judged])


def read(folder: Path, *, n_rows: int | None = None, columns: lw.Columns | None = None) -> Rows:
    """The official split of a dataset, with the features that `labelwood train` makes of it.

    With `n_rows`, only so many of its first training and test rows.
    """
    train = lw.read(folder, split="train", columns=columns)
    test = lw.read(folder, split="test", columns=columns).align(train.labels or LabelIndex())
    if n_rows is not None:
        train, test = (split.take(range(min(n_rows, len(split)))) for split in (train, test))
    vectorizer, X_train = features_to_learn_from(train, lw.TextVectorizer())
    X_test = features_as_learned(test, vectorizer, X_train.shape[1])
    return Rows(X_train, train.labels_to_learn_from(), X_test, test.Y, test.filters)
