"""How often labels occur, and how likely a true label is to be missing from the data.

Annotators miss rare labels more often than frequent ones. The propensity of a label is the probability that annotators
note it where it is true. Metrics that weigh a hit by the inverse propensity do not favour models that repeat the head:

    inverse propensity = 1 + C · (frequency + b)^−a,   C = (ln rows − 1) · (b + 1)^a

Rows and frequencies are those of the training data; a and b were measured on Wikipedia and on Amazon.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.arrays.rows import as_labels
from labelwood.arrays.values import plain_array, real_numbers, whole_number
from labelwood.errors import LabelwoodError, ParameterError

PROPENSITY_FAMILIES: dict[str, tuple[float, float]] = {
    "wikipedia": (0.5, 0.4),  # Wikipedia-500K, WikiTitles, WikiLSHTC-325K
    "amazon": (0.6, 2.6),  # Amazon-670K, -3M, -131K, -1.3M and their titles-only sets
    "default": (0.55, 1.5),  # all other data, such as AmazonCat, EURLex, Wiki10 and WikiSeeAlso
}


@dataclass(frozen=True, eq=False)
class InversePropensities:
    """Inverse propensities of the labels seen in training, and one value for all labels not seen in training.

    Example:
        >>> inv = InversePropensities(values=np.array([2.0, 3.0]), unseen=9.0)
        >>> inv.for_labels(3)
        array([2., 3., 9.])
        >>> np.asarray(inv)
        array([2., 3.])
    """

    values: NDArray[np.float64]
    unseen: float

    def for_labels(self, n_labels: int) -> NDArray[np.float64]:
        """The values of labels 0 … `n_labels` − 1."""
        missing = max(0, n_labels - len(self.values))
        return np.concatenate([self.values[:n_labels], np.full(missing, self.unseen)])

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)


def label_frequencies(Y: Any) -> NDArray[np.int64]:
    """The number of rows in which each label occurs.

    Example:
        >>> label_frequencies([[1, 0, 1], [1, 0, 0]])
        array([2, 0, 1])
    """
    labels = as_labels(Y)
    return np.bincount(labels.indices, minlength=labels.n_cols).astype(np.int64, copy=False)


def inverse_propensities(
    frequencies: Any,
    n_rows: int,
    *,
    family: str = "default",
    a: float | None = None,
    b: float | None = None,
) -> InversePropensities:
    """The inverse propensity of each label, from the frequencies and the number of rows of the training data.

    `family` names one of `PROPENSITY_FAMILIES` (see `family_of`); `a` and `b` override its constants. With
    fewer than e rows the formula's C would be negative, and rare labels would weigh less than frequent ones;
    C is then 0 and every label weighs 1.

    Example:
        >>> inv = inverse_propensities([100, 1], n_rows=1000, family="default")
        >>> inv.values.round(2)
        array([1.77, 6.91])
        >>> round(inv.unseen, 2)
        8.82
    """
    if family not in PROPENSITY_FAMILIES:
        raise ParameterError(f"family is {family!r} but should be one of: {', '.join(PROPENSITY_FAMILIES)}")
    default_a, default_b = PROPENSITY_FAMILIES[family]
    a = default_a if a is None else a
    b = default_b if b is None else b
    if not (math.isfinite(a) and math.isfinite(b) and a >= 0 and b > 0):
        raise ParameterError(f"a is {a} and b is {b} but a should be at least 0 and b above 0")
    n_rows = whole_number(n_rows, "n_rows", most=2**63 - 1)
    c = max(0.0, math.log(n_rows) - 1) * (b + 1) ** a
    counts = _as_frequencies(frequencies)
    return InversePropensities(1 + c * (counts + b) ** -a, 1 + c * b**-a)


def family_of(dataset: str) -> str:
    """The propensity family that papers use for a data set.

    Capitals, hyphens, underscores and prefixes such as LF- do not matter.

    Example:
        >>> [family_of(name) for name in ("LF-AmazonTitles-131K", "amazon_670k", "AmazonCat-13K")]
        ['amazon', 'amazon', 'default']
    """
    name = re.sub(r"[^a-z0-9]", "", dataset.lower())
    if re.search("wikipedia|wikititles|wikilshtc|wiki500k", name):
        return "wikipedia"
    # The labels of AmazonCat are categories and not products, so they are as complete as those of other data.
    return "amazon" if re.search("amazon(?!cat)", name) else "default"


def _as_frequencies(frequencies: Any) -> NDArray[np.float64]:
    counts = real_numbers(plain_array(frequencies, "frequencies"), "frequencies", np.float64)
    if counts.ndim != 1:
        raise LabelwoodError(f"frequencies have {counts.ndim} dimensions and need one: pass label_frequencies(Y)")
    if not np.isfinite(counts).all() or (counts < 0).any():
        raise LabelwoodError("frequencies contain a negative or non-finite number: pass label_frequencies(Y)")
    return counts
