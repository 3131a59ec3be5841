"""The state of a model, in the form in which it is saved and loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.errors import ModelError
from labelwood.store.damage import quoted

MOST = 2**31 - 1  # labels, features and so on: native code counts them in 32 bits


@dataclass(frozen=True)
class State:
    """A model taken apart: its kind, parameters, facts, arrays, lists of names, and the states of its parts.

    Example:
        >>> state = State(kind="centroid", params={}, fitted={"n_labels": 2}, arrays={"w": np.zeros(3)})
        >>> state.count("n_labels"), state.array("w", np.float64, 1).shape
        (2, (3,))
    """

    kind: str
    params: Mapping[str, Any]  # what `__init__` takes; JSON values only
    fitted: Mapping[str, Any]  # what was learned besides arrays; JSON values only
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    names: Mapping[str, Any] = field(default_factory=dict)  # pyarrow large_string arrays
    parts: Mapping[str, State] = field(default_factory=dict)
    verify: bool = True  # whether to check arrays from a file for everything that native code relies on

    def count(self, name: str, most: int = MOST) -> int:
        """A whole number from 1 to `most` in `fitted`. Check it against an array before allocating memory for it."""
        value = self.fitted.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ModelError(
                f"the model's {name} is {quoted(value)} and not a whole number from 1 to {most}: save it again"
            )
        return value

    def array(self, name: str, dtype: Any, ndim: int) -> NDArray[Any]:
        """The array `name`, which must have the given dtype and number of dimensions."""
        value = self.arrays.get(name)
        if value is None or value.dtype != np.dtype(dtype) or value.ndim != ndim:
            raise ModelError(
                f"the model's array {name!r} is missing or is not of {ndim} dimension(s) and "
                f"{np.dtype(dtype)}: save the model again"
            )
        return value
