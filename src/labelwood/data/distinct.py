"""The different ones of many strings, found at a cost that nobody can drive up by choosing the strings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from labelwood import _native


def distinct(values: Any) -> tuple[NDArray[np.int32], Any]:
    """A number for each string of an Arrow `large_string` array, in order of first occurrence, and the different ones.

    Arrow's own dictionaries have a hash that is known: a file can hold names that all lie in one place of its table.

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
