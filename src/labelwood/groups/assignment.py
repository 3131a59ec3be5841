"""Decides which rows of a group get its labels, and how certain each decision is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood.arrays.rows import Floats
from labelwood.errors import LabelwoodError
from labelwood.groups.grouped import GroupedLabels

How: TypeAlias = Literal["hard", "several", "soft"]


@dataclass(frozen=True, eq=False)
class Assignment:
    """For each label of each group the row or rows that got it, ordered by label, group and row.

    Fields, all of the same length:
        labels, groups, rows: Each entry says that a row got a label of a group.
        cosines: The cosine of the row and the label's vector, without the row's own part in it if `leave_out` is set.
        shares: The row's share of the label; 1 unless assignment is soft.
        sureness: How certain the assignment is: 0 if another row of the group is equally near to the label's vector, 1
            if no other row is nearly as near or there is no other row. With `sharpness` s and the margin m between the
            cosines of the nearest row and the next one, it is tanh(s m / 2): the difference of the two rows' softmax
            shares, divided by their sum. If a label goes to c rows because it was given c times, the margin is that
            between the last of them and the next row.

    Example:
        >>> import labelwood as lw
        >>> X = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.6, -0.8]]
        >>> given = lw.Eagle().fit(X, groups=[0, 0, 1, 1], group_labels=[[1], [1]]).assignment_
        >>> given.rows, given.sureness.round(1)
        (array([0, 2], dtype=int32), array([1., 1.], dtype=float32))
    """

    labels: NDArray[np.int32]
    groups: NDArray[np.int32]
    rows: NDArray[np.int32]
    cosines: Floats
    shares: Floats
    sureness: Floats
    n_rows: int
    n_labels: int

    def to_scipy(self, values: Literal["shares", "sureness"] = "shares") -> Any:
        """Rows × labels, a sparse `csr_array`. A row that got a label from several groups keeps the largest value."""
        entries = getattr(self, values)
        order = np.lexsort((entries, self.labels, self.rows))
        rows, labels = self.rows[order], self.labels[order]
        last = np.ones(len(order), bool)
        last[:-1] = (rows[1:] != rows[:-1]) | (labels[1:] != labels[:-1])
        indptr = np.searchsorted(rows[last], np.arange(self.n_rows + 1))
        return sparse.csr_array((entries[order][last], labels[last], indptr), shape=(self.n_rows, self.n_labels))


class Rule(NamedTuple):
    """How labels are assigned; see `Eagle` for the meaning of the fields."""

    how: How
    best_rows: bool  # whether a label that was given c times goes to c rows
    within: float
    at_most: int | None
    sharpness: float
    min_share: float


def assign(grouped: GroupedLabels, cosines: Floats, rule: Rule) -> Assignment:
    """Assigns labels to rows, given each slot's cosine with its label's vector."""
    if not np.isfinite(cosines).all():
        raise LabelwoodError("the features are so large that their products overflow: scale them down first")
    of_slot = np.repeat(np.arange(len(grouped.sizes)), grouped.sizes)  # the number of the slot's label and group
    best, nearest, margins = _nearest(grouped, cosines, of_slot)
    if rule.best_rows:
        margins = _margins_of_last(grouped, cosines, of_slot)
    shares = np.ones_like(cosines)
    kept = np.zeros(len(cosines), bool)
    kept[nearest] = True
    if rule.how == "soft":
        shares = np.exp(rule.sharpness * (cosines - best[of_slot]))
        shares /= _reduce_slots(np.add, shares, grouped)[of_slot]
        kept |= shares >= rule.min_share
    elif rule.how == "several" or rule.best_rows:
        kept |= _choose_several(grouped, cosines, best[of_slot], of_slot, rule)
    pairs = of_slot[kept]
    return Assignment(
        labels=grouped.label_of[pairs],
        groups=grouped.labels.indices[pairs],
        rows=grouped.rows[kept],
        cosines=cosines[kept],
        shares=shares[kept],
        sureness=np.tanh(rule.sharpness / 2 * margins).astype(np.float32)[pairs],
        n_rows=grouped.n_rows,
        n_labels=grouped.n_labels,
    )


def best_cosines(grouped: GroupedLabels, cosines: Floats) -> Floats:
    """The largest cosine of each label and group."""
    return _reduce_slots(np.maximum, cosines, grouped)


def _reduce_slots(operation: np.ufunc, values: NDArray[Any], grouped: GroupedLabels) -> NDArray[Any]:
    """Reduces the values of the slots of each label and group to one; every group has at least one slot."""
    result: NDArray[Any] = operation.reduceat(values, grouped.ends[:-1]) if len(values) else values
    return result


def _nearest(
    grouped: GroupedLabels, cosines: Floats, of_slot: NDArray[np.int64]
) -> tuple[Floats, NDArray[np.int64], Floats]:
    """For each label and group: the largest cosine, the first slot that has it, and the margin to the next cosine."""
    best = best_cosines(grouped, cosines)
    places = np.where(cosines == best[of_slot], np.arange(len(cosines)), len(cosines))
    nearest = _reduce_slots(np.minimum, places, grouped)
    others = cosines.copy()
    others[nearest] = -np.inf
    return best, nearest, best - best_cosines(grouped, others)


def _margins_of_last(grouped: GroupedLabels, cosines: Floats, of_slot: NDArray[np.int64]) -> Floats:
    """For each label and group: the margin between the last row that gets the label by its count, and the next row."""
    descending = np.append(cosines[np.lexsort((-cosines, of_slot))], np.float32(-np.inf))
    n_best = np.minimum(grouped.labels.values, grouped.sizes).astype(np.int64)
    following = grouped.ends[:-1] + n_best
    others = np.where(n_best < grouped.sizes, descending[following], -np.inf)
    margins: Floats = descending[following - 1] - others
    return margins


def _choose_several(
    grouped: GroupedLabels, cosines: Floats, best: Floats, of_slot: NDArray[np.int64], rule: Rule
) -> NDArray[np.bool_]:
    ranks = np.empty(len(cosines), np.int64)
    order = np.lexsort((-cosines, of_slot))
    ranks[order] = np.arange(len(cosines)) - np.repeat(grouped.ends[:-1], grouped.sizes)
    kept = np.zeros(len(cosines), bool)
    if rule.how == "several":
        kept = cosines >= best - np.float32(rule.within)
        if rule.at_most is not None:
            kept &= ranks < rule.at_most
    if rule.best_rows:
        kept |= ranks < grouped.labels.values[of_slot]
    return kept
