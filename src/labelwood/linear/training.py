"""Trains the classifiers of a tree: all or some, at once or level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood import _native
from labelwood._native import Progress, SearchOptions, TrainingOptions
from labelwood.arrays.rows import Floats, Pattern, Sparse, from_scipy
from labelwood.labels.representations import Members, members_of
from labelwood.linear.blocks import Blocks, count, placed
from labelwood.linear.trained import TrainedTree
from labelwood.trees.copies import Merge
from labelwood.trees.tree import LabelTree

Negatives: TypeAlias = Literal["tree", "beam", "both"]
Loss: TypeAlias = Literal["squared-hinge", "logistic"]


@dataclass(frozen=True)
class Training:
    """What is trained on and how; see `TreeClassifier` for the meaning of the parameters."""

    rows: Sparse
    feature_numbers: NDArray[np.int32]  # what each feature is called in the blocks
    members: Members
    row_weights: Floats
    options: TrainingOptions
    negatives: Negatives
    search: SearchOptions  # for the rows that classifiers send to nodes
    merge: Merge
    n_threads: int

    def on(self, numbers: NDArray[Any], Y: Sparse) -> Training:
        """The same for some of the rows, whose labels are in `Y`."""
        return replace(
            self,
            rows=from_scipy(self.rows.to_scipy()[numbers]),
            members=members_of(from_scipy(Y.to_scipy()[numbers])),
            row_weights=self.row_weights[numbers] if len(self.row_weights) else self.row_weights,
        )

    def run(self, tree: LabelTree, progress: Progress) -> TrainedTree:
        """Trains all classifiers of a tree."""
        return self._trained(tree, np.arange(tree.n_nodes, dtype=np.int32), progress)

    def matcher(self, tree: LabelTree, progress: Progress) -> TrainedTree:
        """Trains those that lead to the leaves, none of the labels in them: enough to see which leaves rows reach."""
        return self._trained(tree, np.flatnonzero(np.diff(tree.child_ptr)).astype(np.int32), progress)

    def ranker(self, matcher: TrainedTree, tree: LabelTree, progress: Progress) -> TrainedTree:
        """A matcher with classifiers for the labels in the leaves; `tree` may hold other labels there than its own."""
        leaves = tree.leaves.astype(np.int32)
        sent = None if self.negatives == "tree" else self._rows_sent_to(matcher, leaves, None)
        labels = self._nodes(tree, leaves, sent, progress)
        return self._joined(tree, [(np.arange(count(matcher.blocks)), matcher.blocks), (leaves, labels)])

    def _trained(self, tree: LabelTree, nodes: NDArray[np.int32], progress: Progress) -> TrainedTree:
        if self.negatives == "tree":
            return self._joined(tree, [(nodes, self._nodes(tree, nodes, None, progress))])
        return self._level_by_level(tree, nodes, progress)

    def _level_by_level(self, tree: LabelTree, nodes: NDArray[np.int32], progress: Progress) -> TrainedTree:
        """A node's negatives are the rows that the classifiers above it, trained before, send there."""
        parts: list[tuple[NDArray[Any], Blocks]] = []
        for depth in range(int(tree.depths.max()) + 1):
            level = nodes[tree.depths[nodes] == depth]
            if not len(level):
                break
            sent: Pattern | None = None
            if depth:
                first = int(np.searchsorted(tree.depths, depth))
                sent = self._rows_sent_to(self._joined(tree, parts), level, first)
            parts.append((level, self._nodes(tree, level, sent, progress)))
        return self._joined(tree, parts)

    def _joined(self, tree: LabelTree, parts: Sequence[tuple[NDArray[Any], Blocks]]) -> TrainedTree:
        return TrainedTree(tree, placed(tree.n_nodes, parts), self.options.precision, self.feature_numbers, self.merge)

    def _rows_sent_to(self, above: TrainedTree, nodes: NDArray[np.int32], first: int | None) -> Pattern:
        """Nodes × rows."""
        reached = above.reached(self.rows, self.search, n_threads=self.n_threads, first=first)
        by_node = sparse.csc_array(reached.to_scipy())[:, nodes]
        return Pattern(by_node.indptr.astype(np.int64), by_node.indices.astype(np.int32), self.rows.n_rows)

    def _nodes(
        self,
        tree: LabelTree,
        nodes: NDArray[np.int32],
        sent: Pattern | None,
        progress: Progress,
    ) -> Blocks:
        """The blocks of some nodes, also trained on the rows `sent` to each."""
        blocks = _native.train_tree(
            rows=self.rows,
            members=self.members,
            tree=tree,
            options=self.options,
            feature_numbers=self.feature_numbers,
            row_weights=self.row_weights,
            nodes=nodes,
            rows_with_labels=self.negatives != "beam" or sent is None,
            sent=sent,
            n_threads=self.n_threads,
            progress=progress,
        )
        return Blocks(**blocks)


def numbers_by_frequency(rows: Sparse) -> NDArray[np.int32]:
    """A number for each feature, the most frequent first.

    Example:
        >>> from labelwood.arrays.rows import from_scipy
        >>> numbers_by_frequency(from_scipy(sparse.csr_array([[0, 2, 1], [0, 0, 1]], dtype=np.float32)))
        array([2, 1, 0], dtype=int32)
    """
    if rows.n_cols > len(rows.indices):
        return _numbers_of_few(rows)
    counts = np.bincount(rows.indices, minlength=rows.n_cols)
    numbers = np.empty(rows.n_cols, np.int32)
    numbers[np.argsort(-counts, kind="stable")] = np.arange(rows.n_cols, dtype=np.int32)
    return numbers


def _numbers_of_few(rows: Sparse) -> NDArray[np.int32]:
    """The same where most features do not occur: only those that do are counted and sorted."""
    used, counts = np.unique(rows.indices, return_counts=True)
    is_unused = np.ones(rows.n_cols, bool)
    is_unused[used] = False
    numbers = np.cumsum(is_unused, dtype=np.int32)
    numbers += np.int32(len(used) - 1)
    numbers[used[np.argsort(-counts, kind="stable")]] = np.arange(len(used), dtype=np.int32)
    return numbers
