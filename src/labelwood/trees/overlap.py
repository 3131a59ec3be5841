"""Trees whose leaves share labels: each label lies where the search most often looks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood import _native
from labelwood.arrays.rows import Sparse, as_labels, from_scipy
from labelwood.arrays.threads import thread_count
from labelwood.arrays.values import plain_array, whole_number
from labelwood.errors import ParameterError
from labelwood.labels.representations import members_of
from labelwood.trees.tree import LabelTree


def overlapping(
    tree: LabelTree,
    Y: Any,
    reached: Any,
    *,
    copies: int = 2,
    max_labels: Any = None,
    exact: bool = False,
    n_threads: int | None = None,
) -> LabelTree:
    """The same tree with each label in up to `copies` leaves: those that most of its rows reach.

    This maximises how many of the rows' labels a search finds in the leaves it opens. Of leaves that are reached
    equally often those count first that hold the label now, then those that come first in the tree. A label whose rows
    reach no leaf stays where it is, and so does one label of a leaf that would become empty.

    Parameters:
        tree: Where labels lie now.
        Y: Rows × labels.
        reached: Rows × leaves, in the order of `tree.leaves`: which leaves a search opens for each row.
        copies: Leaves of a label at most.
        max_labels: Labels of a leaf at most, one number for all or one for each; as many as come if not given. Every
            label gets its first leaf before any gets a second one.
        exact: With `max_labels`, whether to find the best placement by linear programming; else a greedy one, which is
            fast for any number of labels.
        n_threads: How many threads to use; all cores if not given.

    Example:
        >>> tree = LabelTree.from_nested([[0, 1], [2]])
        >>> both = overlapping(tree, np.eye(3), [[1, 1], [1, 0], [0, 1]], copies=2)
        >>> both.labels.tolist(), both.leaf_sizes.tolist()  # the rows of label 0 reach both leaves
        ([0, 1, 0, 2], [2, 2])
    """
    whole_number(copies, "copies")
    n_leaves = len(tree.leaves)
    rows, labels = as_labels(reached, name="reached"), as_labels(Y)
    if rows.n_rows != labels.n_rows or rows.n_cols != n_leaves or labels.n_cols != tree.n_labels:
        raise ParameterError(
            f"reached must be rows × {n_leaves} leaves and Y rows × {tree.n_labels} labels, not {rows.n_rows} × "
            f"{rows.n_cols} and {labels.n_rows} × {labels.n_cols}"
        )
    room = _room(max_labels, tree)
    problem = _Problem(labels, rows, places_of(tree), copies, room, thread_count(n_threads))
    chosen = problem.best() if exact and len(room) else problem.greedy()
    return with_places(tree, _without_empty_leaves(chosen, problem.own, copies))


def places_of(tree: LabelTree) -> sparse.csr_array:
    """Labels × leaves, in the order of `tree.leaves`: where each label lies.

    Example:
        >>> places_of(LabelTree.from_nested([[0, 1], [1, 2]])).toarray().tolist()
        [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    leaves = np.repeat(np.arange(len(tree.leaves)), tree.leaf_sizes)
    shape = (tree.n_labels, len(tree.leaves))
    return sparse.csr_array((np.ones(len(leaves), np.float32), (tree.labels, leaves)), shape=shape)


def with_places(tree: LabelTree, places: Any) -> LabelTree:
    """The same nodes with other labels in the leaves: `places` is labels × leaves.

    Example:
        >>> with_places(LabelTree.from_nested([[0], [1]]), sparse.csr_array([[1, 1], [0, 1]])).labels.tolist()
        [0, 0, 1]
    """
    by_leaf = sparse.csc_array(places)
    by_leaf.sort_indices()
    sizes = np.zeros(tree.n_nodes, np.int64)
    sizes[tree.leaves] = np.diff(by_leaf.indptr)
    label_ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return LabelTree(tree.child_ptr, label_ptr, by_leaf.indices.astype(np.int32), tree.n_labels)


def _room(max_labels: Any, tree: LabelTree) -> NDArray[np.int64]:
    """For each leaf how many labels it may hold; empty without limits."""
    if max_labels is None:
        return np.empty(0, np.int64)
    n_leaves = len(tree.leaves)
    limits = plain_array(max_labels, "max_labels")
    if limits.dtype.kind not in "iu" or limits.shape not in ((), (n_leaves,)) or (limits < 1).any():
        raise ParameterError(f"max_labels must be a whole number above 0, or one for each of the {n_leaves} leaves")
    room = np.ascontiguousarray(np.broadcast_to(limits, n_leaves), np.int64)
    if room.sum() < tree.n_labels:
        raise ParameterError(f"max_labels leaves room for {room.sum()} of {tree.n_labels} labels: allow more in a leaf")
    return room


@dataclass(frozen=True)
class _Problem:
    """Which leaves each label is placed in. Placements are labels × leaves and hold half a row more than reach a leaf,
    so that none is zero."""

    Y: Sparse
    reached: Sparse
    own: sparse.csr_array
    copies: int
    room: NDArray[np.int64]
    n_threads: int

    def _places(self, copies: int, room: NDArray[np.int64]) -> sparse.csr_array:
        label_ptr, leaves, counts = _native.label_places(
            members=members_of(self.Y),
            reached=self.reached,
            own=from_scipy(self.own),
            copies=copies,
            room=room,
            n_threads=self.n_threads,
        )
        return sparse.csr_array((counts + 0.5, leaves, label_ptr), shape=self.own.shape)

    def greedy(self) -> sparse.csr_array:
        """The best leaves of each label, or those that limits leave it."""
        return self._covering(self._places(self.copies, self.room), self.own)

    def best(self) -> sparse.csr_array:
        """The placement with the largest sum of counts that covers every label and keeps the limits.

        A flow from labels to leaves; its linear program has whole solutions, of which the simplex method finds one.
        """
        from scipy.optimize import linprog  # slow to load and seldom needed

        # The greedy placement makes sure that there is a solution.
        edges = sparse.coo_array(self._places(0, np.empty(0, np.int64)).maximum(self.greedy()).maximum(0.5 * self.own))
        is_own = np.asarray(self.own[edges.row, edges.col]).ravel()
        of_label, of_leaf = (
            sparse.csr_array((np.ones(edges.nnz), (ends, np.arange(edges.nnz))), shape=(n, edges.nnz))
            for ends, n in zip((edges.row, edges.col), self.own.shape, strict=True)
        )
        n_labels = self.own.shape[0]
        found = linprog(
            -np.floor(edges.data) - is_own / (4 * self.own.nnz),  # a label's own leaves where counts are equal
            A_ub=sparse.vstack([of_label, of_leaf, -of_label]),
            b_ub=np.concatenate([np.full(n_labels, self.copies), self.room, np.full(n_labels, -1)]),
            bounds=(0, 1),
            method="highs-ds",
        )
        taken = found.x > 0.5
        every = sparse.csr_array((edges.data[taken], (edges.row[taken], edges.col[taken])), shape=self.own.shape)
        return self._covering(every * (every > 1), every)

    @staticmethod
    def _covering(places: sparse.csr_array, others: sparse.csr_array) -> sparse.csr_array:
        """The places, and those of `others` for labels that have none."""
        without = sparse.diags_array((np.diff(places.indptr) == 0).astype(np.float64))
        return sparse.csr_array(places + 0.5 * (without @ (others > 0)))


def _without_empty_leaves(chosen: sparse.csr_array, own: sparse.csr_array, copies: int) -> sparse.csr_array:
    """Gives every leaf that nobody chose one of its labels back, in the place of that label's least chosen leaf.

    Each leaf gets a label back once at most, and that label is not taken away again, so it comes to an end.
    """
    sizes = np.bincount(chosen.indices, minlength=chosen.shape[1])
    if sizes.all():
        return chosen
    of_leaf = sparse.csc_array(own)
    chosen_by: dict[int, dict[int, float]] = {}
    kept: set[tuple[int, int]] = set()
    empty = list(np.flatnonzero(sizes == 0)[::-1])
    while empty:
        leaf = int(empty.pop())
        label = int(of_leaf.indices[of_leaf.indptr[leaf]])
        places = chosen_by.setdefault(label, _row(chosen, label))
        if len(places) >= copies:
            least = min((other for other in places if (label, other) not in kept), key=lambda other: places[other])
            del places[least]
            sizes[least] -= 1
            if sizes[least] == 0:
                empty.append(least)
        places[leaf] = 0.5
        kept.add((label, leaf))
        sizes[leaf] += 1
    result = chosen.tolil()
    for label, places in chosen_by.items():
        result.rows[label], result.data[label] = sorted(places), [places[leaf] for leaf in sorted(places)]
    return sparse.csr_array(result)


def _row(matrix: sparse.csr_array, row: int) -> dict[int, float]:
    begin, end = matrix.indptr[row : row + 2]
    return dict(zip(matrix.indices[begin:end].tolist(), matrix.data[begin:end].tolist(), strict=True))
