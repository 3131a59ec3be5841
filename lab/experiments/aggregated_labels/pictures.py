"""The figures of the parts as SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from lab.experiments.aggregated_labels.datasets import MADE, NAMES
from lab.experiments.aggregated_labels.figure5 import CLASS_NAMES, LEVELS
from lab.experiments.aggregated_labels.table5 import KS, PAPERS_FIGURES, PAPERS_ORACLE
from lab.experiments.aggregated_labels.tables import EURLEX, WAYS, mean
from lab.experiments.aggregated_labels.trials import CHOSEN, ORACLE, PAPERS
from lab.experiments.common.drawing import MARKERS, plot, svg
from labelwood.tuning.plots import COLOURS, FAINT, INK, STYLE

SALT = {"svg.hashsalt": "aggregated labels"}
Found = Mapping[str, Any]
Curve = tuple[str, Sequence[float], Sequence[Found], bool]  # what lies across, where, the ways there, the paper's too


def draw(found: Mapping[str, Found]) -> dict[str, str]:
    """The pictures of all parts by the names of their files."""
    makers: dict[str, Callable[[], Figure]] = {}
    sweeps = curves(found)
    if sweeps:
        makers["decrement"] = lambda: decrements(sweeps, _oracle(found))
    for file, curve in sweeps.items():
        makers[file] = lambda curve=curve: precisions(curve, _oracle(found))  # type: ignore[misc]
    for part, make in (("simulation", simulation), ("figure5", embeddings), ("growth", growth)):
        if found[part]:
            makers[part] = lambda make=make, part=part: make(found[part])  # type: ignore[misc]
    with matplotlib.rc_context({**STYLE, **SALT}):
        return {f"aggregated-{name}.svg": svg(make()) for name, make in makers.items()}


def curves(found: Mapping[str, Found]) -> dict[str, Curve]:
    """Of Figures 7, 8 and 9 those that are known: by the size of random groups, by depth and by noise."""
    known: dict[str, Curve] = {}
    groupings = found["table5"].get(EURLEX, {}).get("groupings", {})
    chosen = found["chosen"].get(EURLEX, {}).get("groupings", {})
    for file, kind, words in (("sizes", "R", "rows in a random group"), ("depths", "D", "depth of clusters")):
        own = {
            int(name.split("-")[1]): {**ways, CHOSEN: chosen.get(name, {}).get(CHOSEN)}
            for name, ways in groupings.items()
            if name.startswith(kind)
        }
        if own:
            order = sorted(own)
            known[file] = (words, order, [{**own[x], "name": f"{kind}-{x}"} for x in order], True)
    noises = found["figures789"].get(EURLEX, {})
    if noises:
        words = f"noise, clusters of depth {noises['depth']}"
        known["noise"] = (words, [float(x) for x in noises["noises"]], list(noises["noises"].values()), False)
    return known


def _oracle(found: Mapping[str, Found]) -> Sequence[Found]:
    runs: Sequence[Found] = next(found[part] for part in ("table5", "figures789") if found[part])[EURLEX][ORACLE]
    return runs


def precisions(curve: Curve, oracle: Sequence[Found]) -> Figure:
    """P@1, P@3 and P@5 of the three ways, the paper's dotted; and of what held-out groups chose, where it is known."""
    words, x, points, papers = curve
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    panels = figure.subplots(1, 3)
    for number, (k, axes) in enumerate(zip(KS, panels, strict=True)):
        axes.axhline(mean(oracle, f"P@{k}"), color=INK, linewidth=0.9, label="oracle")
        for line, way in enumerate(PAPERS):
            plot(axes, line, WAYS[way], (x, [mean(point[way], f"P@{k}") for point in points]))
            theirs = [PAPERS_FIGURES.get(point.get("name", ""), {}).get(way) for point in points]
            if papers and all(theirs):
                y = [figures[number] for figures in theirs if figures]
                axes.plot(x, y, ":", color=COLOURS[line], linewidth=1.4, label=f"{WAYS[way]}, the paper’s")
        if all(point.get(CHOSEN) for point in points):
            plot(axes, len(PAPERS), "chosen", (x, [mean(point[CHOSEN], f"P@{k}") for point in points]))
        axes.xaxis.set_major_locator(FixedLocator(list(x)))
        axes.set_xlabel(words)
        axes.set_ylabel(f"P@{k} (%)")
    _legend(figure, panels[0], 4)
    return figure


def decrements(sweeps: Mapping[str, Curve], oracle: Sequence[Found]) -> Figure:
    """Figure 4: how much of the oracle's P@1 is lost."""
    figure = Figure(figsize=(3.7 * max(len(sweeps), 2), 3.8), layout="constrained")
    panels = figure.subplots(1, len(sweeps), squeeze=False)[0]
    best = mean(oracle, "P@1")
    for axes, (words, x, points, papers) in zip(panels, sweeps.values(), strict=True):
        for line, way in enumerate(PAPERS):
            plot(axes, line, WAYS[way], (x, [100 * (1 - mean(point[way], "P@1") / best) for point in points]))
            theirs = [PAPERS_FIGURES.get(point.get("name", ""), {}).get(way) for point in points]
            if papers and all(theirs):
                y = [100 * (1 - figures[0] / PAPERS_ORACLE[0]) for figures in theirs if figures]
                axes.plot(x, y, ":", color=COLOURS[line], linewidth=1.4, label=f"{WAYS[way]}, the paper’s")
        if all(point.get(CHOSEN) for point in points):
            lost = [100 * (1 - mean(point[CHOSEN], "P@1") / best) for point in points]
            plot(axes, len(PAPERS), "chosen", (x, lost))
        axes.xaxis.set_major_locator(FixedLocator(list(x)))
        axes.set_xlabel(words)
    panels[0].set_ylabel("P@1 lost against the oracle (%)")
    _legend(figure, panels[0], 4)
    return figure


def simulation(found: Found) -> Figure:
    """Figures 3 and 6: relative errors of the regression and of classifications over σ2, with their spread."""
    own = found[MADE]
    named = {"regression": own["regression"]} | {
        f"classification, σ1 = {noise}": by_sigma for noise, by_sigma in own["classification"].items()
    }
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    panels = figure.subplots(1, len(named))
    for axes, (title, by_sigma) in zip(panels, named.items(), strict=True):
        places = np.arange(len(by_sigma))
        for line, name in enumerate(("NoAS", "AS")):
            values = np.array([[run[name] for run in runs] for runs in by_sigma.values()])
            plot(axes, line, name, (places, values.mean(axis=1)))
            low, high = values.min(axis=1), values.max(axis=1)
            axes.fill_between(places, low, high, color=COLOURS[line], alpha=0.15, linewidth=0)
        axes.axhline(1, color=FAINT, linewidth=0.9)
        axes.set_xticks(places, list(by_sigma))
        axes.set_xlabel("σ2")
        axes.set_title(title)
    panels[0].set_ylabel("error, in multiples of the oracle’s")
    _legend(figure, panels[0], 2)
    return figure


def embeddings(found: Found) -> Figure:
    """Figure 5: a row of images for each dataset and way."""
    rows = [(name, way, figures["vectors"]) for name, ways in found.items() for way, figures in ways.items()]
    figure = Figure(figsize=(10, 1.15 * len(rows)), layout="constrained")
    panels = figure.subplots(len(rows), len(rows[0][2]), squeeze=False)
    for line, (name, way, vectors) in zip(panels, rows, strict=True):
        for axes, vector, label in zip(line, vectors, CLASS_NAMES[name], strict=True):
            side = int(len(vector) ** 0.5)
            look = {"cmap": "gray", "vmin": -LEVELS, "vmax": LEVELS, "interpolation": "none"}  # pixels as they are
            axes.imshow(np.reshape(vector, (side, side)), **look)
            axes.set_xticks([])
            axes.set_yticks([])
            if way == next(iter(found[name])):
                axes.set_title(label, fontsize=8)
        line[0].set_ylabel(f"{NAMES[name]}\n{way}", fontsize=7)
    return figure


def growth(found: Found) -> Figure:
    """CPU seconds against non-zeros, a panel for each way to grow, with lines through the origin and the largest."""
    own = found[EURLEX]["points"]
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    for axes, (kind, points) in zip(figure.subplots(1, len(own)), own.items(), strict=True):
        x = [point["nonzeros"] / 1e6 for point in points]
        for line, (t, words) in enumerate({"20": "20 iterations", "0": "EAGLE-0"}.items()):
            y = [point["cpu_s"][t] for point in points]
            axes.plot(x, y, MARKERS[line], color=COLOURS[line], markersize=5, label=words)
            axes.plot([0, x[-1]], [0, y[-1]], ":", color=COLOURS[line], linewidth=1)
        axes.set_title(f"more rows, {kind}")
        axes.set_xlabel("non-zeros (million)")
        axes.set_ylabel("CPU seconds, one thread")
        axes.legend()
    return figure


def _legend(figure: Figure, axes: Any, columns: int) -> None:
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=columns)
