"""What the running Python says of each code point: native code makes tokens by it."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_END = 0x110000


class CodePoints(NamedTuple):
    """An entry for each code point.

    Example:
        >>> points = code_points()
        >>> chr(points.lower[ord("Ä")]), bool(points.word[ord("_")]), bool(points.space[ord("_")])
        ('ä', True, False)
    """

    lower: NDArray[np.uint32]  # the single code point it becomes in lower case
    word: NDArray[np.bool_]  # a letter, digit or underscore: \w
    space: NDArray[np.bool_]  # \s


def code_points() -> CodePoints:
    """All code points as `str.lower` and `re` see them, found in a few passes over a string of all.

    Example:
        >>> int(code_points().space[ord(" ")])
        1
    """
    every = np.arange(_END, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    # The dotted capital I alone becomes two: its own small letter, and a dot. The tokeniser adds the dot.
    lowered = every.replace("İ", "i").lower().encode("utf-32-le", "surrogatepass")
    lower = np.frombuffer(lowered, "<u4").astype(np.uint32)
    return CodePoints(lower, _found(r"\w+", every), _found(r"\s+", every))


def _found(pattern: str, every: str) -> NDArray[np.bool_]:
    """Which characters are part of a match."""
    found = np.zeros(len(every), bool)
    for match in re.finditer(pattern, every):
        found[match.start() : match.end()] = True
    return found
