"""How often labels occur, and how often when every row is counted for one label only."""

from __future__ import annotations

import heapq
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood.arrays.rows import Sparse
from labelwood.arrays.values import real_vector
from labelwood.errors import ParameterError

_MOST_WEIGHT = 1e80  # that a row may have: more of them are still finite
Rule: TypeAlias = Literal["marginal", "greedy"]
Weights: TypeAlias = NDArray[np.float64]


def label_weights(Y: Sparse, rule: Rule | float, row_weights: Any = None) -> tuple[Weights, Weights]:
    """The frequencies of labels, and how many rows each covers by a rule.

    Example:
        >>> from labelwood.arrays.rows import as_labels
        >>> label_weights(as_labels([[1, 1], [1, 0], [0, 1], [1, 0]], 4), "marginal")
        (array([3., 2.]), array([3., 1.]))
    """
    weights = np.ones(Y.n_rows) if row_weights is None else real_vector(row_weights, "row_weights")
    if weights.shape != (Y.n_rows,) or not ((weights >= 0) & (weights <= _MOST_WEIGHT)).all():
        raise ParameterError(f"row_weights must be {Y.n_rows} numbers of at least 0, one for each row of Y")
    of_entry = np.repeat(weights, np.diff(Y.indptr))
    frequency = _sums(Y.indices, of_entry, Y.n_cols)
    if rule == "greedy":
        return frequency, _greedy(Y, weights, frequency)
    marginal = _marginal(Y, weights, frequency)
    if rule == "marginal":
        return frequency, marginal
    if not isinstance(rule, (int, float)) or not 0 <= rule <= 1:
        raise ParameterError(f"rule must be marginal, greedy or a number from 0 to 1, not {rule!r}")
    total = weights.sum() or 1.0
    return frequency, (1 - rule) * frequency / (frequency.sum() or 1.0) + rule * marginal / total


def _marginal(Y: Sparse, weights: Weights, frequency: Weights) -> Weights:
    """Every row counts for its most frequent label; of equal ones, the first."""
    of_row = np.repeat(np.arange(Y.n_rows), np.diff(Y.indptr))
    order = np.lexsort((Y.indices, -frequency[Y.indices], of_row))
    rows = of_row[order]
    first = np.r_[True, rows[1:] != rows[:-1]] if len(rows) else np.zeros(0, bool)
    return _sums(Y.indices[order][first], weights[rows[first]], Y.n_cols)


def _greedy(Y: Sparse, weights: Weights, frequency: Weights) -> Weights:
    """The label with the most weight takes its rows, then that with most of the rest; of equal ones, the first."""
    members = sparse.csc_array(Y.to_scipy())
    left, live, covered = frequency.copy(), weights > 0, np.zeros(Y.n_cols)
    waiting = [(-weight, label) for label, weight in enumerate(left) if weight > 0]
    heapq.heapify(waiting)
    while waiting:
        weight, label = heapq.heappop(waiting)
        if -weight > left[label]:  # rows were taken from it since
            if left[label] > 0:
                heapq.heappush(waiting, (-left[label], label))
            continue
        rows = members.indices[members.indptr[label] : members.indptr[label + 1]]
        rows = rows[live[rows]]
        if len(rows) == 0:
            continue
        covered[label] = weights[rows].sum()
        live[rows] = False
        for row in rows:
            left[Y.indices[Y.indptr[row] : Y.indptr[row + 1]]] -= weights[row]
    return covered


def _sums(labels: NDArray[np.int32], weights: Weights, n_labels: int) -> Weights:
    sums = np.zeros(n_labels)
    np.add.at(sums, labels, weights)
    return sums
