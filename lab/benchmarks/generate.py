"""Generated power-law data of any size, as the four matrices that `compare.py` and `scale.py` take.

Usage: python -m lab.benchmarks.generate FOLDER --labels 100000 [--rows N] [--features N] [--test-rows N] [--seed 0]

Labels and features have Zipf frequencies. Labels belong to topics; a row's first label is drawn from all, most of its
others from the same topic. Each label and each topic has a profile of features, from which a row draws for each of its
labels and for its topic; the rest of its features are background. Values are tf-idf at unit norm: about 5 labels and 90
features a row. Rows are made in blocks, each with its own seed, and written as they come, so that memory does not grow
with their number; the bytes depend on nothing but the arguments.
"""

from __future__ import annotations

import argparse
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

BLOCK = 1 << 14  # rows made at a time
LABELS_PER_TOPIC = 40
MORE_LABELS = 5.8  # draws beyond the first, on average; some repeat a label
STRAY = 0.1  # share of these that come from any topic
LABEL_PROFILE, TOPIC_PROFILE = 16, 64
PER_LABEL, PER_TOPIC, BACKGROUND = 6, 22, 46  # features that a row draws


class Zipf:
    """Ranks from 0 with probabilities that fall as a power of the rank."""

    def __init__(self, n: int, power: float, shift: float) -> None:
        self.weights = (np.arange(n) + shift) ** -power
        self.sums = np.cumsum(self.weights)

    def draw(self, rng: np.random.Generator, size: Any) -> np.ndarray:
        return np.minimum(np.searchsorted(self.sums, rng.random(size) * self.sums[-1]), len(self.sums) - 1)


class World:
    """What rows are drawn from: the labels' topics and frequencies, and the profiles."""

    def __init__(self, features: int, labels: int, seed: int) -> None:
        rng = np.random.default_rng([seed, 0])
        self.n_features, self.n_labels, self.seed = features, labels, seed
        self.words = Zipf(features, power=1.05, shift=20.0)
        topics = max(1, labels // LABELS_PER_TOPIC)
        topic_of = rng.integers(0, topics, labels)
        weights = rng.permutation(Zipf(labels, power=0.95, shift=10.0).weights)
        self.order = np.argsort(topic_of, kind="stable").astype(np.int32)  # labels by topic
        self.topics = topic_of[self.order]
        self.starts = np.searchsorted(self.topics, np.arange(topics + 1))
        self.sums = np.concatenate([[0.0], np.cumsum(weights[self.order])])
        self.label_profiles = self._draw_words(rng, (labels, LABEL_PROFILE), rare=0.7)
        self.topic_profiles = self._draw_words(rng, (topics, TOPIC_PROFILE), rare=0.4)

    def block(self, number: int, n_rows: int) -> tuple[Any, Any]:
        """Counts of features and marks of labels for one block of rows."""
        rng = np.random.default_rng([self.seed, 1, number])
        first = self._draw_labels(rng, np.zeros(n_rows), np.full(n_rows, self.sums[-1]))
        topics = self.topics[first]
        rows = np.repeat(np.arange(n_rows), rng.poisson(MORE_LABELS, n_rows))
        others = self._draw_mates(rng, topics[rows])
        label_rows = np.concatenate([np.arange(n_rows), rows])
        labels = self.order[np.concatenate([first, others])]
        X = self._features(rng, label_rows, labels, topics)
        Y = marks(label_rows, labels, (n_rows, self.n_labels))
        Y.data[:] = 1
        return X, Y

    def _draw_labels(self, rng: np.random.Generator, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Places in `order` with cumulated weight between `low` and `high`."""
        sought = low + rng.random(len(low)) * (high - low)
        return np.clip(np.searchsorted(self.sums, sought, side="right") - 1, 0, self.n_labels - 1)

    def _draw_mates(self, rng: np.random.Generator, topics: np.ndarray) -> np.ndarray:
        """Labels of the given topics, some of any topic."""
        stray = rng.random(len(topics)) < STRAY
        low = np.where(stray, 0.0, self.sums[self.starts[topics]])
        high = np.where(stray, self.sums[-1], self.sums[self.starts[topics + 1]])
        return self._draw_labels(rng, low, high)

    def _features(
        self, rng: np.random.Generator, label_rows: np.ndarray, labels: np.ndarray, topics: np.ndarray
    ) -> Any:
        n_rows = len(topics)
        rows = [np.repeat(label_rows, PER_LABEL), np.repeat(np.arange(n_rows), PER_TOPIC + BACKGROUND)]
        of_labels = self.label_profiles[np.repeat(labels, PER_LABEL), early(rng, len(rows[0]), LABEL_PROFILE)]
        of_topics = self.topic_profiles[topics[:, None], early(rng, (n_rows, PER_TOPIC), TOPIC_PROFILE)]
        background = self._draw_words(rng, (n_rows, BACKGROUND), rare=0.05)
        words = np.concatenate([of_labels, np.hstack([of_topics, background]).ravel()])
        return marks(np.concatenate(rows), words, (n_rows, self.n_features))

    def _draw_words(self, rng: np.random.Generator, size: tuple[int, int], rare: float) -> np.ndarray:
        """Features by frequency, a share of them from all alike."""
        alike = rng.integers(0, self.n_features, size, dtype=np.int32)
        return np.where(rng.random(size) < rare, alike, self.words.draw(rng, size).astype(np.int32))


def early(rng: np.random.Generator, size: Any, n: int) -> np.ndarray:
    """Places in a profile, the first ones more often."""
    return (rng.random(size) ** 1.6 * n).astype(np.int32)


def marks(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Any:
    """A matrix with the number of times each pair occurs."""
    M = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape)
    M.sort_indices()
    return M


@dataclass
class Parts:
    """The arrays of a growing matrix: those that are large lie in files."""

    folder: Path
    name: str
    n_columns: int

    def __post_init__(self) -> None:
        self.lengths: list[np.ndarray] = []
        self.files = {part: (self.folder / f"{self.name}.{part}").open("w+b") for part in ("indices", "data")}

    def add(self, M: Any) -> None:
        """Puts rows at the end."""
        self.lengths.append(np.diff(M.indptr))
        self.files["indices"].write(M.indices.astype(np.int32).data)
        self.files["data"].write(M.data.astype(np.float32).data)

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Lengths of rows, indices and data, as they were added."""
        for file in self.files.values():
            file.seek(0)
        for lengths in self.lengths:
            size = 4 * int(lengths.sum())
            indices = np.frombuffer(self.files["indices"].read(size), np.int32)
            yield lengths, indices, np.frombuffer(self.files["data"].read(size), np.float32)

    def write(self, path: Path, weights: np.ndarray | None) -> None:
        """The matrix as scipy's `load_npz` reads it; with `weights` of features, tf-idf at unit norm."""
        lengths = np.concatenate(self.lengths)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        width = np.int32 if indptr[-1] < 2**31 else np.int64
        size = int(indptr[-1])
        values = (data if weights is None else tf_idf(n, i, data, weights) for n, i, data in self.blocks())
        with zipfile.ZipFile(path, "w") as archive:
            write_array(archive, "data", np.float32, size, values)
            write_array(archive, "indices", width, size, (i.astype(width) for _, i, _ in self.blocks()))
            write_array(archive, "indptr", width, len(indptr), [indptr.astype(width)])
            write_array(archive, "shape", np.int64, 2, [np.array([len(lengths), self.n_columns])])
            with archive.open(entry("format"), "w") as member:
                npy.write_array(member, np.array(b"csr"))
        for file in self.files.values():
            file.close()


def tf_idf(lengths: np.ndarray, indices: np.ndarray, counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weights of a block's entries, each row at unit norm; every row has an entry."""
    values = (1 + np.log(counts)) * weights[indices]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    norms = np.sqrt(np.add.reduceat(values * values, starts))
    return (values / np.repeat(norms, lengths)).astype(np.float32)


def entry(name: str) -> zipfile.ZipInfo:
    """A member of the archive at a fixed date, so that the bytes depend on the arguments alone."""
    return zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))


def write_array(archive: zipfile.ZipFile, name: str, dtype: Any, size: int, pieces: Iterable[np.ndarray]) -> None:
    """One array of the archive, piece by piece."""
    with archive.open(entry(name), "w", force_zip64=True) as member:
        header = {"descr": npy.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": (size,)}
        npy.write_array_header_1_0(member, header)
        for piece in pieces:
            member.write(np.ascontiguousarray(piece).data)


def generate(folder: Path, rows: int, features: int, labels: int, *, test_rows: int, seed: int = 0) -> None:
    """Writes training and test rows of one world into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    world = World(features, labels, seed)
    frequencies = np.zeros(features, np.int64)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        weights = np.zeros(0)
        for split, n_rows, offset in (("trn", rows, 0), ("tst", test_rows, 1 << 40)):
            X = Parts(Path(scratch), f"X.{split}", features)
            Y = Parts(Path(scratch), f"Y.{split}", labels)
            for start in range(0, n_rows, BLOCK):
                counts, given = world.block(offset + start, min(BLOCK, n_rows - start))
                X.add(counts)
                Y.add(given)
                if split == "trn":
                    frequencies += np.bincount(counts.indices, minlength=features)
            if split == "trn":
                weights = np.log((1 + rows) / (1 + frequencies)) + 1
            X.write(folder / f"X.{split}.npz", weights)
            Y.write(folder / f"Y.{split}.npz", None)


def main() -> None:
    """Generates what the command line asks for."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--labels", type=int, required=True)
    arguments.add_argument("--rows", type=int, help="as many as labels if not given")
    arguments.add_argument("--features", type=int, help="as many as labels if not given")
    arguments.add_argument("--test-rows", type=int, default=10_000)
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    rows, features = options.rows or options.labels, options.features or options.labels
    generate(options.folder, rows, features, options.labels, test_rows=options.test_rows, seed=options.seed)


if __name__ == "__main__":
    main()
