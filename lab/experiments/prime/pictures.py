"""The figures of the parts as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from lab.experiments.common.drawing import plot, svg
from lab.experiments.prime.corpora import NAMES
from labelwood.tuning.plots import COLOURS, STYLE

SALT = {"svg.hashsalt": "dual encoders"}
FUSED = "tree + PRIME W"
SHOWN = ("tree", "PRIME", "PRIME W", "tree on both", FUSED)


def draw(found: Mapping[str, Any]) -> dict[str, str]:
    """The pictures of all that is known, by the names of their files."""
    makers = {"together": together, "course": course, "negatives": negatives}
    with matplotlib.rc_context({**STYLE, **SALT}):
        return {f"prime-{part}.svg": svg(make(found[part])) for part, make in makers.items() if found.get(part)}


def _panels(n: int) -> tuple[Figure, Any]:
    figure = Figure(figsize=(3.8 * max(n, 2), 3.6), layout="constrained")
    return figure, figure.subplots(1, n, squeeze=False)[0]


def _legend(figure: Figure, axes: Any) -> None:
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))


def together(found: Mapping[str, Any]) -> Figure:
    """P@1 of models against PSP@5: what does well on frequent labels, on rare ones, and on both."""
    figure, panels = _panels(len(found))
    for axes, (name, seeds) in zip(panels, found.items(), strict=True):
        for number, model in enumerate(SHOWN):
            points = [line for run in seeds.values() for line in run["lines"] if line["model"] == model]
            x, y = ([line[metric] for line in points] for metric in ("PSP@5", "P@1"))
            mark = "*" if model == FUSED else "o"
            axes.plot(x, y, mark, color=COLOURS[number], markersize=12 if model == FUSED else 7, label=model)
        axes.set_title(NAMES[name])
        axes.set_xlabel("PSP@5 (%)")
        axes.margins(0.15)
    panels[0].set_ylabel("P@1 (%)")
    _legend(figure, panels[0])
    return figure


def course(found: Mapping[str, Any]) -> Figure:
    """P@1 on held-out rows over seconds of training."""
    curves = {name: {way: (own["seconds"], own["P@1"]) for way, own in ways.items()} for name, ways in found.items()}
    return _curves(curves, "seconds of training", "P@1 on held-out rows (%)")


def negatives(found: Mapping[str, Any]) -> Figure:
    """P@1 against negatives a query."""
    curves = {
        name: {way: ([run["negatives"] for run in runs], [run["P@1"] for run in runs]) for way, runs in ways.items()}
        for name, ways in found.items()
    }
    return _curves(curves, "negatives a query", "P@1 (%)", scale="log")


def _curves(found: Mapping[str, Mapping[str, Any]], below: str, beside: str, *, scale: str = "linear") -> Figure:
    figure, panels = _panels(len(found))
    for axes, (name, ways) in zip(panels, found.items(), strict=True):
        for number, (way, points) in enumerate(ways.items()):
            plot(axes, number, way, points)
        axes.set_xscale(scale)
        axes.set_title(NAMES[name])
        axes.set_xlabel(below)
    panels[0].set_ylabel(beside)
    _legend(figure, panels[0])
    return figure
