"""The datasets: texts, labels with texts, and pairs that do not count."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import labelwood as lw
from labelwood.labels import LabelIndex, inverse_propensities
from labelwood.metrics import evaluate, extra_candidates, per_bin

NAMES = {"wordnet": "WordNet", "debian_deps": "Debian", "bookcrossing": "BookCrossing", "loc_lcsh": "loc_lcsh"}
MAX_TOKENS = {"wordnet": 48, "debian_deps": 128, "bookcrossing": 32, "loc_lcsh": 64}
KS = (1, 5, 100)
FIGURES = ("P@1", "P@5", "PSP@1", "PSP@5", "R@100")


@dataclass(frozen=True)
class Corpus:
    """The official split of a dataset."""

    name: str
    train: lw.Dataset
    test: lw.Dataset

    @property
    def label_texts(self) -> Any:
        """What each label says."""
        return self.train.label_texts

    def frequencies(self) -> Any:
        """How many training rows have each label."""
        return np.bincount(self.train.Y.indices, minlength=self.train.Y.shape[1])

    def inverse_propensities(self) -> Any:
        """By the training rows, as all figures use them."""
        return inverse_propensities(self.frequencies(), len(self.train))

    def n_answers(self) -> int:
        """How many labels to ask for, so that a hundred are left after the filter."""
        extra = 0 if self.test.filters is None else extra_candidates(self.test.filters, len(self.test))
        return max(KS) + extra

    def figures(self, top: lw.TopK) -> dict[str, Any]:
        """What answers to the test texts are worth; also the share of frequent and of rare labels among five."""
        found = evaluate(
            top,
            self.test.Y,
            ks=KS,
            metrics=("P", "PSP", "R"),
            inv_propensity=self.inverse_propensities(),
            filters=self.test.filters,
        )
        bins = per_bin(top, self.test.Y, self.frequencies(), 5, filters=self.test.filters)
        return {**{name: found[name] for name in FIGURES}, "found": {each.name: each.found for each in bins}}


def corpus(name: str, data: Path, n_rows: int | None = None) -> Corpus:
    """Reads a dataset; with `n_rows`, only so many of its first training and test rows."""
    train = lw.read(data / name, split="train")
    test = lw.read(data / name, split="test").align(train.labels or LabelIndex())
    if n_rows is not None:
        train, test = (split.take(range(min(n_rows, len(split)))) for split in (train, test))
    return Corpus(name, train, test)


def reversed_pairs(rows: lw.Dataset, learned: lw.Dataset) -> NDArray[np.int64]:
    """Pairs (row, label) of `rows` whose reverse is a pair of `learned`: the label's text has the row's as its label.

    Books that the same people read are labels of each other. BookCrossing bars such pairs from test rows, and what is
    calibrated on rows that have them trusts too much in who has seen them.
    """
    n_labels = len(rows.label_texts)
    of_text = {text: label for label, text in enumerate(rows.label_texts.to_pylist())}

    def pairs(some: lw.Dataset) -> tuple[Any, Any, Any]:
        own = np.array([of_text.get(text, -1) for text in some.texts.to_pylist()], np.int64)
        at = some.Y.tocoo()
        is_known = own[at.row] >= 0
        return at.row[is_known].astype(np.int64), own[at.row[is_known]], at.col[is_known].astype(np.int64)

    _, owns, labels = pairs(learned)
    at, own, label = pairs(rows)
    seen = np.isin(label * n_labels + own, owns * n_labels + labels)
    return np.stack([at[seen], label[seen]], axis=1)
