"""Distinct strings, found with a hash that an attacker cannot predict: no choice of strings makes it slow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from labelwood import _native


def distinct(values: Any) -> tuple[NDArray[np.int32], Any]:
    """A number for each string of an Arrow `large_string` array, by first occurrence, and the distinct strings.

    The hash of Arrow's dictionaries is public: a file could hold names that all fall into the same slot of its table.

    Example:
        >>> numbers, names = distinct(pa.array(["b", "a", "b"], pa.large_string()))
        >>> numbers.tolist(), names.to_pylist()
        ([0, 1, 0], ['b', 'a'])
    """
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if not len(whole):
        return np.empty(0, np.int32), whole
    _, offsets, data = whole.buffers()
    ends = np.frombuffer(offsets, np.int64)[whole.offset : whole.offset + len(whole) + 1]
    numbers, firsts = _native.number_strings(ends, np.frombuffer(data or b"", np.uint8))
    return numbers, whole.take(pa.array(firsts))
