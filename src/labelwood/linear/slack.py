"""How early a search may end without changing the answers of more than a few rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from labelwood.arrays.rows import Floats
from labelwood.errors import ModelError, ParameterError

CONFIDENCE = 0.95
_NAMES = ("slack.k", "slack.of_tree")


class Slacks(NamedTuple):
    """What a calibration found: the slack of each tree, in logarithms of scores, for searches of `k` labels."""

    k: int
    of_tree: list[float]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """For the store."""
        return dict(zip(_NAMES, (np.array([self.k], np.int64), np.array(self.of_tree, np.float32)), strict=True))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_trees: int) -> Slacks | None:
        """The reverse of `arrays`; None where there is no calibration."""
        if not any(name in arrays for name in _NAMES):
            return None
        k, of_tree = (arrays.get(name, np.empty(0)) for name in _NAMES)
        sound = k.shape == (1,) and k.dtype == np.int64 and of_tree.shape == (n_trees,) and of_tree.dtype == np.float32
        if not sound or k[0] < 1 or not (np.isfinite(of_tree) & (of_tree >= 0)).all():
            raise ModelError("the model's calibration is not sound: calibrate and save it again")
        return cls(int(k[0]), of_tree.tolist())


def largest_slack(slacks: Floats, loss: float) -> float:
    """The largest slack that changes the answers of at most the share `loss` of rows, with a confidence of 95 %.

    `slacks` says for each of some rows how much slack leaves its answers as they are. If `c` of `n` rows are changed,
    the share among all rows is below the upper end of Clopper and Pearson's interval.

    Example:
        >>> largest_slack(np.arange(1, 1001, dtype=np.float32), loss=0.01)
        5.0
    """
    n = len(slacks)
    if not 0 < loss < 1:
        raise ParameterError(f"loss must be between 0 and 1, not {loss}")
    needed = math.ceil(math.log(1 - CONFIDENCE) / math.log1p(-loss))
    if n < needed:
        raise ParameterError(f"to be sure of a loss of {loss:g}, {needed} rows are needed and there are {n}: give more")
    changed = np.arange(n)
    upper = special.betaincinv(changed + 1, n - changed, CONFIDENCE)
    most = int(np.flatnonzero(upper <= loss)[-1])
    finite = np.where(np.isfinite(slacks), slacks, np.finfo(np.float32).max)
    return float(np.partition(finite, most)[most])
