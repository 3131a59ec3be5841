"""Advises whether to assign the labels of groups to rows, or to give every row all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from labelwood.arrays.rows import Features, Sparse, shape_of
from labelwood.errors import LabelwoodError
from labelwood.groups.eagle import unit_features
from labelwood.groups.grouped import GroupedLabels, as_groups

_MAX_WRONG_ROWS = 0.75  # wrong rows for each right one: with 0.6 the baseline was better, with 1.0 assignment


@dataclass(frozen=True)
class Advice:
    """The advice, and the measurements it follows from.

    Fields:
        use: "assignment" or "baseline".
        mixedness: See `mixedness`.
        rows_per_label: How many rows the baseline gives a label to, for each time that a group was given the label.
        wrong_rows: An estimate of how many of these rows are wrong, for each right one.
        reason: The reason in one sentence.

    Example:
        >>> advice(np.eye(4), [0, 0, 1, 1], [[1, 1], [0, 1]]).use
        'assignment'
    """

    use: Literal["assignment", "baseline"]
    mixedness: float
    rows_per_label: float
    wrong_rows: float
    reason: str


def mixedness(X: Any, groups: Any) -> float:
    """How different the rows of a group are: 1 if they are as different as any two rows, 0 if they are the same.

    It is (1 − w) / (1 − a), with w the mean cosine of two rows of a group and a the mean cosine of any two rows. No row
    is compared with itself, so the size of groups does not matter. If all groups have one row, it is 0.

    Example:
        >>> mixedness([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], groups=[0, 1, 0, 1])
        0.0
    """
    rows = unit_features(X)
    return _mixedness(rows, as_groups(groups, shape_of(rows)[0]))


def advice(X: Any, groups: Any, group_labels: Any) -> Advice:
    """Says whether to assign labels with `Eagle`, or whether `baseline_labels` is expected to be better.

    The baseline is right if the rows of a group share its labels. If some group was given a label more than once, the
    counts say how many rows share it. Otherwise the similarity of rows decides: the more mixed the groups are, the
    fewer rows probably share a label. This is a rule of thumb; `try_both` measures it, but takes much longer.

    Example:
        >>> advice([[1.0, 0.1], [1.0, 0.2], [0.1, 1.0], [0.2, 1.0]], [0, 0, 1, 1], [[2, 0], [0, 2]]).use
        'baseline'
    """
    rows = unit_features(X)
    grouped = GroupedLabels.of(groups, group_labels, shape_of(rows)[0])
    given = float(grouped.labels.values.sum())
    if given == 0:
        raise LabelwoodError("group_labels holds no label: give at least one")
    mixed, per_label = _mixedness(rows, grouped.groups), float(grouped.ends[-1]) / given
    counted = bool((grouped.labels.values > 1).any())
    wrong = max(per_label - 1, 0.0) * (1 if counted else mixed)
    use: Literal["assignment", "baseline"] = "assignment" if wrong > _MAX_WRONG_ROWS else "baseline"
    reason = (
        f"giving every row all labels of its groups gives a label to about {wrong:.2g} wrong rows for each right one, "
        f"by {'the counts of labels' if counted else f'the mixedness of groups ({mixed:.2f})'}: "
        + ("hand them out" if use == "assignment" else "that is little, so it is expected to be the better choice")
    )
    return Advice(use, mixed, per_label, wrong, reason)


def _mixedness(rows: Features, groups: Sparse) -> float:
    sizes = np.diff(groups.indptr).astype(np.float64)
    within = _mean_cosine(rows, groups, sizes)
    everything = Sparse(
        np.array([0, groups.n_cols], np.int64),
        np.arange(groups.n_cols, dtype=np.int32),
        np.ones(groups.n_cols, np.float32),
        groups.n_cols,
    )
    any_two = _mean_cosine(rows, everything, np.array([groups.n_cols], np.float64))
    return float(np.clip((1 - within) / max(1 - any_two, 1e-9), 0, 1))


def _mean_cosine(rows: Features, groups: Sparse, sizes: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """The mean cosine of two rows that share a group, from the squared lengths of the groups' sums; 1 if none do."""
    pairs = (sizes * (sizes - 1)).sum()
    if pairs == 0:
        return 1.0
    matrix = rows.to_scipy() if isinstance(rows, Sparse) else rows
    sums = groups.to_scipy().astype(np.float64) @ matrix
    own = groups.to_scipy() @ np.asarray((matrix * matrix).sum(axis=1))  # products of rows with themselves
    return float(((sums * sums).sum() - own.sum()) / pairs)
