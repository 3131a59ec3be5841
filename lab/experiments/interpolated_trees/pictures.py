"""The figures of the parts as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from lab.experiments.common.drawing import MARKERS, plot, settle, svg, write_beside
from lab.experiments.interpolated_trees.datasets import NAMES
from lab.experiments.interpolated_trees.precision import VARIANTS
from labelwood.tuning.plots import COLOURS, FAINT, STYLE

SALT = {"svg.hashsalt": "interpolated trees"}


def draw(part: str, found: Mapping[str, Any]) -> dict[str, str]:
    """The pictures of a part by the names of their files; arity and bounds have tables only."""
    with matplotlib.rc_context({**STYLE, **SALT}):
        if part == "imbalance":
            return {"interpolated-imbalance.svg": svg(imbalance(found))}
        if part == "timing":
            return {"interpolated-time.svg": svg(timing(found))}
        if part == "precision":
            return {f"interpolated-{name}.svg": svg(precision(name, result)) for name, result in found.items()}
    return {}


def imbalance(found: Mapping[str, Any]) -> Figure:
    """Figures 1 and 6: a panel for each kind of cover and a line for each dataset."""
    words = {"any": "any of its labels", "three": "three of its labels (all, if fewer)", "all": "all of its labels"}
    figure = Figure(figsize=(11, 3.9), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (mode, title) in zip(panels, words.items(), strict=True):
        for number, (name, curves) in enumerate(found.items()):
            curve = curves[mode]
            colour = COLOURS[number]
            axes.plot(curve["labels"], curve["rows"], color=colour, linewidth=1.6, label=NAMES[name])
            axes.plot([curve["labels_for_half"]], [50], MARKERS[number], color=colour, markersize=5)
        axes.axhline(50, color=FAINT, linewidth=0.8, linestyle=":")
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(lambda share, _: f"{share:g} %")
        axes.set_title(f"covered by {title}")
        axes.set_xlabel("share of labels, most frequent first")
    panels[0].yaxis.set_major_formatter(lambda share, _: f"{share:g} %")
    panels[0].set_ylabel("share of rows covered")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))
    return figure


def precision(name: str, result: Mapping[str, Any]) -> Figure:
    """Figure 3 of one dataset: precision against expected depth, with λ at the points of the first curve."""
    figure = Figure(figsize=(11, 4.0), layout="constrained")
    panels = figure.subplots(1, 3)
    for k, axes in zip((1, 3, 5), panels, strict=True):
        for number, (variant, x, y, _) in enumerate(_curves(result["points"], f"depth@{k}", f"P@{k}")):
            plot(axes, number, variant, (x, y))
        axes.set_xlabel(f"expected depth@{k} (levels)")
        axes.set_ylabel(f"P@{k} (%)")
        axes.margins(0.1, 0.12)
    seeds = result["points"][0]["seeds"]
    handles, names = panels[0].get_legend_handles_labels()
    title = f"{NAMES[name]}, λ from 0 to 2, {seeds} seed{'s' * (seeds > 1)}"
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), title=title)
    settle(figure)
    for k, axes in zip((1, 3, 5), panels, strict=True):
        _write_lams(axes, _curves(result["points"], f"depth@{k}", f"P@{k}"), labelled=list(VARIANTS)[:1])
    return figure


def timing(found: Mapping[str, Any]) -> Figure:
    """Precision against the time of a search, a panel for each dataset and a line for each size of leaves."""
    figure = Figure(figsize=(3.4 * max(len(found), 2), 3.8), layout="constrained")
    panels = figure.subplots(1, len(found), squeeze=False)[0]
    for axes, (name, points) in zip(panels, found.items(), strict=True):
        for number, (variant, x, y, _) in enumerate(_curves(points, "search_k1_us", "P@1")):
            plot(axes, number, variant, (x, y))
        axes.set_title(NAMES[name])
        axes.set_xlabel("search for one label, p50 (µs)")
        axes.margins(0.14, 0.14)
    panels[0].set_ylabel("P@1 (%)")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), title="λ at the points")
    settle(figure)
    for axes, points in zip(panels, found.values(), strict=True):
        curves = _curves(points, "search_k1_us", "P@1")
        _write_lams(axes, curves, labelled=[variant for variant, *_ in curves])
    return figure


Curve = tuple[str, list[float], list[float], list[float]]


def _curves(points: Sequence[Mapping[str, Any]], x_name: str, y_name: str) -> list[Curve]:
    """Of each variant its name, x, y and λ, by ascending λ."""
    found: list[Curve] = []
    for variant in dict.fromkeys(point["variant"] for point in points):
        own = sorted((point for point in points if point["variant"] == variant), key=lambda point: point["lam"])
        x, y = ([point["mean"][name] for point in own] for name in (x_name, y_name))
        found.append((variant, x, y, [point["lam"] for point in own]))
    return found


def _write_lams(axes: Any, curves: Sequence[Curve], labelled: Sequence[str]) -> None:
    """The λ's of the labelled curves beside their points, off the lines of all."""
    marks = [(x[i], y[i], f"{lams[i]:.4g}") for name, x, y, lams in curves if name in labelled for i in range(len(x))]
    write_beside(axes, marks, [(x, y) for _, x, y, _ in curves])
