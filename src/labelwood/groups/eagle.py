"""EAGLE: labels that are known for groups of rows are handed to the rows that fit them."""

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
    """Learns a vector for each label from groups of rows that have it, and hands each group's labels to its rows.

    A label's vector begins as the unit-length sum of all rows of its groups. Then, `iterations` times, it moves by
    `step` towards the sum of the rows that are nearest to it, one of each group: so it comes near to at least one row
    of every group that has the label, whatever the others are. In the end each group's label goes to its nearest row.
    Any model can be trained on what `fit_transform` returns.

    Rows count by direction only. With groups of one, vectors are those of `labelwood.labels.pifa` for rows of unit
    length, and every row keeps its labels. Where the rows of a label cancel out, its vector begins as a row drawn at
    random. Among rows that are equally near the first is taken. Labels without groups get zeros.

    Parameters:
        iterations: Steps of each label's vector. With 0 the sum of all rows is what labels are handed out by.
        step: How far a step goes.
        repeats: What a label means that a group was given c times. "multiset": the group counts c times in the label's
            vector and the label is handed out once. "set": all groups count once. "topc": the group counts c times, and
            its c nearest rows get the label.
        assign: Whether a group's label goes to the nearest row ("hard"), to all that are nearly as near ("several"), or
            to all in shares by the softmax of their cosines ("soft"). Models take any share above zero for a label.
        within: For "several", how much less a row's cosine may be than the nearest row's.
        at_most: For "several", how many rows of a group may get the label; as many as are near if not given.
        sharpness: For "soft" and for how sure an assignment is, what cosines are multiplied by before the softmax.
        min_share: For "soft", the share below which a row goes without. The nearest row always gets its share.
        negatives: How strongly a vector is pushed away from the nearest rows of groups that do not have the label, as
            many of them as have it, drawn at random: a multiple of the rows' mean that is subtracted in each step. Not
            part of the published method.
        leave_out: Whether rows are compared without their own part in the label's vector. Otherwise a row that was
            picked early is near because it was picked. Not part of the published method.
        seed: For what is drawn at random.
        n_threads: How many threads to use; all cores if not given. Results do not depend on it.

    Fitted attributes:
        assignment_: An `Assignment`: who got which label, and how sure that is.
        weights_: Labels × rows, sparse. A label's vector is the sum of the rows, at unit length, times these.
        label_embeddings_: Labels × features, the vectors themselves: sparse for sparse rows. Made when first asked for.
        n_labels_, n_features_in_: Their numbers.

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
        """Learns the labels' vectors and hands out labels.

        `X` is rows × features, sparse or dense. `groups` holds one group's number for each row, or is rows × groups
        where a row may be in several. `group_labels` is groups × labels: how often a group was given a label.
        """
        check_params(type(self), self.get_params(deep=False))
        rows, grouped = self._checked(X, groups, group_labels)
        weighed = self.weighed(grouped)
        if self.negatives > 0:
            joined, origin = weighed.joined(weighed.groups_without(self.seed))
            weighed = joined.pushing_away(origin == 1, self.negatives)
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
        """`fit`, and the labels of each row: rows × labels, a sparse `csr_array`."""
        return self.fit(X, groups, group_labels).assignment_.to_scipy()

    def transform(self, X: Any, groups: Any, group_labels: Any) -> Any:
        """Hands out the labels of other groups by the vectors that were learned: rows × labels, as `fit_transform`."""
        return self.assign_groups(X, groups, group_labels).to_scipy()

    def assign_groups(self, X: Any, groups: Any, group_labels: Any) -> Assignment:
        """The same as an `Assignment`."""
        embeddings = self.label_embeddings_
        rows, grouped = self._checked(X, groups, group_labels)
        if (grouped.n_labels, shape_of(rows)[1]) != (self.n_labels_, self.n_features_in_):
            raise LabelwoodError(
                f"X has {shape_of(rows)[1]} features and group_labels {grouped.n_labels} labels where "
                f"{self.n_features_in_} and {self.n_labels_} were learned from: make them as for fit"
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

    def _checked(self, X: Any, groups: Any, group_labels: Any) -> tuple[Features, GroupedLabels]:
        rows = unit_features(X)
        return rows, GroupedLabels.of(groups, group_labels, shape_of(rows)[0])

    def weighed(self, grouped: GroupedLabels) -> GroupedLabels:
        """The same with what each group counts."""
        counts = grouped.labels.values
        return grouped.weighing(np.ones_like(counts)) if self.repeats == "set" else grouped

    def _rule(self) -> Rule:
        best_rows = self.repeats == "topc"
        return Rule(self.assign, best_rows, self.within, self.at_most, self.sharpness, self.min_share)


def unit_features(X: Any) -> Features:
    """Checked rows, brought to unit length.

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
    """Of each slot the weight of its row in the label's vector, and its cosine with that.

    A group that counts for zero is not learned from; its slots' cosines are there nevertheless.
    """
    n_threads = thread_count(eagle.n_threads)
    options = options_of(_native.EagleOptions, eagle.get_params())
    if isinstance(rows, Sparse):
        return _native.sparse_eagle(rows, weighed, options, n_threads)
    return _native.dense_eagle(rows, weighed, options, n_threads)
