"""Whether to hand out the labels of groups, or to give every row all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from labelwood.arrays.rows import Features, Sparse, shape_of
from labelwood.errors import LabelwoodError
from labelwood.groups.eagle import unit_features
from labelwood.groups.grouped import GroupedLabels, as_groups

_TOLERABLE = 0.75  # wrong rows for each right one: with 0.6 the baseline was better, with 1.0 assignment


@dataclass(frozen=True)
class Advice:
    """What is known of the groups, and what follows from it.

    Fields:
        use: "assignment" or "baseline".
        mixedness: See `mixedness`.
        rows_per_label: The rows that get a label in the baseline, for each time a group was given it.
        wrong_rows: The estimate of how many of them have not got it, for each that has.
        reason: All this in a sentence.

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
    """How unlike the rows of a group are: 1 if no more alike than any two rows, 0 if they are the same.

    With the mean cosine w of two rows of a group and the mean cosine a of any two rows it is (1 − w) / (1 − a). No row
    is compared with itself, so the size of groups does not matter. Groups of one are not mixed at all: 0.

    Example:
        >>> mixedness([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], groups=[0, 1, 0, 1])
        0.0
    """
    rows = unit_features(X)
    return _mixedness(rows, as_groups(groups, shape_of(rows)[0]))


def advice(X: Any, groups: Any, group_labels: Any) -> Advice:
    """Says whether handing out labels with `Eagle` is expected to help, or `baseline_labels` is better.

    The baseline is right where the rows of a group share its labels. If some group was given a label more than once,
    counts tell how many rows share it. Otherwise the rows' likeness has to tell: the more mixed the groups are, the
    fewer rows are taken to share a label. It is a rule of thumb: `try_both` finds out, but takes far longer.

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
    use: Literal["assignment", "baseline"] = "assignment" if wrong > _TOLERABLE else "baseline"
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
    """Of any two rows that share a group, by the squared lengths of the groups' sums; 1 if there are no two."""
    pairs = (sizes * (sizes - 1)).sum()
    if pairs == 0:
        return 1.0
    matrix = rows.to_scipy() if isinstance(rows, Sparse) else rows
    sums = groups.to_scipy().astype(np.float64) @ matrix
    own = groups.to_scipy() @ np.asarray((matrix * matrix).sum(axis=1))  # what rows have with themselves
    return float(((sums * sums).sum() - own.sum()) / pairs)
