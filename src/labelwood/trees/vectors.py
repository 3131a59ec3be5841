"""What all builders ask of their arguments."""

from __future__ import annotations

from typing import Any

from labelwood.arrays import rows as inputs
from labelwood.arrays.rows import Sparse, as_features
from labelwood.arrays.values import MOST_SEED, whole_number
from labelwood.errors import LabelwoodError


def check_sizes(arity: int, max_leaf: int, seed: int = 0) -> None:
    """Refuses an arity or a leaf size that no tree can have, and a seed that is none.

    Example:
        >>> check_sizes(1, 100)
        Traceback (most recent call last):
        ...
        labelwood.errors.ParameterError: arity must be a whole number from 2 to 2147483647, not 1
    """
    whole_number(arity, "arity", least=2)
    whole_number(max_leaf, "max_leaf")
    whole_number(seed, "seed", 0, MOST_SEED)


def unit_rows(vectors: Any) -> Sparse:
    """Label vectors as sparse rows of unit length; zeros stay zero.

    Example:
        >>> unit_rows([[3.0, 4.0], [0.0, 0.0]]).values.round(1)
        array([0.6, 0.8], dtype=float32)
    """
    rows = as_features(vectors, sparse_only=True, name="vectors")
    assert isinstance(rows, Sparse)
    if rows.n_rows == 0:
        raise LabelwoodError("vectors has no rows: a tree needs at least one label")
    return inputs.unit_rows(rows)
