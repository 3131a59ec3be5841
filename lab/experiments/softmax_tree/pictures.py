"""The figures of the parts as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from lab.experiments.common.drawing import MARKERS, plot, settle, svg, write_beside
from lab.experiments.softmax_tree.corpora import NAMES
from lab.experiments.softmax_tree.figure4 import HUFFMAN, curves
from lab.experiments.softmax_tree.small import WHOLE
from labelwood.tuning.plots import COLOURS, INK, STYLE
from labelwood.tuning.summary import lam_text

SALT = {"svg.hashsalt": "softmax trees"}


def draw(part: str, found: Mapping[str, Any]) -> dict[str, str]:
    """The pictures of a part by the names of their files; the other parts have tables only."""
    with matplotlib.rc_context({**STYLE, **SALT}):
        if part == "figure4":
            return {f"softmax-{name}.svg": svg(figure4(name, points)) for name, points in found.items()}
        if part == "small":
            return {"softmax-size.svg": svg(small(found))}
    return {}


def figure4(name: str, points: Sequence[Mapping[str, Any]]) -> Figure:
    """Precision against expected depth, a line for each way to train, with λ at its points and Huffman's tree."""
    figure = Figure(figsize=(11, 4.0), layout="constrained")
    panels = figure.subplots(1, 3)
    lines = curves(points)
    for k, axes in zip((1, 3, 5), panels, strict=True):
        for number, ((epochs, decay), own) in enumerate(lines.items()):
            plot(axes, number, f"{epochs} epochs, decay {decay}", _line(own, k, huffman=False))
            look = {"color": COLOURS[number], "markeredgecolor": INK, "markersize": 11, "zorder": 3.5}
            axes.plot(*_line(own, k, huffman=True), "*", **look)
        axes.set_xlabel(f"expected depth@{k} (levels)")
        axes.set_ylabel(f"P@{k} (%)")
        axes.margins(0.1, 0.12)
    handles, names = panels[0].get_legend_handles_labels()
    title = f"{NAMES[name]}, interpolated trees of λ from 0 to 2, and Huffman’s"
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), title=title)
    settle(figure)
    for k, axes in zip((1, 3, 5), panels, strict=True):
        marks = [(*_at(p, k), "Huffman" if _is_huffman(p) else lam_text(p["lam"])) for p in points]
        write_beside(axes, marks, [_line(own, k, huffman=False) for own in lines.values()])
    return figure


def _line(points: Sequence[Mapping[str, Any]], k: int, *, huffman: bool) -> tuple[list[float], list[float]]:
    x, y = zip(*(_at(point, k) for point in points if _is_huffman(point) == huffman), strict=True)
    return list(x), list(y)


def _at(point: Mapping[str, Any], k: int) -> tuple[float, float]:
    return point["mean"][f"depth@{k}"], point["mean"][f"P@{k}"]


def _is_huffman(point: Mapping[str, Any]) -> bool:
    return bool(point["variant"] == HUFFMAN)


def small(found: Mapping[str, Any]) -> Figure:
    """P@1 against size on disk, a panel for each dataset and a line for each way of storing."""
    figure = Figure(figsize=(3.8 * max(len(found), 2), 4.2), layout="constrained")
    panels = figure.subplots(1, len(found), squeeze=False)[0]
    for axes, (name, result) in zip(panels, found.items(), strict=True):
        for library, face, colours in (("Labelwood", "full", COLOURS[:3]), ("fastText", "none", COLOURS[3:])):
            own = [point for point in result["points"] if point["library"] == library]
            whole = _sizes([point for point in own if point["way"] == WHOLE])
            axes.plot(*whole, "*", color=colours[0], fillstyle=face, markersize=10, label=f"{library}, {WHOLE}")
            for number, way in enumerate(dict.fromkeys(point["way"] for point in own if point["way"] != WHOLE)):
                look = {"color": colours[number], "marker": MARKERS[number], "fillstyle": face, "markersize": 5}
                line = _sizes([point for point in own if point["way"] == way])
                axes.plot(*line, **look, linewidth=1.2, label=f"{library}, {way}")
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(lambda size, _: f"{size:g}")
        axes.minorticks_off()
        axes.set_title(NAMES[name])
        axes.set_xlabel("size on disk (MB)")
    panels[0].set_ylabel("P@1 (%)")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=4)
    return figure


def _sizes(points: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
    return [point["model_bytes"] / 1e6 for point in points], [point["P@1"] for point in points]
