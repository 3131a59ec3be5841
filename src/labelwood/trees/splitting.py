"""Nodes that are not too wide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from scipy import sparse

from labelwood.arrays.rows import Sparse
from labelwood.trees.balanced import balanced

Nested: TypeAlias = list[Any]  # a leaf as a list of labels, an inner node as a list of nodes
T = TypeVar("T")


class Splitter(NamedTuple):
    """Makes nodes of nested lists, with more levels where there are too many labels or children for one.

    Example:
        >>> Splitter(2, 2, None, 0, 1).node([], [0, 1, 2, 3, 4])
        [[[0, 1], [2]], [3, 4]]
    """

    max_arity: int
    max_leaf: int
    vectors: Sparse | None  # of the labels: what is alike stays together; without, what is next to each other
    seed: int
    n_threads: int | None

    def node(self, children: list[Nested], labels: list[int]) -> Nested:
        """A node with these nodes and these labels below it."""
        leaves = [] if not labels else [self._leaf(labels)]
        if leaves and children and leaves[0] and isinstance(leaves[0][0], list):
            leaves = leaves[0]
        return self._inner([*leaves, *children])

    def _leaf(self, labels: list[int]) -> Nested:
        if len(labels) <= self.max_leaf:
            return labels
        return [self._leaf(part) for part in self._parts(labels, [[label] for label in labels], self.max_leaf)]

    def _inner(self, nodes: list[Nested]) -> Nested:
        if len(nodes) == 1:
            return nodes[0]
        if len(nodes) <= self.max_arity:
            return nodes
        below = [_labels_of(node) for node in nodes] if self.vectors is not None else []
        return [self._inner(part) for part in self._parts(nodes, below, self.max_arity)]

    def _parts(self, things: Sequence[T], labels: list[list[int]], most: int) -> list[list[T]]:
        """As many parts as are needed for none to have more than `most`, but no more than a node may have children."""
        n_parts = min(self.max_arity, -(-len(things) // most))
        groups = np.array_split(np.arange(len(things)), n_parts)
        if self.vectors is not None:
            sums = _sums(self.vectors, labels)
            size = -(-len(things) // n_parts)
            tree = balanced(sums, arity=n_parts, max_leaf=size, seed=self.seed, n_threads=self.n_threads)
            groups = [
                np.sort(tree.labels[a:b]) for a, b in zip(tree.label_ptr, tree.label_ptr[1:], strict=False) if b > a
            ]
        return [[things[i] for i in group] for group in groups]


def _sums(vectors: Sparse, labels: list[list[int]]) -> Any:
    indptr = np.cumsum([0, *map(len, labels)], dtype=np.int64)
    members = np.array([label for group in labels for label in group], np.int32)
    shape = (len(labels), vectors.n_rows)
    return sparse.csr_array((np.ones(len(members), np.float32), members, indptr), shape=shape) @ vectors.to_scipy()


def _labels_of(node: Nested) -> list[int]:
    labels: list[int] = []
    waiting = [node]
    while waiting:
        for part in waiting.pop():
            if isinstance(part, list):
                waiting.append(part)
            else:
                labels.append(part)
    return labels
