"""Ranking metrics at k, in percent, as papers on extreme classification report them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from labelwood.arrays.rows import Sparse
from labelwood.arrays.topk import check_k
from labelwood.errors import ParameterError
from labelwood.metrics.filters import best_after_filter
from labelwood.metrics.predictions import label_gains, ranking_sums, true_labels

METRICS = ("P", "nDCG", "PSP", "PSnDCG", "R", "coverage", "microF1", "macroF1")
_PROPENSITY_SCORED = frozenset({"PSP", "PSnDCG"})
_OVER_LABELS = frozenset({"coverage", "macroF1"})


def evaluate(
    top: Any,
    Y: Any,
    *,
    ks: Sequence[int] = (1, 3, 5),
    metrics: Iterable[str] | None = None,
    inv_propensity: Any = None,
    filters: Any = None,
    n_threads: int | None = None,
) -> dict[str, float]:
    """Ranking metrics in percent, keyed like ``"P@1"``: metric by metric as below, each by ascending k.

    Let y be the true labels of a row, and its hits those of its first k predictions that are in y:

    - ``P``: hits / k, mean over rows. Always divided by k, even if a row has fewer labels or predictions.
    - ``nDCG``: Σ 1 / log2(position + 1) over the hits, divided by the same sum over the positions from 1 to
      the smaller of k and the size of y; mean over rows.
    - ``PSP``: Σ inverse propensity of the hits, divided by the same sum for the best k labels of y. Both sums
      are over all rows: a ratio of means, not a mean of ratios.
    - ``PSnDCG``: nDCG with inverse propensities as gains: its mean divided by the mean of the best possible value.
    - ``R``: hits / size of y, mean over rows.
    - ``coverage``: of the labels that occur in Y, the share that is a hit in at least one row.
    - ``microF1``: 2 hits / (predictions + true labels), each summed over all rows.
    - ``macroF1``: 2 hits / (predictions + true labels) of each label, mean over the labels that occur in Y or
      are predicted in the first k of a row. Labels with neither are left out.

    A row without true labels counts as zero in every mean. A label that a row repeats is a hit only the first time.

    Args:
        top: a `TopK`, or a scipy sparse rows × labels matrix of scores. From a matrix, the highest stored
            entries of each row are taken, equal scores by ascending id; stored zeros count too.
        Y: rows × labels, sparse or dense; any entry other than zero is a true label. It may have more columns
            than training had labels: those count as misses. Predicted ids beyond its last column are wrong.
        ks: the numbers of predictions to evaluate.
        metrics: which of `METRICS`; all by default, PSP and PSnDCG only if `inv_propensity` is given.
        inv_propensity: what `labelwood.labels.inverse_propensities` returns, which gives labels that training
            has not seen the value of frequency zero; or an array with a value for each column of Y.
        filters: n × 2 pairs (row, label) that are dropped from the predictions before the first k are taken;
            Y does not change. Predict with k + `extra_candidates(filters, n_rows)`, so that enough are left.
        n_threads: threads to use, by default one for each core. Any number gives the same bytes.

    Example:
        >>> import numpy as np
        >>> from labelwood import TopK
        >>> top = TopK(ids=np.array([[2, 0], [1, -1]]), scores=np.array([[0.9, 0.4], [0.7, -np.inf]]))
        >>> Y = [[1, 0, 1], [1, 0, 0]]
        >>> evaluate(top, Y, ks=(1, 2), metrics=("P", "R"))
        {'P@1': 50.0, 'P@2': 50.0, 'R@1': 25.0, 'R@2': 50.0}
    """
    ks = _sorted_ks(ks)
    names = _select_metrics(metrics, inv_propensity)
    best = best_after_filter(top, max(ks), filters, n_threads)
    labels = true_labels(Y, len(best))
    gain = label_gains(inv_propensity if _PROPENSITY_SCORED & set(names) else None, labels.n_cols)
    sums = ranking_sums(best, labels, ks, gain, count_labels=bool(_OVER_LABELS & set(names)), n_threads=n_threads)
    return {
        f"{name}@{k}": 100 * _FORMULAS[name](_SumsAtK(sums, ks, i, labels)) for name in names for i, k in enumerate(ks)
    }


class _SumsAtK:
    """The sums at one k, as attributes."""

    def __init__(self, sums: dict[str, Any], ks: list[int], i: int, labels: Sparse) -> None:
        self._sums = sums
        self._i = i
        self.k = ks[i]
        self.n = labels.n_rows

    def __getattr__(self, name: str) -> Any:
        value = self._sums[name]
        return value[self._i] if isinstance(value, list) else value


_FORMULAS: dict[str, Callable[[_SumsAtK], float]] = {
    "P": lambda at: at.correct / (at.n * at.k),
    "nDCG": lambda at: at.ndcg / at.n,
    "PSP": lambda at: _share(at.gain, at.best_gain),
    "PSnDCG": lambda at: _share(at.psndcg, at.best_psndcg),
    "R": lambda at: at.recall / at.n,
    "coverage": lambda at: _share(at.covered, at.n_occurring),
    "microF1": lambda at: _share(2 * at.correct, at.predicted + at.n_true),
    "macroF1": lambda at: _share(at.f1, at.in_use),
}


def _share(part: float, whole: float) -> float:
    """The ratio; zero if Y has no labels at all."""
    return part / whole if whole else 0.0


def _sorted_ks(ks: Sequence[int]) -> list[int]:
    checked = sorted({check_k(k) for k in ks}) if isinstance(ks, Iterable) else []
    if not checked:
        raise ParameterError(f"ks is {ks!r}: give at least one k in a list, such as ks=(1, 3, 5)")
    return checked


def _select_metrics(metrics: Iterable[str] | None, inv_propensity: Any) -> list[str]:
    if metrics is None:
        return [name for name in METRICS if inv_propensity is not None or name not in _PROPENSITY_SCORED]
    wanted = [metrics] if isinstance(metrics, str) else list(metrics)
    for name in wanted:
        if name not in METRICS:
            raise ParameterError(f"there is no metric {name!r}: choose from {', '.join(METRICS)}")
        if name in _PROPENSITY_SCORED and inv_propensity is None:
            raise ParameterError(
                f"{name} needs inv_propensity: pass what labelwood.labels.inverse_propensities returns"
            )
    return [name for name in METRICS if name in wanted]
