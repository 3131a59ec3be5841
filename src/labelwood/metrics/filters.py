"""Filters: pairs (row, label) that must not be predicted, such as a document tagged with itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood.arrays.pairs import as_pairs
from labelwood.arrays.rows import as_csr
from labelwood.arrays.topk import TopK
from labelwood.arrays.values import whole_number
from labelwood.errors import LabelwoodError
from labelwood.metrics.predictions import as_topk, best_labels


def apply_filter(top: TopK, pairs: Any) -> TopK:
    """The predictions without those in `pairs`, an n × 2 array of (row, label); later predictions move up.

    The width stays the same: rows are padded with id −1 and score −inf. Predict with k + `extra_candidates`, so that k
    predictions are left.

    Example:
        >>> top = TopK(ids=np.array([[4, 7, 2]]), scores=np.array([[0.9, 0.5, 0.1]]))
        >>> apply_filter(top, [(0, 4)])
        TopK(ids=array([[ 7,  2, -1]]), scores=array([[ 0.5,  0.1, -inf]]))
    """
    top = as_topk(top)
    keys = _sorted_keys(pairs, len(top))
    dropped = _is_in(keys, _pair_keys(np.arange(len(top))[:, None], top.ids)) | (top.ids < 0)
    order = np.argsort(dropped, axis=1, kind="stable")
    gone = np.take_along_axis(dropped, order, axis=1)
    ids = np.take_along_axis(top.ids, order, axis=1)
    scores = np.take_along_axis(top.scores, order, axis=1)
    ids[gone] = -1
    scores[gone] = -np.inf
    return TopK(ids, scores)


def extra_candidates(pairs: Any, n_rows: int) -> int:
    """The largest number of predictions that a filter can remove from a row: predict this many more than k.

    Example:
        >>> extra_candidates([(0, 4), (0, 5), (1, 4)], n_rows=2)
        2
    """
    return int(filtered_per_row(pairs, n_rows).max(initial=0))


def filtered_per_row(pairs: Any, n_rows: int) -> NDArray[np.int64]:
    """The number of labels that a filter removes from each row; zeros for None.

    Example:
        >>> filtered_per_row([(0, 4), (0, 5), (0, 4)], n_rows=2)
        array([2, 0])
    """
    if pairs is None:
        return np.zeros(n_rows, np.int64)
    n_rows = whole_number(n_rows, "n_rows", 0, 2**63 - 1)
    return np.bincount(_sorted_keys(pairs, n_rows) >> 32, minlength=n_rows)


def filtered_answers(answer: Callable[[int], TopK], k: int, filters: Any, n_rows: int) -> TopK:
    """The `k` best answers of each row that are not pairs in `filters`; `answer(k)` returns the k best of all.

    Example:
        >>> top = TopK(ids=np.array([[4, 7, 2]]), scores=np.array([[0.9, 0.5, 0.1]]))
        >>> filtered_answers(lambda k: TopK(top.ids[:, :k], top.scores[:, :k]), 1, [(0, 4)], n_rows=1).ids
        array([[7]])
    """
    if filters is None:
        return answer(k)
    kept = apply_filter(answer(k + extra_candidates(filters, n_rows)), filters)
    return TopK(kept.ids[:, :k], kept.scores[:, :k])


def first_short_row(before: TopK, after: TopK, k: int) -> int | None:
    """The first row without padding that has fewer than `k` labels left after a filter; None if there is none.

    Example:
        >>> before = TopK(ids=np.array([[4, 7]]), scores=np.array([[0.9, 0.5]]))
        >>> first_short_row(before, apply_filter(before, [(0, 4)]), k=2)
        0
    """
    short = (before.ids >= 0).all(axis=1) & (after.ids[:, k - 1] < 0)
    return int(short.argmax()) if short.any() else None


def _pair_keys(rows: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.int64]:
    """Row and label in one number. The key of padding equals that of no pair, because pairs are not negative."""
    return rows.astype(np.int64) << 32 | (labels.astype(np.int64) & 0xFFFFFFFF)


def _is_in(keys: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Like np.isin for sorted keys, which is faster."""
    ended = np.append(keys, -1)  # numbers beyond the last key are compared with -1 and are not equal
    found: NDArray[np.bool_] = ended[np.searchsorted(keys, wanted)] == wanted
    return found


def _sorted_keys(pairs: Any, n_rows: int) -> NDArray[np.int64]:
    """The distinct pairs as sorted keys."""
    array = as_pairs(pairs, n_rows)
    return np.unique(_pair_keys(array[:, 0], array[:, 1]))


def best_after_filter(top: Any, k: int, filters: Any, n_threads: int | None) -> TopK:
    """The `k` best predictions of each row after the pairs in `filters` are dropped.

    Example:
        >>> import numpy as np
        >>> best_after_filter(sparse.csr_array([[0.5, 0.1, 0.9]]), 1, np.array([[0, 2]]), None).ids.tolist()
        [[0, -1]]
    """
    if filters is None:
        return best_labels(top, k, n_threads)
    top = as_csr(top, "predictions") if sparse.issparse(top) else top
    extra = extra_candidates(filters, top.shape[0]) if sparse.issparse(top) else 0
    best = best_labels(top, k + extra, n_threads)
    kept = apply_filter(best, filters)
    short = first_short_row(best, kept, k)
    if short is not None:
        raise LabelwoodError(
            f"row {short} has fewer than {k} predictions left after the filter: predict with "
            f"k={k + extra_candidates(filters, len(best))}, that is k + extra_candidates(filters, n_rows)"
        )
    return kept
