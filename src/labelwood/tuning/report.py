"""The report for people to read: plots and one page."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

from labelwood.data.publishing import text_output
from labelwood.errors import LabelwoodError
from labelwood.tuning.page import PLOTS, page


def check_plots() -> None:
    """Raises `LabelwoodError` if plots cannot be drawn.

    Example:
        >>> check_plots()
    """
    if find_spec("matplotlib") is None:
        raise LabelwoodError(
            "plots need matplotlib, which is not installed: pip install 'labelwood[plots]', or give --no-plots"
        )


def write_report(report: str | PathLike[str], summary: Mapping[str, Any], *, plots: bool = True) -> list[str]:
    """Writes plots and a page from the summary that `sweep` returned; returns the names of the report's files.

    Example:
        >>> import tempfile, numpy as np
        >>> from labelwood.tuning import sweep
        >>> folder, X = Path(tempfile.mkdtemp()) / "report", np.eye(4).repeat(5, axis=0)
        >>> write_report(folder, sweep(X, X, X, X, folder, lams=[1], seeds=1, jobs=1), plots=False)
        ['tradeoff.json', 'tradeoff.csv', 'report.html']
    """
    folder = Path(report)
    drawn: dict[str, str] = {}
    if plots:
        from labelwood.tuning.plots import draw

        drawn = draw(summary)
    for name in set(PLOTS) - set(drawn):  # old plots may show other figures
        (folder / name).unlink(missing_ok=True)
    for name, text in {**drawn, "report.html": page(summary, drawn)}.items():
        with text_output(folder / name, overwrite=True) as out:
            out.write(text)
    return ["tradeoff.json", "tradeoff.csv", *drawn, "report.html"]
