"""Trains the classifiers of a tree, all at once or level by level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood import _native
from labelwood.base import Limits
from labelwood.inputs import Floats, Sparse
from labelwood.search.tree import STORED, TrainedTree
from labelwood.trees.tree import LabelTree

Negatives: TypeAlias = Literal["tree", "beam", "both"]
Loss: TypeAlias = Literal["squared-hinge", "logistic"]
LOSSES: dict[str, int] = {"squared-hinge": 0, "logistic": 1}
NO_ROWS = np.empty(0, np.int64), np.empty(0, np.int32)  # sent to nodes by a matcher


@dataclass(frozen=True)
class Training:
    """What is trained on and how; see `TreeClassifier` for the meaning of the parameters."""

    rows: Sparse
    feature_numbers: NDArray[np.int32]  # what each feature is called in the blocks
    members: tuple[NDArray[np.int64], NDArray[np.int32]]  # the rows of each label
    row_weights: Floats
    loss: str
    cost: float
    positive_weight: float
    bias: float
    tolerance: float
    max_passes: int
    threshold: float
    max_weights: int  # 0: all
    precision: str
    seed: int
    negatives: str
    beam: int
    link: str
    n_threads: int

    def run(self, tree: LabelTree, progress: Any) -> TrainedTree:
        """Trains all classifiers of a tree."""
        if self.negatives == "tree":
            return TrainedTree.joined(
                tree, [self.nodes(tree, 0, tree.n_nodes, NO_ROWS, progress)], self.precision, self.feature_numbers
            )
        return self._level_by_level(tree, progress)

    def _level_by_level(self, tree: LabelTree, progress: Any) -> TrainedTree:
        """A node's negatives are the rows that the classifiers above it, trained before, send there."""
        blocks = [self.nodes(tree, 0, 1, NO_ROWS, progress)]
        begin, end = 0, 1
        while end < tree.n_nodes:
            above = TrainedTree.joined(
                _with_children_as_labels(tree, begin, end), blocks, self.precision, self.feature_numbers
            )
            begin, end = end, int(tree.child_ptr[end])
            matched = self._rows_sent_to(above, end - begin)
            blocks.append(self.nodes(tree, begin, end, matched, progress))
        return TrainedTree.joined(tree, blocks, self.precision, self.feature_numbers)

    def _rows_sent_to(self, above: TrainedTree, n_nodes: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        limits = Limits.of(above.tree.n_labels, include=np.arange(n_nodes))
        top, _ = above.topk(
            self.rows, min(self.beam, n_nodes), beam=self.beam, link=self.link, limits=limits, n_threads=self.n_threads
        )
        by_node = sparse.csc_array(top.to_scipy(above.tree.n_labels))[:, :n_nodes]
        return by_node.indptr.astype(np.int64), by_node.indices.astype(np.int32)

    def nodes(
        self,
        tree: LabelTree,
        begin: int,
        end: int,
        matched: tuple[NDArray[np.int64], NDArray[np.int32]],
        progress: Any,
    ) -> tuple[NDArray[Any], ...]:
        """The blocks of the nodes from `begin` up to `end`."""
        with_labels = self.negatives != "beam" or begin == 0
        blocks: tuple[NDArray[Any], ...] = _native.train_tree(
            *self.rows,
            *self.members,
            self.rows.n_rows,
            tuple(tree.arrays().values()),
            LOSSES[self.loss],
            self.cost,
            self.positive_weight,
            self.bias,
            self.tolerance,
            self.max_passes,
            self.threshold,
            self.max_weights,
            STORED[self.precision],
            self.seed,
            self.feature_numbers,
            self.row_weights,
            begin,
            end,
            with_labels,
            *matched,
            self.n_threads,
            progress,
        )
        return blocks


def numbers_by_frequency(rows: Sparse) -> NDArray[np.int32]:
    """A number for each feature, the most frequent first.

    Example:
        >>> from labelwood.inputs import from_scipy
        >>> numbers_by_frequency(from_scipy(sparse.csr_array([[0, 2, 1], [0, 0, 1]], dtype=np.float32)))
        array([2, 1, 0], dtype=int32)
    """
    counts = np.bincount(rows.indices, minlength=rows.n_cols)
    numbers = np.empty(rows.n_cols, np.int32)
    numbers[np.argsort(-counts, kind="stable")] = np.arange(rows.n_cols, dtype=np.int32)
    return numbers


def _with_children_as_labels(tree: LabelTree, begin: int, end: int) -> LabelTree:
    """The tree down to the level of the nodes from `begin` to `end`, whose children stand for labels.

    The first labels are those children. Leaves, at this level or above, keep as many labels as they have; these come
    after them and mean nothing.
    """
    child_ptr = np.minimum(tree.child_ptr[: end + 1], end).astype(np.int32)
    n_children = int(tree.child_ptr[end]) - end
    sizes = np.diff(tree.label_ptr[: end + 1])
    own = np.diff(tree.child_ptr[: end + 1])
    own[:begin] = 0  # inner nodes above keep their children
    label_ptr = np.concatenate([[0], np.cumsum(sizes + own)]).astype(np.int64)
    is_child = np.repeat(own > 0, sizes + own)
    labels = np.empty(len(is_child), np.int32)
    labels[is_child] = np.arange(n_children)
    labels[~is_child] = np.arange(n_children, len(is_child))
    return LabelTree(child_ptr, label_ptr, labels, len(is_child), verify=False)
