"""The datasets of the experiments: official splits, and one that is generated."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import labelwood as lw
from labelwood.labels import LabelIndex
from labelwood.models.text import features_as_learned, features_to_learn_from, labels_to_learn_from

GENERATED = "generated"
NAMES = {
    "eurlex4k": "EURLex-4K",
    "wordnet": "WordNet",
    "debian_deps": "Debian",
    "bookcrossing": "BookCrossing",
    "loc_lcsh": "loc_lcsh",
    GENERATED: "generated",
}
GENERATOR = Path(__file__).parents[2] / "benchmarks" / "generate.py"


@dataclass(frozen=True)
class Rows:
    """Features and labels of training and test rows; `filters` are pairs (test row, label) that do not count."""

    X_train: Any
    Y_train: Any
    X_test: Any
    Y_test: Any
    filters: Any = None


def read(name: str, data: Path, out: Path, generated_labels: int) -> Rows:
    """A dataset by the name of its folder in `data`; the generated one is made in `out` unless it is there."""
    folder = data / name
    if name == GENERATED and not folder.is_dir():
        folder = out / "data" / f"{name}-{generated_labels}"
        if not (folder / "Y.tst.npz").exists():  # which is written last
            command = [sys.executable, str(GENERATOR), str(folder), "--labels", str(generated_labels)]
            subprocess.run(command, check=True)
    train = lw.read(folder, split="train")
    test = lw.read(folder, split="test").align(train.labels or LabelIndex())
    vectorizer, X_train = features_to_learn_from(train, lw.TextVectorizer())
    X_test = features_as_learned(test, vectorizer, X_train.shape[1])
    return Rows(X_train, labels_to_learn_from(train), X_test, test.Y, test.filters)
