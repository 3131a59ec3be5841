"""Tables of results by label, and by the frequency of labels in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.arrays.rows import Sparse
from labelwood.arrays.topk import TopK, check_k
from labelwood.arrays.values import plain_array
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.metrics.filters import best_after_filter
from labelwood.metrics.predictions import ranking_sums, true_labels
from labelwood.metrics.ranking import evaluate

BINS = ("head", "torso", "tail")
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelTable:
    """Counts of rows for each label. Ratios are between 0 and 1, and 0 instead of a division by zero.

    Example:
        >>> table = LabelTable(true=np.array([2, 0]), predicted=np.array([1, 0]), correct=np.array([1, 0]))
        >>> table.precision, table.recall, table.f1.round(2)
        (array([1., 0.]), array([0.5, 0. ]), array([0.67, 0.  ]))
    """

    true: Counts
    predicted: Counts
    correct: Counts

    @property
    def precision(self) -> NDArray[np.float64]:
        """The share of the rows with the label predicted in which it is true."""
        return _ratio(self.correct, self.predicted)

    @property
    def recall(self) -> NDArray[np.float64]:
        """The share of the rows with the label true in which it is predicted."""
        return _ratio(self.correct, self.true)

    @property
    def f1(self) -> NDArray[np.float64]:
        """2 correct / (true + predicted)."""
        return _ratio(2 * self.correct, self.true + self.predicted)


def per_label(top: Any, Y: Any, k: int, *, filters: Any = None, n_threads: int | None = None) -> LabelTable:
    """The counts of the first `k` predictions for each label, that is for each column of `Y`.

    `top`, `Y` and `filters` are as for `evaluate`. Predicted ids beyond the last column of Y are not in the table.

    Example:
        >>> top = TopK(ids=np.array([[2], [0]]), scores=np.array([[0.9], [0.4]]))
        >>> table = per_label(top, [[1, 0, 1], [0, 0, 1]], k=1)
        >>> table.true.tolist(), table.predicted.tolist(), table.correct.tolist()
        ([1, 0, 2], [1, 0, 1], [0, 0, 1])
    """
    best = best_after_filter(top, check_k(k), filters, n_threads)
    return _label_table(best, true_labels(Y, len(best)), k, n_threads)


@dataclass(frozen=True)
class Bin:
    """Labels of similar training frequency, and the results of predictions on them, in percent.

    `precision`, `ndcg`, `recall` and `psp` are the contributions of hits on these labels: summed over all bins, they
    give P, nDCG, R and PSP of `evaluate`. `found` and `coverage` measure each bin by itself, so bins can be compared.

    Example:
        >>> top = TopK(ids=np.array([[0], [0]]), scores=np.array([[0.9], [0.8]]))
        >>> head, _, tail = per_bin(top, [[1, 0], [1, 1]], frequencies=[6, 1], k=1, thresholds=(5, 3))
        >>> head.precision, head.label_share, tail.coverage
        (100.0, 50.0, 0.0)
    """

    name: str
    least_frequency: int  # training rows of its rarest label
    most_frequency: int  # training rows of its most frequent label
    n_labels: int
    label_share: float  # of all labels
    train_share: float  # of all label occurrences in training
    true_share: float  # of all label occurrences in Y
    precision: float
    ndcg: float
    recall: float
    psp: float | None  # None without inverse propensities
    found: float  # share of the bin's label occurrences in Y that are predicted
    coverage: float  # share of the bin's labels in Y that are predicted correctly at least once


def per_bin(
    top: Any,
    Y: Any,
    frequencies: Any,
    k: int,
    *,
    thresholds: tuple[int, int] | None = None,
    inv_propensity: Any = None,
    filters: Any = None,
    n_threads: int | None = None,
) -> list[Bin]:
    """The results of the first `k` predictions on head, torso and tail labels.

    Labels in at least `thresholds[0]` training rows are the head, other labels in at least `thresholds[1]` rows are the
    torso, and all others are the tail, with labels that training has not seen. By default each bin holds about a third
    of the label occurrences in training (see `frequency_thresholds`). So every bin has enough occurrences for
    meaningful numbers, although the head has few labels and the tail has most of them.

    `frequencies` are those of training (`labelwood.labels.label_frequencies`); the rest is as for `evaluate`.

    Example:
        >>> top = TopK(ids=np.array([[0], [0], [2]]), scores=np.array([[0.9], [0.8], [0.4]]))
        >>> Y = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
        >>> for row in per_bin(top, Y, frequencies=[6, 2, 1], k=1, thresholds=(5, 2)):
        ...     print(row.name, row.n_labels, round(row.precision, 1), row.found)
        head 1 33.3 100.0
        torso 1 0.0 0.0
        tail 1 33.3 100.0
    """
    best = best_after_filter(top, check_k(k), filters, n_threads)
    labels = true_labels(Y, len(best))
    counts = _as_counts(frequencies, labels.n_cols)
    high, low = frequency_thresholds(counts) if thresholds is None else thresholds
    if not isinstance(high, int | np.integer) or not isinstance(low, int | np.integer) or high < low:
        raise ParameterError(f"thresholds are {(high, low)} but the head's should be at least the torso's")
    bins = np.where(counts >= high, 0, np.where(counts >= low, 1, 2))
    table = _label_table(best, labels, k, n_threads)
    matrix = labels.to_scipy()
    rows = []
    for number, name in enumerate(BINS):
        member = bins == number
        contribution = _contribution(_keep_labels(best, member, k), matrix, inv_propensity, n_threads)
        rows.append(_bin(name, member, counts, table, contribution))
    return rows


def frequency_thresholds(frequencies: Any, shares: Sequence[float] = (1 / 3, 2 / 3)) -> tuple[int, int]:
    """The lowest frequency of head labels and that of torso labels, for `per_bin`.

    The head holds at least the first share of all label occurrences, and head and torso together hold at least the
    second, with as few labels as possible. Labels of one frequency are always in the same bin.

    Example:
        >>> frequency_thresholds([50, 30, 10, 5, 4, 1])
        (50, 30)
    """
    if len(shares) != 2 or not 0 <= shares[0] <= shares[1] <= 1:
        raise ParameterError(f"shares are {tuple(shares)} but should be two numbers from 0 to 1 that do not descend")
    ordered = np.sort(_as_counts(frequencies, 0))[::-1]
    total = ordered.sum()
    if total == 0:
        return 1, 1
    # A small tolerance, so that rounding does not fail a share that is met exactly.
    places = np.searchsorted(ordered.cumsum(), np.array(shares) * total * (1 - 1e-12))
    high, low = (int(ordered[place]) for place in places)
    return high, low


def _contribution(top: TopK, Y: Any, inv_propensity: Any, n_threads: int | None) -> dict[str, float]:
    names = ("P", "nDCG", "R") if inv_propensity is None else ("P", "nDCG", "R", "PSP")
    options: dict[str, Any] = {"inv_propensity": inv_propensity, "n_threads": n_threads}
    values = evaluate(top, Y, ks=(top.k,), metrics=names, **options)
    return dict(zip(names, (values[f"{name}@{top.k}"] for name in names), strict=True))


def _bin(name: str, member: NDArray[np.bool_], counts: Counts, table: LabelTable, at: dict[str, float]) -> Bin:
    inside = member[: len(table.true)]
    true, correct = table.true[inside], table.correct[inside]
    frequencies = counts[member]
    return Bin(
        name=name,
        least_frequency=int(frequencies.min()) if frequencies.size else 0,
        most_frequency=int(frequencies.max(initial=0)),
        n_labels=int(member.sum()),
        label_share=_percent(member.sum(), len(member)),
        train_share=_percent(frequencies.sum(), counts.sum()),
        true_share=_percent(true.sum(), table.true.sum()),
        precision=at["P"],
        ndcg=at["nDCG"],
        recall=at["R"],
        psp=at.get("PSP"),
        found=_percent(correct.sum(), true.sum()),
        coverage=_percent((correct > 0).sum(), (true > 0).sum()),
    )


def _keep_labels(top: TopK, member: NDArray[np.bool_], k: int) -> TopK:
    """The first `k` predictions, with padding in place of predictions of other labels."""
    ids = top.ids[:, :k]
    known = (ids >= 0) & (ids < len(member))
    return TopK(np.where(known & member[np.where(known, ids, 0)], ids, -1), top.scores[:, :k])


def _label_table(top: TopK, labels: Sparse, k: int, n_threads: int | None) -> LabelTable:
    sums = ranking_sums(top, labels, [k], np.zeros(0), count_labels=True, n_threads=n_threads)
    return LabelTable(sums["label_truths"], sums["label_predictions"], sums["label_corrects"])


def _as_counts(frequencies: Any, n_labels: int) -> Counts:
    counts = plain_array(frequencies, "frequencies")
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or _out_of_range(counts):
        raise LabelwoodError("frequencies must be one whole number of at least 0 a label: pass label_frequencies(Y)")
    unseen = max(0, n_labels - len(counts))
    return np.concatenate([counts.astype(np.int64), np.zeros(unseen, np.int64)])


def _out_of_range(counts: NDArray[Any]) -> bool:
    """Whether a count is negative or the sum of all counts is too large."""
    return bool(counts.size) and (counts.min() < 0 or counts.astype(np.float64).sum() >= 2.0**62)


def _ratio(part: Counts, whole: Counts) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _percent(part: Any, whole: Any) -> float:
    return 100 * float(part) / float(whole) if whole else 0.0
