"""EAGLE: assigns labels of groups to the rows that fit them best."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from annotated_types import Ge, Gt, Le
from scipy import sparse

from labelwood import _native
from labelwood.arrays.options import options_of
from labelwood.arrays.rows import Features, Floats, Sparse, as_features, from_scipy, shape_of, unit_rows
from labelwood.arrays.threads import thread_count
from labelwood.contract.checks import check_params
from labelwood.contract.params import Params, Threads
from labelwood.errors import LabelwoodError, not_fitted
from labelwood.groups.assignment import Assignment, How, Rule, assign
from labelwood.groups.grouped import GroupedLabels


class Eagle(Params):
    """Learns a vector for each label from the groups that have it, and assigns each group's labels to its rows.

    A label's vector starts as the sum of all rows of its groups, scaled to unit length. Then, `iterations` times, it
    moves by `step` towards the sum of its nearest rows, one row of each group. So it comes near to at least one row of
    every group that has the label. At the end, each group's label goes to the nearest row of the group. You can train
    any model on what `fit_transform` returns.

    Only the direction of rows matters. If every group has one row, the vectors are those of `labelwood.labels.pifa` for
    rows of unit length, and every row keeps its labels. If the rows of a label cancel out, its vector starts as a row
    drawn at random. Among equally near rows the first one is chosen. Labels without groups get vectors of zeros.

    Parameters:
        iterations: Steps of each label's vector. With 0, labels are assigned by the sum of all rows.
        step: The size of a step.
        repeats: What it means that a group was given a label c times. "multiset": the group counts c times in the
            label's vector, and one row gets the label. "set": all groups count once. "topc": the group counts c times,
            and its c nearest rows get the label.
        assign: Whether a group's label goes to the nearest row ("hard"), to all rows that are nearly as near
            ("several"), or to all rows in shares, by the softmax of their cosines ("soft"). Models treat any share
            above zero as a label.
        within: For "several", how much smaller a row's cosine may be than that of the nearest row.
        at_most: For "several", how many rows of a group may get the label; not limited if not given.
        sharpness: For "soft" and for the sureness of an assignment: cosines are multiplied by it before the softmax.
        min_share: For "soft", rows with a smaller share do not get the label. The nearest row always gets its share.
        negatives: How strongly a vector is pushed away from groups without the label. In each step, this multiple of
            the mean of their nearest rows is subtracted. These groups are drawn at random, as many as have the label.
            Not part of the published method.
        leave_out: Whether rows are compared without their own part in the label's vector. Otherwise a row that was
            chosen early stays near because it was chosen. Not part of the published method.
        seed: The seed for random draws.
        n_threads: How many threads to use; all cores if not given. Results do not depend on it.

    Fitted attributes:
        assignment_: An `Assignment`: which row got which label, and how certain that is.
        weights_: Labels × rows, sparse. A label's vector is the sum of the unit-length rows with these weights.
        label_embeddings_: Labels × features, the vectors of labels; sparse if rows are. Computed on first use.
        n_labels_, n_features_in_: The numbers of labels and features.

    Example:
        >>> import labelwood as lw
        >>> dog, rose, oak = [1, 0, 0], [0, 1, 0], [0, 0, 1]  # pages of two paragraphs, whose tags are animal and plant
        >>> pages, tags = [0, 0, 1, 1, 2, 2], [[1, 1], [1, 0], [0, 1]]
        >>> lw.Eagle().fit_transform([dog, rose, oak, dog, rose, oak], pages, tags).toarray()
        array([[1., 0.],
               [0., 1.],
               [0., 0.],
               [1., 0.],
               [0., 1.],
               [0., 0.]], dtype=float32)
    """

    assignment_: Assignment
    weights_: Any
    n_labels_: int
    n_features_in_: int

    def __init__(
        self,
        *,
        iterations: Annotated[int, Ge(0), Le(1_000_000)] = 20,
        step: Annotated[float, Gt(0), Le(1e6)] = 0.1,
        repeats: Literal["multiset", "set", "topc"] = "multiset",
        assign: How = "hard",
        within: Annotated[float, Ge(0)] = 0.05,
        at_most: Annotated[int, Ge(1)] | None = None,
        sharpness: Annotated[float, Gt(0), Le(1e6)] = 20.0,
        min_share: Annotated[float, Ge(0), Le(1)] = 0.05,
        negatives: Annotated[float, Ge(0), Le(1e6)] = 0.0,
        leave_out: bool = False,
        seed: Annotated[int, Ge(0), Le(2**64 - 1)] = 0,
        n_threads: Threads = None,
    ) -> None:
        self.iterations = iterations
        self.step = step
        self.repeats = repeats
        self.assign = assign
        self.within = within
        self.at_most = at_most
        self.sharpness = sharpness
        self.min_share = min_share
        self.negatives = negatives
        self.leave_out = leave_out
        self.seed = seed
        self.n_threads = n_threads

    def fit(self, X: Any, groups: Any, group_labels: Any) -> Self:
        """Learns the labels' vectors and assigns labels.

        `X` is rows × features, sparse or dense. `groups` holds the number of each row's group, or is rows × groups if a
        row may be in several. `group_labels` is groups × labels: how often a group was given a label.
        """
        check_params(type(self), self.get_params(deep=False))
        rows, grouped = self._check_input(X, groups, group_labels)
        weighed = self.weigh_groups(grouped)
        if self.negatives > 0:
            joined, origin = weighed.with_groups(weighed.groups_without(self.seed))
            weighed = joined.push_away(origin == 1, self.negatives)
        weights, cosines = learn(rows, weighed, self)
        self.n_labels_, self.n_features_in_ = grouped.n_labels, shape_of(rows)[1]
        self.weights_ = sparse.csr_array(
            (weights, weighed.rows, weighed.ends[weighed.labels.indptr]), shape=(grouped.n_labels, grouped.n_rows)
        )
        if self.leave_out:
            cosines = cosines - weights
        if self.negatives > 0:
            cosines = cosines[np.repeat(weighed.labels.values > 0, weighed.sizes)]
        self.assignment_ = assign(grouped, cosines, self._rule())
        self._rows = rows
        self._embeddings: Any = None
        return self

    def fit_transform(self, X: Any, groups: Any, group_labels: Any) -> Any:
        """Fits, and returns the labels of each row: rows × labels, a sparse `csr_array`."""
        return self.fit(X, groups, group_labels).assignment_.to_scipy()

    def transform(self, X: Any, groups: Any, group_labels: Any) -> Any:
        """Assigns the labels of other groups by the learned vectors; returns rows × labels, as `fit_transform`."""
        return self.assign_groups(X, groups, group_labels).to_scipy()

    def assign_groups(self, X: Any, groups: Any, group_labels: Any) -> Assignment:
        """Like `transform`, but returns an `Assignment`."""
        embeddings = self.label_embeddings_
        rows, grouped = self._check_input(X, groups, group_labels)
        if (grouped.n_labels, shape_of(rows)[1]) != (self.n_labels_, self.n_features_in_):
            raise LabelwoodError(
                f"X has {shape_of(rows)[1]} features and group_labels {grouped.n_labels} labels, but fit was given "
                f"{self.n_features_in_} and {self.n_labels_}: make them as for fit"
            )
        n_threads = thread_count(self.n_threads)
        if isinstance(embeddings, np.ndarray):
            dense = rows.to_scipy().toarray() if isinstance(rows, Sparse) else rows
            cosines = _native.dense_slot_products(dense, embeddings, grouped, n_threads)
        else:
            entries = rows if isinstance(rows, Sparse) else from_scipy(sparse.csr_array(rows))
            cosines = _native.sparse_slot_products(entries, from_scipy(embeddings), grouped, n_threads)
        return assign(grouped, cosines, self._rule())

    @property
    def label_embeddings_(self) -> Any:
        """Labels × features: the vector of each label, of unit length."""
        if not hasattr(self, "n_labels_"):
            raise not_fitted(self)
        if self._embeddings is None:
            self._embeddings = self.weights_ @ (self._rows.to_scipy() if isinstance(self._rows, Sparse) else self._rows)
            if isinstance(self._rows, Sparse):
                self._embeddings.sort_indices()
        return self._embeddings

    def _check_input(self, X: Any, groups: Any, group_labels: Any) -> tuple[Features, GroupedLabels]:
        rows = unit_features(X)
        return rows, GroupedLabels.of(groups, group_labels, shape_of(rows)[0])

    def weigh_groups(self, grouped: GroupedLabels) -> GroupedLabels:
        """The same labels with the weight of each group, as `repeats` says."""
        counts = grouped.labels.values
        return grouped.with_values(np.ones_like(counts)) if self.repeats == "set" else grouped

    def _rule(self) -> Rule:
        best_rows = self.repeats == "topc"
        return Rule(self.assign, best_rows, self.within, self.at_most, self.sharpness, self.min_share)


def unit_features(X: Any) -> Features:
    """Checks rows and scales them to unit length.

    Example:
        >>> unit_features([[3.0, 4.0], [0.0, 0.0]])
        array([[0.6, 0.8],
               [0. , 0. ]], dtype=float32)
    """
    rows = as_features(X)
    if isinstance(rows, Sparse):
        return unit_rows(rows)
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def learn(rows: Features, weighed: GroupedLabels, eagle: Eagle) -> tuple[Floats, Floats]:
    """For each slot the weight of its row in the label's vector, and the row's cosine with the vector.

    Groups of weight zero do not change vectors, but their slots have cosines too.
    """
    n_threads = thread_count(eagle.n_threads)
    options = options_of(_native.EagleOptions, eagle.get_params())
    if isinstance(rows, Sparse):
        return _native.sparse_eagle(rows, weighed, options, n_threads)
    return _native.dense_eagle(rows, weighed, options, n_threads)
