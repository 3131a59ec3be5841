"""Tables in Markdown and what stands in their cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


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
