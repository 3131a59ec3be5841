"""Trains a tree whose labels lie in several leaves, chosen by where the search looks for them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood.arrays.rows import Sparse, from_scipy
from labelwood.linear.trained import TrainedTree
from labelwood.linear.training import Training
from labelwood.trees import LabelTree, overlapping
from labelwood.trees.copies import Copies

_FOLDS = 3


@dataclass(frozen=True)
class Disentangling:
    """Trains trees in which labels lie in the leaves that `copies` says."""

    copies: Copies

    def run(self, training: Training, start: LabelTree | TrainedTree, Y: Sparse, progress: Any) -> TrainedTree:
        """Trains a tree like the one to start from, but for the leaves that labels lie in."""
        if self.copies.all_rounds == 0 and isinstance(start, LabelTree):
            return training.run(start, progress)
        matcher = start if isinstance(start, TrainedTree) else training.matcher(start, progress)
        tree = matcher.tree
        for number in range(self.copies.all_rounds):
            if number and self.copies.refit == "all":
                matcher = training.matcher(tree, progress)
            reached = self._reached(training, matcher, Y, progress)
            limits: dict[str, Any] = {"copies": self.copies.number, "max_labels": self._room(tree)}
            tree = overlapping(tree, Y.to_scipy(), reached, **limits, n_threads=training.n_threads)
        return training.run(tree, progress) if self.copies.refit == "all" else training.ranker(matcher, tree, progress)

    def _room(self, tree: LabelTree) -> NDArray[np.int64] | None:
        """Of each leaf how many labels it may hold: never fewer than now, so that none has to go."""
        if self.copies.crowding is None:
            return None
        limit = math.ceil(self.copies.crowding * self.copies.number * tree.n_labels / len(tree.leaves))
        return np.maximum(tree.leaf_sizes, limit)

    def _reached(self, training: Training, matcher: TrainedTree, Y: Sparse, progress: Any) -> Any:
        """Rows × leaves."""
        if self.copies.matching == "in-sample":
            return _leaves_reached(training, matcher, training.rows)
        fold_of = np.random.default_rng(training.options.seed).integers(_FOLDS, size=Y.n_rows)
        parts = []
        for fold in range(_FOLDS):
            others = training.on(np.flatnonzero(fold_of != fold), Y)
            rows = from_scipy(training.rows.to_scipy()[fold_of == fold])
            parts.append(_leaves_reached(training, others.matcher(matcher.tree, progress), rows))
        return sparse.vstack(parts, format="csr")[np.argsort(np.argsort(fold_of, kind="stable"))]


def _leaves_reached(training: Training, matcher: TrainedTree, rows: Sparse) -> Any:
    reached = matcher.reached(rows, training.search, n_threads=training.n_threads)
    return reached.to_scipy()[:, matcher.tree.leaves]
