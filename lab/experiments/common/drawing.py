"""The style of pictures, and numbers beside the points of curves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from labelwood.tuning.placing import Spot, place
from labelwood.tuning.plots import COLOURS, INK, short_svg

MARKERS = ("o", "s", "^", "D", "v", "P")
LABEL = 7.5
FONT = r"font-family: 'DejaVu Sans', 'Verdana', sans-serif; "  # said once for all
Line = tuple[Sequence[float], Sequence[float]]  # the x and the y of its points
Mark = tuple[float, float, str]  # a point and what is written beside it


def svg(figure: Figure) -> str:
    """The figure's text: the same bytes each time, and short, for it is kept in the repository."""
    text = short_svg(figure)
    for useless in (
        FONT,
        r"(?<=>)\s+(?=<)",
        r' id="(line2d|text|xtick|ytick|patch)_\d+"',
    ):
        text = re.sub(useless, "", text)
    return text.replace("<svg ", "<svg font-family=\"'DejaVu Sans', Verdana, sans-serif\" ", 1)


def plot(axes: Any, number: int, name: str, line: Line) -> None:
    """The curve of that number; the first lies on top, where it is the same as others."""
    look = {"marker": MARKERS[number], "color": COLOURS[number], "linewidth": 1.2, "markersize": 4}
    axes.plot(*line, **look, label=name, zorder=3 - 0.1 * number)


def settle(figure: Figure) -> None:
    """Fixes the layout, which the places of labels depend on."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def write_beside(axes: Any, marks: Sequence[Mark], lines: Sequence[Line]) -> None:
    """Texts beside their points, off all lines; the layout must be settled."""

    def spot(x: float, y: float) -> Spot:
        across, up = axes.transData.transform((x, y)) * 72 / axes.figure.dpi
        return float(across), float(up)

    pieces = [pair for x, y in lines for pair in pairwise(spot(*at) for at in zip(x, y, strict=True))]
    spots = [spot(x, y) for x, y, _ in marks]
    sizes = [(0.64 * LABEL * len(text), 1.15 * LABEL) for *_, text in marks]
    inside = (*spot(axes.get_xlim()[0], axes.get_ylim()[0]), *spot(axes.get_xlim()[1], axes.get_ylim()[1]))
    for (x, y, text), at, middle in zip(marks, spots, place(spots, sizes, inside, pieces), strict=True):
        axes.annotate(
            text,
            xy=(x, y),
            xytext=np.subtract(middle, at),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=LABEL,
            arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.5, "shrinkA": 1, "shrinkB": 2},
            zorder=4,
        )
