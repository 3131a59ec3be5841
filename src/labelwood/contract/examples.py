"""What a model learns from, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.arrays.rows import Floats, Sparse
from labelwood.arrays.values import real_vector
from labelwood.errors import ParameterError

# What `fit` may be given besides rows and their labels, and how an error says what it is.
EXTRAS = {
    "label_texts": "texts of labels",
    "filters": "pairs of row and label that do not count",
    "row_weights": "how much each row counts",
    "groups": "groups of rows",
    "feature_names": "names of features",
}


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows and their labels as a model takes them, and what else it makes use of.

    Example:
        >>> from labelwood.arrays.rows import as_features, as_labels
        >>> Examples(as_features([[1.0]]), as_labels([[1]])).Y.n_cols
        1
    """

    X: Any  # features, an Arrow array of texts, or bags
    Y: Sparse  # rows × labels, or groups × labels
    label_texts: Any = None  # an Arrow array
    filters: NDArray[np.int64] | None = None  # pairs (row, label), n × 2
    row_weights: Floats = field(default_factory=lambda: np.empty(0, np.float32))  # none: all rows count the same
    groups: Any = None
    feature_names: Any = None


def usable(model: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given to `fit` of a model; what it cannot use, and what it lacks, is an error.

    Example:
        >>> from labelwood import TreeClassifier
        >>> usable(TreeClassifier(), {"row_weights": None, "label_texts": ["animals"]})
        Traceback (most recent call last):
        ...
        labelwood.errors.ParameterError: TreeClassifier makes no use of label_texts (texts of labels): leave it out
    """
    found = {name: value for name, value in given.items() if value is not None}
    useless = [name for name in found if name not in model.uses]
    if useless:
        name = type(model).__name__
        raise ParameterError(f"{name} makes no use of {useless[0]} ({EXTRAS[useless[0]]}): leave it out")
    return found


def check_needs(model: Any, given: Iterable[str]) -> None:
    """Raises where something is missing that the model cannot learn without.

    Example:
        >>> from labelwood import PrimeClassifier
        >>> check_needs(PrimeClassifier(), [])
        Traceback (most recent call last):
        ...
        labelwood.errors.ParameterError: PrimeClassifier learns from texts of labels: give label_texts
    """
    needs = model.needs
    for name, what in EXTRAS.items():
        if name in needs and name not in given:
            raise ParameterError(f"{type(model).__name__} learns from {what}: give {name}")


def as_weights(row_weights: Any, n_rows: int) -> Floats:
    """Checks how much rows count; none at all if that was not given.

    Example:
        >>> as_weights([1, 2], n_rows=2)
        array([1., 2.], dtype=float32)
    """
    if row_weights is None:
        return np.empty(0, np.float32)
    weights = real_vector(row_weights, "row_weights").astype(np.float32)
    if weights.shape != (n_rows,) or not (np.isfinite(weights) & (weights > 0)).all():
        raise ParameterError(f"row_weights must be {n_rows} finite numbers above zero, one for each row")
    return weights
