"""The same words for all: the texts of a dataset lowered and split into words once, as files in fastText's format."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import labelwood as lw
from lab.benchmarks.rivals.prepared import read_split

NAMES = {"eurlex57k": "EURLEX57K", "wordnet": "WordNet", "debian_deps": "Debian", "loc_lcsh": "loc_lcsh"}
WORD = re.compile(r"\w+")
HELD_OUT = 6  # one training row in six, at random, chooses settings
FORMAT = "fasttext"


@dataclass(frozen=True)
class Corpus:
    """A folder with train.txt and test.txt, whose labels are numbers, and what is needed to judge answers."""

    folder: Path

    @property
    def choosing(self) -> Corpus:
        """The training rows again: most of them to learn from, the others to choose settings by."""
        return Corpus(self.folder / "choosing")

    @cached_property
    def truth(self) -> Any:
        """Test rows × labels."""
        return sparse.csr_array(sparse.load_npz(self.folder / "truth.npz"))

    @cached_property
    def frequencies(self) -> Any:
        """How many training rows each label has."""
        return np.load(self.folder / "frequencies.npy")


def corpus(name: str, data: Path, out: Path, rows: int | None) -> Corpus:
    """That of the dataset `name`, made in `out` unless it is there; with `rows`, of its first rows only."""
    folder = out / "data" / (name if rows is None else f"{name}-{rows}")
    if not (folder / "frequencies.npy").exists():  # which is written last
        train = read_split(data / name, "train")
        test = read_split(data / name, "test").align(train.labels)
        texts = [words_of(split.texts.to_pylist()[:rows]) for split in (train, test)]
        Y_train, Y_test = (sized(split.Y[:rows], test.n_labels) for split in (train, test))
        held_out = np.random.default_rng(0).permutation(len(texts[0])) % HELD_OUT == 0
        to_learn, to_choose = (([texts[0][i] for i in np.flatnonzero(m)], Y_train[m]) for m in (~held_out, held_out))
        write(folder / "choosing", to_learn, to_choose)
        write(folder, (texts[0], Y_train), (texts[1], Y_test))
    return Corpus(folder)


def words_of(texts: Iterable[str]) -> list[str]:
    """Each text as its words in lower case with a space between them."""
    return [" ".join(WORD.findall(text.lower())) for text in texts]


def sized(Y: Any, n_labels: int) -> Any:
    """Rows × labels with a column for each label that either split has."""
    Y = sparse.csr_matrix(Y)
    Y.resize(Y.shape[0], n_labels)
    return sparse.csr_array(Y)


def write(folder: Path, train: tuple[list[str], Any], test: tuple[list[str], Any]) -> None:
    """Writes the files of a corpus: texts and labels of both splits."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, (texts, Y) in (("train", train), ("test", test)):
        rows = lw.Dataset(texts=texts, Y=Y, labels=lw.LabelIndex.numbered(Y.shape[1]))
        lw.write(rows, folder / f"{split}.txt", format=FORMAT, overwrite=True)
    sparse.save_npz(folder / "truth.npz", test[1])
    np.save(folder / "frequencies.npy", np.bincount(train[1].indices, minlength=train[1].shape[1]))
