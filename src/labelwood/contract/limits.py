"""Which labels can be an answer."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.arrays.values import plain_array, real_number
from labelwood.errors import ParameterError


@dataclass(frozen=True)
class Limits:
    """What can be an answer.

    Example:
        >>> Limits.of(4, include=[1, 2], exclude=[2]).allowed
        array([0, 1, 0, 0], dtype=uint8)
    """

    allowed: NDArray[np.uint8]  # one a label; empty: all
    min_score: float = -math.inf

    @classmethod
    def of(cls, n_labels: int, include: Any = None, exclude: Any = None, min_score: float | None = None) -> Limits:
        """Limits from lists of label ids; an id that is not one of `n_labels` is an error."""
        if include is None and exclude is None and min_score is None:
            return NO_LIMITS
        lowest = -math.inf if min_score is None else real_number(min_score, "min_score")
        if include is None and exclude is None:
            return cls(_ALL, lowest)
        allowed = np.full(n_labels, include is None, np.uint8)
        for name, ids, value in (("include", include, 1), ("exclude", exclude, 0)):
            if ids is not None:
                allowed[_label_ids(ids, n_labels, name)] = value
        return cls(allowed, lowest)


_ALL = np.empty(0, np.uint8)
NO_LIMITS = Limits(_ALL)


def _label_ids(ids: Any, n_labels: int, name: str) -> NDArray[np.int64]:
    array = plain_array(list(ids) if isinstance(ids, Iterable) and not isinstance(ids, np.ndarray) else ids, name)
    whole = array.dtype.kind in "iu" or not array.size
    if array.ndim != 1 or not whole or (array.size and (array.min() < 0 or array.max() >= n_labels)):
        raise ParameterError(f"{name} must be a list of label ids from 0 to {n_labels - 1}")
    return array.astype(np.int64)
