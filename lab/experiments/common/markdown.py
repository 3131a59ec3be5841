"""Tables in Markdown and what stands in their cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike


def table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, ["---"] * len(header), *lines)) + "\n"


def signed(value: float, digits: int = 1) -> str:
    """A difference with its sign."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else f"{0:.{digits}f}"


def count(number: int, noun: str) -> str:
    """A number and what it counts."""
    return f"{number} {noun}{'s' * (number != 1)}"


def with_spread(values: ArrayLike, digits: int = 2) -> str:
    """The mean, and the lowest and the highest where they differ."""
    low, high, mean = (f"{how(values):.{digits}f}" for how in (np.min, np.max, np.mean))
    return mean if low == high else f"{mean} ({low}–{high})"
