"""Reads the labels that callers pass: lists of names, or a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from labelwood.arrays.values import plain_array
from labelwood.errors import LabelwoodError


def is_matrix(labels: Any) -> bool:
    """Whether the labels are a matrix of numbers, sparse or dense, and not names.

    Example:
        >>> is_matrix(np.eye(2)), is_matrix([["animal"]])
        (True, False)
    """
    return sparse.issparse(labels) or (isinstance(labels, np.ndarray) and labels.dtype.kind in "biuf")


def name_lists(labels: Any, of: str = "row") -> Iterator[list[str]]:
    """Yields the label names of each row as strings, also for whole numbers. `of` says what has the labels, for errors.

    Example:
        >>> list(name_lists([["animal", 7], ()]))
        [['animal', '7'], []]
    """
    name = "labels" if of == "row" else f"{of}_labels"
    if isinstance(labels, str | bytes | type) or not isinstance(labels, Iterable):
        raise LabelwoodError(f"{name} must be a list of names for each {of}, or a {of}s × labels matrix")
    rows = list(plain_array(labels, name)) if isinstance(labels, np.ndarray) else list(labels)
    if len(rows) > 1 and all(
        isinstance(r, list | tuple) and len(r) == len(rows[0]) > 1 and set(r) <= {0, 1} for r in rows
    ):
        raise LabelwoodError(f"{name} look like a matrix of zeros and ones: pass it as one, with numpy.array(labels)")
    for number, row in enumerate(rows):
        if isinstance(row, str | bytes) or not isinstance(row, Iterable):
            raise LabelwoodError(f"the labels of {of} {number} are not a list: put the names into one")
        names = list(row)
        if not all(isinstance(name, str | int | np.integer) for name in names):
            raise LabelwoodError(f"{of} {number} has a label that is not a name: give strings")
        yield [str(name) for name in names]
