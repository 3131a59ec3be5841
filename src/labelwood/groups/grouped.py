"""Rows in groups, and the labels of groups: what callers may pass, and how native code reads it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood.arrays.rows import Sparse, as_features, as_labels, from_scipy
from labelwood.arrays.values import plain_array
from labelwood.errors import LabelwoodError

_MOST_GROUPS, _MOST_GROUPS_A_ROW = 1 << 24, 64  # where nothing else says how many there are


@dataclass(frozen=True, eq=False)
class GroupedLabels:
    """Which groups have a label, and which rows a group.

    A label's *slots* are the rows of its groups, group after group: every row that the label may belong to. A row that
    is in two of the label's groups has two slots.

    Example:
        >>> grouped = GroupedLabels.of([0, 0, 1], [[1, 0], [2, 1]], n_rows=3)
        >>> grouped.labels.to_scipy().toarray()  # labels × groups
        array([[1., 2.],
               [0., 1.]], dtype=float32)
        >>> grouped.rows
        array([0, 1, 2, 2], dtype=int32)
    """

    labels: Sparse  # labels × groups: how often a group was given the label
    groups: Sparse  # groups × rows

    @classmethod
    def of(cls, groups: Any, group_labels: Any, n_rows: int) -> GroupedLabels:
        """Checks what a caller passes; `as_groups` and `as_counts` say what it may be."""
        counts = as_counts(group_labels)
        found = cls(from_scipy(counts.to_scipy().T), as_groups(groups, n_rows, counts.n_rows))
        empty = np.flatnonzero((np.diff(found.groups.indptr) == 0) & (np.diff(counts.indptr) > 0))
        if len(empty):
            raise LabelwoodError(f"group {empty[0]} has labels but no rows: leave it out or give it rows")
        return found

    def weighing(self, weights: NDArray[np.float32]) -> GroupedLabels:
        """The same with other values for each label and group."""
        return GroupedLabels(self.labels._replace(values=weights), self.groups)

    def groups_without(self, seed: int) -> Any:
        """For each label groups that have rows but not the label, drawn at random: labels × groups, sparse.

        There are as many as have it, less those that were drawn twice or have the label.
        """
        own = self.labels.to_scipy()
        there = np.flatnonzero(np.diff(self.groups.indptr))
        chosen = np.random.default_rng(seed).choice(there, own.nnz) if own.nnz else own.indices
        drawn = sparse.csr_array((np.ones(own.nnz, np.float32), chosen, own.indptr), shape=own.shape, copy=True)
        drawn.sum_duplicates()
        return without(drawn, own)

    def joined(self, *others: Any) -> tuple[GroupedLabels, NDArray[np.int64]]:
        """The same with more groups for each label, and for each label and group where it is from: 0 is from here.

        `others` are labels × groups, and no group is in two of them. Those from elsewhere have the value 0.
        """
        own = self.labels.to_scipy()
        marked = from_scipy(sum((marks(other, i) for i, other in enumerate(others, 2)), start=marks(own, 1)))
        origin = marked.values.astype(np.int64) - 1
        values = np.zeros(len(origin), np.float32)
        values[origin == 0] = self.labels.values
        return GroupedLabels(marked._replace(values=values), self.groups), origin

    def pushing_away(self, chosen: NDArray[np.bool_], strength: float) -> GroupedLabels:
        """The same with values below zero where `chosen`, which come to `strength` of each label's other values."""
        label_of = self.label_of
        total = np.bincount(label_of[~chosen], weights=self.labels.values[~chosen], minlength=self.n_labels)
        count = np.bincount(label_of[chosen], minlength=self.n_labels)
        pushes = -strength * total / np.maximum(count, 1)
        return self.weighing(np.where(chosen, pushes[label_of], self.labels.values).astype(np.float32))

    @property
    def n_rows(self) -> int:
        """Number of rows, those in no group included."""
        return self.groups.n_cols

    @property
    def n_labels(self) -> int:
        """Number of labels, those of no group included."""
        return self.labels.n_rows

    @cached_property
    def label_of(self) -> NDArray[np.int32]:
        """For each label and group the label."""
        return np.repeat(np.arange(self.n_labels, dtype=np.int32), np.diff(self.labels.indptr))

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """For each label and group the number of slots."""
        sizes: NDArray[np.int64] = np.diff(self.groups.indptr)[self.labels.indices]
        return sizes

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """The same added up from the first, with a zero before."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.sizes)])

    @cached_property
    def rows(self) -> NDArray[np.int32]:
        """The row of each slot."""
        shifts = self.groups.indptr[self.labels.indices] - self.ends[:-1]
        rows: NDArray[np.int32] = self.groups.indices[np.arange(self.ends[-1]) + np.repeat(shifts, self.sizes)]
        return rows


def marks(matrix: Any, value: float = 1) -> Any:
    """A matrix with all its entries replaced by one value.

    Example:
        >>> marks(sparse.csr_array([[0, 5]]), 2).toarray()
        array([[0., 2.]], dtype=float32)
    """
    values = np.full(matrix.nnz, value, np.float32)
    return sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def without(matrix: Any, taken: Any) -> Any:
    """The entries of a matrix that another has not, as ones.

    Example:
        >>> without(sparse.csr_array([[3, 5]]), sparse.csr_array([[0, 1]])).toarray()
        array([[1., 0.]], dtype=float32)
    """
    ones = marks(matrix)
    return ones - ones.multiply(marks(taken))  # scipy leaves out what comes to zero


def as_groups(groups: Any, n_rows: int, n_groups: int | None = None) -> Sparse:
    """Groups × rows, from one group's number for each row, or from rows × groups where a row may be in several.

    `n_groups` is how many there must be; if it is not given, numbers go up to the largest there is.

    Example:
        >>> as_groups([1, 0, 1], n_rows=3).to_scipy().toarray()
        array([[0., 1., 0.],
               [1., 0., 1.]], dtype=float32)
    """
    if _is_matrix(groups):
        matrix = as_labels(groups, n_rows, name="groups")
        if n_groups not in (None, matrix.n_cols):
            raise LabelwoodError(
                f"groups has {matrix.n_cols} columns and group_labels has {n_groups} rows: give each group one of both"
            )
        return from_scipy(matrix.to_scipy().T)
    numbers = plain_array(groups, "groups")
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or len(numbers) != n_rows:
        raise LabelwoodError(
            f"groups must hold one whole number for each of the {n_rows} rows, or be a rows × groups matrix"
        )
    highest = int(numbers.max()) if n_rows else -1
    count = n_groups if n_groups is not None else highest + 1
    if n_groups is None and count > max(_MOST_GROUPS, _MOST_GROUPS_A_ROW * n_rows):
        raise LabelwoodError(f"groups holds the number {highest} for {n_rows} rows: number groups from 0 on")
    if n_rows and (numbers.min() < 0 or highest >= count):
        raise LabelwoodError(
            f"groups holds a number from {numbers.min()} to {numbers.max()} where there are {count} groups: "
            f"number them from 0 to {count - 1}, as the rows of group_labels"
        )
    ones = np.ones(n_rows, np.float32)
    return from_scipy(sparse.csr_array((ones, (numbers.astype(np.int64), np.arange(n_rows))), shape=(count, n_rows)))


def _is_matrix(groups: Any) -> bool:
    return sparse.issparse(groups) or plain_array(groups, "groups").ndim == 2


def as_counts(group_labels: Any) -> Sparse:
    """Groups × labels with the number of times a group was given a label.

    Example:
        >>> as_counts([[0, 2], [1, 0]]).values
        array([2., 1.], dtype=float32)
    """
    matrix = as_features(group_labels, sparse_only=True, name="group_labels")
    assert isinstance(matrix, Sparse)
    if (matrix.values < 0).any() or (matrix.values != np.round(matrix.values)).any():
        raise LabelwoodError(
            "group_labels must hold how often a group was given a label, a whole number that is not negative"
        )
    if not matrix.values.all():
        kept = matrix.to_scipy().copy()
        kept.eliminate_zeros()
        return from_scipy(kept)
    return matrix


def baseline_labels(groups: Any, group_labels: Any) -> Any:
    """What assignment must beat: every row gets all labels of its groups. Rows × labels, a sparse matrix of ones.

    Example:
        >>> baseline_labels([0, 0, 1], [[1, 1], [0, 3]]).toarray()
        array([[1., 1.],
               [1., 1.],
               [0., 1.]], dtype=float32)
    """
    n_rows = groups.shape[0] if sparse.issparse(groups) else (*plain_array(groups, "groups").shape, 0)[0]
    counts = as_counts(group_labels)
    given = as_groups(groups, n_rows, counts.n_rows).to_scipy().T.tocsr() @ counts.to_scipy()
    given.sort_indices()
    given.data = np.ones(given.nnz, np.float32)
    return given
