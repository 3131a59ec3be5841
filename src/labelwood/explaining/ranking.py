"""Ranks labels whose copies are in different clusters that both fit them: these are worth a look."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelwood.errors import ParameterError
from labelwood.explaining.explanation import Word
from labelwood.explaining.labels import Naming, trees_of
from labelwood.explaining.weights import cluster_rows, unit_positive
from labelwood.linear.trained import TrainedTree
from labelwood.trees.overlap import places_of

if TYPE_CHECKING:
    from labelwood.tagger.classifier import TextClassifier

_CHUNK = 4096  # labels compared at a time


@dataclass(frozen=True)
class DividedLabel:
    """A label with copies in different clusters.

    `distance` is 1 − the cosine between the words of its two most different clusters. `fit` is the cosine between the
    label's own words and the words of the cluster that fits less well. A label ranks high if both are large: a copy in
    a cluster that has nothing to do with the label is far away but not interesting.

    Example:
        >>> DividedLabel("apple", 9, 2, 0, 0.8, 0.5, (("fruit",), ("computer",))).score
        0.4
    """

    label: str
    n_rows: int
    n_copies: int
    tree: int
    distance: float
    fit: float
    words: tuple[tuple[str, ...], ...]  # of each of the two clusters

    @property
    def score(self) -> float:
        """The score for the ranking: distance × fit."""
        return self.distance * self.fit


def most_divided(model: TextClassifier, *, count: int = 20, words: int = 4) -> list[DividedLabel]:
    """The labels whose copies differ most, best first. With several trees, a label counts in its best tree only.

    Reads the weights of all classifiers once.

    Example:
        >>> import labelwood as lw
        >>> most_divided(lw.TextClassifier().fit(["a dog barks", "a rose blooms"], [["animal"], ["plant"]]))
        []
    """
    if count < 1 or words < 1:
        raise ParameterError(f"count and words must be at least 1, not {count} and {words}")
    found: dict[str, DividedLabel] = {}
    numbers = range(len(trees_of(model)))
    naming = Naming.of(model)
    for number in numbers:
        for divided in _rank_tree(model, number, naming, count=count, words=words):
            if divided.label not in found or found[divided.label].score < divided.score:
                found[divided.label] = divided
    return sorted(found.values(), key=lambda divided: (-divided.score, divided.label))[:count]


def _rank_tree(model: TextClassifier, number: int, naming: Naming, *, count: int, words: int) -> list[DividedLabel]:
    trained = trees_of(model)[number]
    places = places_of(trained.tree)
    n_copies = np.diff(places.indptr)
    if n_copies.max() < 2:
        return []
    clusters = cluster_rows(trained)
    pairs, distances = _furthest_pairs(places, trained.tree.leaves, clusters)
    fits = _fits(trained, pairs, clusters)
    scores = np.where(n_copies > 1, distances * fits, 0)
    best = np.lexsort((np.arange(len(scores)), -scores))[:count]
    return [
        DividedLabel(
            label=model.labels_[int(label)],
            n_rows=int(model.frequencies_[label]),
            n_copies=int(n_copies[label]),
            tree=number,
            distance=round(float(distances[label]), 4),
            fit=round(float(fits[label]), 4),
            words=tuple(_words(clusters, int(leaf), naming, words) for leaf in pairs[label]),
        )
        for label in best
        if scores[label] > 0
    ]


def _words(clusters: Any, leaf: int, naming: Naming, count: int) -> tuple[str, ...]:
    found: tuple[Word, ...] = naming.strongest(clusters[[leaf]].toarray()[0], count)
    return tuple(word.word for word in found)


def _furthest_pairs(places: Any, leaves: Any, clusters: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each label its two leaves with the most different clusters, and their distance; its only leaf comes twice."""
    first = places.indptr[:-1]
    n_copies = np.diff(places.indptr)
    pairs = leaves[places.indices[np.stack([first, first], axis=1)]]
    distances = np.full(len(n_copies), -1.0)
    for one, other in combinations(range(n_copies.max()), 2):
        for labels in np.array_split(np.flatnonzero(n_copies > other), -(-len(n_copies) // _CHUNK)):
            found = leaves[places.indices[np.stack([first[labels] + one, first[labels] + other], axis=1)]]
            apart = 1 - clusters[found[:, 0]].multiply(clusters[found[:, 1]]).sum(axis=1)
            further = apart > distances[labels]
            pairs[labels[further]], distances[labels[further]] = found[further], apart[further]
    return pairs, np.maximum(distances, 0)


def _fits(trained: TrainedTree, pairs: Any, clusters: Any) -> NDArray[np.float64]:
    """How well the words of each label fit the cluster of its pair that fits less well."""
    tree = trained.tree
    fits = np.zeros(pairs.shape)
    for leaf in tree.leaves:
        labels = tree.labels[tree.label_ptr[leaf] : tree.label_ptr[leaf + 1]]
        is_paired = (pairs[labels] == leaf).any(axis=1)
        if not is_paired.any():
            continue
        paired = labels[is_paired]
        own = unit_positive(trained.block(int(leaf))[0].T.tocsr()[is_paired])
        for side in (0, 1):
            fits[paired, side] += own.multiply(clusters[pairs[paired, side]]).sum(axis=1) / 2
    weaker: NDArray[np.float64] = fits.min(axis=1)
    return weaker
