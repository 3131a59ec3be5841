"""Plots of a sweep as SVG. This is the only module that imports matplotlib."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from labelwood.tuning.placing import Spot, place
from labelwood.tuning.summary import Point, lam_text, pareto_front

INK, PAPER, FAINT = "#24292f", "#fffffe", "#8b949e"  # the page replaces the first two with its own colours
# The palette of Okabe and Ito, which people with colour blindness can distinguish.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
_BLUE, _ORANGE, _GREEN, _PURPLE = COLOURS[:4]
_VARIANTS = ((_BLUE, "o"), (_ORANGE, "s"), (_GREEN, "^"), (_PURPLE, "D"))
_LABEL = 8.0
_SHAPES = 5
STYLE = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "grid.color": FAINT,
    "legend.frameon": False,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("figure.facecolor", "axes.facecolor"), PAPER),
}


def draw(summary: Mapping[str, Any]) -> dict[str, str]:
    """All plots of a sweep's summary: SVG text by file name."""
    points = [Point.from_plain(point) for point in summary["points"]]
    makers: dict[str, Callable[[], Figure]] = {
        "precision-depth.svg": lambda: trade_off(points, "depth@{k}", "expected depth@{k} (levels)"),
        "precision-latency.svg": lambda: trade_off(points, "p50_ms", "latency of one row, p50 (ms)"),
        "imbalance.svg": lambda: imbalance(summary["imbalance"]),
        "shapes.svg": lambda: shapes(summary["runs"]),
    }
    return {name: _svg(make, name) for name, make in makers.items()}


def _svg(make: Callable[[], Figure], name: str) -> str:
    """The figure that `make` returns, as SVG: the same bytes each time, and no external references."""
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        return short_svg(make())


def short_svg(figure: Figure) -> str:
    """A figure as SVG, without the date, the program's name and digits that make no visible difference."""
    out = io.StringIO()
    FigureCanvasSVG(figure).print_svg(out, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    svg = re.sub(r"^.*?(?=<svg )", "", out.getvalue(), count=1, flags=re.DOTALL)
    return re.sub(r"<[^>]+>", _shorten_tag, svg)


def _shorten_tag(tag: re.Match[str]) -> str:
    """A tag without rotations by 0 and without digits that make no visible difference."""
    text = re.sub(r' transform="rotate\(-0 [^"]*"', "", tag[0])
    return re.sub(r"(\.\d\d)\d+", r"\1", text)


def trade_off(points: Sequence[Point], cost: str, words: str) -> Figure:
    """P@1, P@3 and P@5 against their cost, in one panel each; `{k}` in the names stands for 1, 3 and 5.

    Example:
        >>> figures = {"P@1": 70.0, "P@3": 60.0, "P@5": 50.0, "p50_ms": 0.1}
        >>> len(trade_off([Point.of("plain", 0.5, [figures])], "p50_ms", "ms").axes)
        3
    """
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    panels = figure.subplots(1, 3)
    for k, axes in zip((1, 3, 5), panels, strict=True):
        gain, x_name = f"P@{k}", cost.format(k=k)
        _scatter(axes, points, x_name, gain)
        axes.set_xlabel(words.format(k=k))
        axes.set_ylabel(f"{gain} (%)")
        axes.margins(0.14, 0.16)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))
    figure.draw_without_rendering()  # computes the layout, on which the places of labels depend
    figure.set_layout_engine("none")
    for k, axes in zip((1, 3, 5), panels, strict=True):
        _write_lams(axes, points, cost.format(k=k), f"P@{k}")
    return figure


def _scatter(axes: Any, points: Sequence[Point], x_name: str, y_name: str) -> None:
    x, y = ([point.mean[name] for point in points] for name in (x_name, y_name))
    front = pareto_front(x, y)
    axes.plot(
        [x[i] for i in front],
        [y[i] for i in front],
        color=_ORANGE,
        linewidth=1.6,
        zorder=2,
        label="Pareto front: nothing is both cheaper and more precise",
    )
    for number, variant in enumerate(dict.fromkeys(point.variant for point in points)):
        colour, marker = _VARIANTS[number % len(_VARIANTS)]
        own = [point for point in points if point.variant == variant]
        axes.errorbar(
            [point.mean[x_name] for point in own],
            [point.mean[y_name] for point in own],
            xerr=_error_bars(own, x_name),
            yerr=_error_bars(own, y_name),
            fmt=marker,
            color=colour,
            ecolor=(colour, 0.55),
            elinewidth=1,
            markersize=5,
            zorder=3,
            label=f"{variant}: mean of {own[0].seeds} seed{'s' * (own[0].seeds > 1)}, lowest to highest",
        )


def _error_bars(points: Sequence[Point], name: str) -> list[list[float]]:
    """The lengths of error bars, down and up. Rounding of the mean could make them slightly negative, so at least 0."""
    down = [max(point.mean[name] - point.low[name], 0.0) for point in points]
    return [down, [max(point.high[name] - point.mean[name], 0.0) for point in points]]


def _write_lams(axes: Any, points: Sequence[Point], x_name: str, y_name: str) -> None:
    """Writes each point's λ beside it, with a thin line to the point if it is far away."""

    def spot(x: float, y: float) -> Spot:
        across, up = axes.transData.transform((x, y)) * 72 / axes.figure.dpi
        return float(across), float(up)

    x, y = ([point.mean[name] for point in points] for name in (x_name, y_name))
    lines = [(spot(p.low[x_name], p.mean[y_name]), spot(p.high[x_name], p.mean[y_name])) for p in points]
    lines += [(spot(p.mean[x_name], p.low[y_name]), spot(p.mean[x_name], p.high[y_name])) for p in points]
    lines += [(spot(x[a], y[a]), spot(x[b], y[b])) for a, b in pairwise(pareto_front(x, y))]
    texts = [point.variant if point.lam is None else lam_text(point.lam) for point in points]
    spots = [spot(*pair) for pair in zip(x, y, strict=True)]
    sizes = [(0.64 * _LABEL * len(text), 1.15 * _LABEL) for text in texts]
    inside = (*spot(axes.get_xlim()[0], axes.get_ylim()[0]), *spot(axes.get_xlim()[1], axes.get_ylim()[1]))
    middles = place(spots, sizes, inside, lines)
    for i, text in enumerate(texts):
        axes.annotate(
            text,
            xy=(x[i], y[i]),
            xytext=np.subtract(middles[i], spots[i]),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=_LABEL,
            arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.5, "shrinkA": 1, "shrinkB": 2},
            zorder=4,
        )


def imbalance(curves: Mapping[str, Mapping[str, Any]]) -> Figure:
    """The share of rows that the most frequent labels cover, against the share of labels.

    Example:
        >>> curve = {"labels": [0.1, 1.0], "rows": [0.5, 1.0], "labels_for_half": 0.1}
        >>> len(imbalance({"any": curve}).axes)
        1
    """
    figure = Figure(figsize=(6.6, 4.2), layout="constrained")
    axes = figure.subplots()
    words = {"any": "any of its labels", "three": "three of its labels (all, if fewer)", "all": "all of its labels"}
    looks = zip((_BLUE, _ORANGE, _GREEN), ("-", "--", "-."), strict=True)
    for (name, curve), (colour, line) in zip(curves.items(), looks, strict=False):
        half = curve["labels_for_half"]
        axes.step(
            curve["labels"], curve["rows"], where="post", color=colour, linestyle=line, linewidth=1.8, label=words[name]
        )
        axes.plot([half], [0.5], "o", color=colour, markersize=6)
        axes.annotate(
            f"{_percent(half)} of labels\nfor half of the rows",
            xy=(half, 0.5),
            xytext=(7, -6),
            textcoords="offset points",
            va="top",
            fontsize=_LABEL,
        )
    axes.axhline(0.5, color=FAINT, linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_ylim(0, 1.02)
    axes.xaxis.set_major_formatter(lambda share, _: _percent(share))
    axes.yaxis.set_major_formatter(lambda share, _: _percent(share))
    axes.set_xlabel("share of labels, most frequent first (log scale)")
    axes.set_ylabel("share of rows covered")
    figure.legend(loc="outside upper center", ncols=len(curves), title="A row is covered by", columnspacing=1.2)
    return figure


def shapes(runs: Sequence[Mapping[str, Any]]) -> Figure:
    """Histograms of the depth of labels, with and without weights by frequency, for a few values of λ.

    Example:
        >>> run = {"variant": "plain", "lam": 0.5, "shape": {"labels": [0.0, 1.0], "occurrences": [0.0, 1.0]}}
        >>> len(shapes([run]).axes)
        1
    """
    kinds = list(dict.fromkeys((run["variant"], run["lam"]) for run in runs))
    chosen = [kinds[i] for i in np.unique(np.linspace(0, len(kinds) - 1, min(_SHAPES, len(kinds))).round().astype(int))]
    depth = max(len(run["shape"]["labels"]) for run in runs)
    figure = Figure(figsize=(2.2 * max(len(chosen), 2), 3.2), layout="constrained")
    panels = figure.subplots(1, len(chosen), sharex=True, sharey=True, squeeze=False)[0]
    variants = {variant for variant, _ in chosen}
    for axes, (variant, lam) in zip(panels, chosen, strict=True):
        own = [run["shape"] for run in runs if (run["variant"], run["lam"]) == (variant, lam)]
        for name, colour, shift, words in (
            ("labels", _BLUE, -0.21, "labels"),
            ("occurrences", _ORANGE, 0.21, "labels, each as often as rows have it"),
        ):
            share = np.mean([np.pad(shape[name], (0, depth - len(shape[name]))) for shape in own], axis=0)
            axes.bar(np.arange(depth) + shift, share, width=0.42, color=colour, label=words)
            axes.axvline(share @ np.arange(depth), color=colour, linewidth=0.9, linestyle=":")
        knob = "no λ" if lam is None else f"λ = {lam_text(lam)}"
        axes.set_title(knob if len(variants) == 1 else f"{variant}\n{knob}")
        axes.set_xlabel("depth (levels)")
        axes.grid(axis="x", visible=False)
    panels[0].set_ylabel("share")
    panels[0].yaxis.set_major_formatter(lambda share, _: _percent(share))
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, [f"share of {name}" for name in names], loc="outside upper center", ncols=2)
    return figure


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
