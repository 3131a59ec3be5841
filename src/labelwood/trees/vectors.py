"""What all builders ask of their arguments."""

from __future__ import annotations

from typing import Any

from labelwood import inputs
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.inputs import Sparse, as_features


def check_sizes(arity: int, max_leaf: int) -> None:
    """Refuses an arity or a leaf size that no tree can have.

    Example:
        >>> check_sizes(1, 100)
        Traceback (most recent call last):
        ...
        labelwood.errors.ParameterError: arity is 1 and max_leaf 100; they must be at least 2 and 1
    """
    if not (2 <= arity < 2**31 and 1 <= max_leaf < 2**31):
        raise ParameterError(f"arity is {arity} and max_leaf {max_leaf}; they must be at least 2 and 1")


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
