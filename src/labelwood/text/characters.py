"""What the running Python says of each code point: native code makes tokens by it."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_END = 0x110000
_AT_ONCE = 1 << 14  # few enough to stay in the nearest caches


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
    """All code points as `str.lower` and `re` see them: a string of many is asked at once, as each alone takes long.

    Example:
        >>> int(code_points().space[ord(" ")])
        1
    """
    lower = np.arange(_END, dtype=np.uint32)
    word, space = np.zeros(_END, bool), np.ones(_END, bool)
    for begin in range(0, _END, _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        text = lower[part].astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        # The dotted capital I alone becomes two: its own small letter, and a dot. The tokeniser adds the dot.
        lowered = text.replace("İ", "i").lower()
        if lowered != text:
            lower[part] = np.frombuffer(lowered.encode("utf-32-le", "surrogatepass"), "<u4")
        for run in re.finditer(r"\w+", text):
            word[begin + run.start() : begin + run.end()] = True
        for characters in text.split():
            space[ord(characters[0]) : ord(characters[-1]) + 1] = False
    return CodePoints(lower, word, space)
