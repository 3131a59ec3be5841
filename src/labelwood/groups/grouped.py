"""Groups of rows and their labels: checks what callers pass, and converts it for native code."""

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

_MOST_GROUPS, _MOST_GROUPS_A_ROW = 1 << 24, 64  # limits if the number of groups is not given


@dataclass(frozen=True, eq=False)
class GroupedLabels:
    """The groups of each label, and the rows of each group.

    A label's *slots* are the rows of its groups, group after group: all rows that may get the label. A row that is in
    two of the label's groups has two slots.

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
        """Checks what a caller passes; see `as_groups` and `as_counts` for what is allowed."""
        counts = as_counts(group_labels)
        found = cls(from_scipy(counts.to_scipy().T), as_groups(groups, n_rows, counts.n_rows))
        empty = np.flatnonzero((np.diff(found.groups.indptr) == 0) & (np.diff(counts.indptr) > 0))
        if len(empty):
            raise LabelwoodError(f"group {empty[0]} has labels but no rows: leave it out or give it rows")
        return found

    def with_values(self, weights: NDArray[np.float32]) -> GroupedLabels:
        """The same groups with another value for each label and group."""
        return GroupedLabels(self.labels._replace(values=weights), self.groups)

    def groups_without(self, seed: int) -> Any:
        """Random groups without the label, for each label: labels × groups, sparse.

        It draws as many groups with rows as have the label, and drops duplicates and groups with the label.
        """
        own = self.labels.to_scipy()
        not_empty = np.flatnonzero(np.diff(self.groups.indptr))
        chosen = np.random.default_rng(seed).choice(not_empty, own.nnz) if own.nnz else own.indices
        drawn = sparse.csr_array((np.ones(own.nnz, np.float32), chosen, own.indptr), shape=own.shape, copy=True)
        drawn.sum_duplicates()
        return without(drawn, own)

    def with_groups(self, *others: Any) -> tuple[GroupedLabels, NDArray[np.int64]]:
        """Adds groups to labels; returns also the origin of each label and group: 0 for its own, 1 for the first other.

        `others` are labels × groups; no pair of a label and a group is in two of them. Added groups get the value 0.
        """
        own = self.labels.to_scipy()
        marked = from_scipy(sum((marks(other, i) for i, other in enumerate(others, 2)), start=marks(own, 1)))
        origin = marked.values.astype(np.int64) - 1
        values = np.zeros(len(origin), np.float32)
        values[origin == 0] = self.labels.values
        return GroupedLabels(marked._replace(values=values), self.groups), origin

    def push_away(self, chosen: NDArray[np.bool_], strength: float) -> GroupedLabels:
        """Gives a label's chosen groups negative values; their sum is `strength` times that of the other values."""
        label_of = self.label_of
        total = np.bincount(label_of[~chosen], weights=self.labels.values[~chosen], minlength=self.n_labels)
        count = np.bincount(label_of[chosen], minlength=self.n_labels)
        pushes = -strength * total / np.maximum(count, 1)
        return self.with_values(np.where(chosen, pushes[label_of], self.labels.values).astype(np.float32))

    @property
    def n_rows(self) -> int:
        """The number of rows, including those without a group."""
        return self.groups.n_cols

    @property
    def n_labels(self) -> int:
        """The number of labels, including those without a group."""
        return self.labels.n_rows

    @cached_property
    def label_of(self) -> NDArray[np.int32]:
        """The label of each pair of a label and a group."""
        return np.repeat(np.arange(self.n_labels, dtype=np.int32), np.diff(self.labels.indptr))

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of slots of each label and group."""
        sizes: NDArray[np.int64] = np.diff(self.groups.indptr)[self.labels.indices]
        return sizes

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """The cumulative sum of `sizes`, starting with 0."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.sizes)])

    @cached_property
    def rows(self) -> NDArray[np.int32]:
        """The row of each slot."""
        shifts = self.groups.indptr[self.labels.indices] - self.ends[:-1]
        rows: NDArray[np.int32] = self.groups.indices[np.arange(self.ends[-1]) + np.repeat(shifts, self.sizes)]
        return rows


def marks(matrix: Any, value: float = 1) -> Any:
    """A copy of a matrix with one value for all its entries.

    Example:
        >>> marks(sparse.csr_array([[0, 5]]), 2).toarray()
        array([[0., 2.]], dtype=float32)
    """
    values = np.full(matrix.nnz, value, np.float32)
    return sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def without(matrix: Any, taken: Any) -> Any:
    """The entries of a matrix that another matrix does not have, as ones.

    Example:
        >>> without(sparse.csr_array([[3, 5]]), sparse.csr_array([[0, 1]])).toarray()
        array([[1., 0.]], dtype=float32)
    """
    ones = marks(matrix)
    return ones - ones.multiply(marks(taken))  # scipy leaves out zeros


def as_groups(groups: Any, n_rows: int, n_groups: int | None = None) -> Sparse:
    """Groups × rows, from the number of each row's group, or from rows × groups if a row may be in several groups.

    `n_groups` is the number of groups; if not given, it follows from the largest number.

    Example:
        >>> as_groups([1, 0, 1], n_rows=3).to_scipy().toarray()
        array([[0., 1., 0.],
               [1., 0., 1.]], dtype=float32)
    """
    if _is_matrix(groups):
        matrix = as_labels(groups, n_rows, name="groups")
        if n_groups not in (None, matrix.n_cols):
            raise LabelwoodError(
                f"groups has {matrix.n_cols} columns and group_labels has {n_groups} rows: each needs one per group"
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
        raise LabelwoodError(f"groups holds the number {highest} for {n_rows} rows: number the groups from 0")
    if n_rows and (numbers.min() < 0 or highest >= count):
        raise LabelwoodError(
            f"groups holds numbers from {numbers.min()} to {numbers.max()}, but there are {count} groups: "
            f"number them from 0 to {count - 1}, as the rows of group_labels"
        )
    ones = np.ones(n_rows, np.float32)
    return from_scipy(sparse.csr_array((ones, (numbers.astype(np.int64), np.arange(n_rows))), shape=(count, n_rows)))


def _is_matrix(groups: Any) -> bool:
    return sparse.issparse(groups) or plain_array(groups, "groups").ndim == 2


def as_counts(group_labels: Any) -> Sparse:
    """Groups × labels: how often each group was given each label.

    Example:
        >>> as_counts([[0, 2], [1, 0]]).values
        array([2., 1.], dtype=float32)
    """
    matrix = as_features(group_labels, sparse_only=True, name="group_labels")
    assert isinstance(matrix, Sparse)
    if (matrix.values < 0).any() or (matrix.values != np.round(matrix.values)).any():
        raise LabelwoodError("group_labels must hold how often a group was given a label: whole numbers, not negative")
    if not matrix.values.all():
        kept = matrix.to_scipy().copy()
        kept.eliminate_zeros()
        return from_scipy(kept)
    return matrix


def baseline_labels(groups: Any, group_labels: Any) -> Any:
    """The baseline: every row gets all labels of its groups. Returns rows × labels, a sparse matrix of ones.

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
