"""The figures of the parts as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lab.experiments.common.drawing import MARKERS, plot, svg
from lab.experiments.disentanglement import copies as figure3
from lab.experiments.disentanglement import fused as figure2
from lab.experiments.disentanglement.datasets import NAMES
from lab.experiments.disentanglement.fusing import MODES
from lab.experiments.disentanglement.tables import relative_costs
from labelwood.tuning.plots import COLOURS, INK, STYLE

SALT = {"svg.hashsalt": "disentanglement"}


def draw(part: str, found: Mapping[str, Any]) -> dict[str, str]:
    """The pictures of a part by the names of their files; the other parts have tables only."""
    with matplotlib.rc_context({**STYLE, **SALT}):
        if part == "fused":
            return {"disentanglement-fused.svg": svg(fused(found))}
        if part == "copies":
            return {"disentanglement-copies.svg": svg(copies(found))}
    return {}


def fused(found: Mapping[str, Any]) -> Figure:
    """Figure 2: gains in P@5 over the plain tree by mode; a row of panels for each dataset, a panel for each k."""
    ks = list(dict.fromkeys(case["k"] for cases in found.values() for case in cases))
    figure = Figure(figsize=(3.2 * max(len(ks), 2) + 0.6, 2.7 * len(found) + 0.8), layout="constrained")
    panels = figure.subplots(len(found), len(ks), squeeze=False, sharey="row")
    for row, (name, cases) in zip(panels, found.items(), strict=True):
        for axes, k in zip(row, ks, strict=True):
            _gains(axes, [case for case in cases if case["k"] == k])
            axes.set_title(f"{NAMES[name]}, k = {k}")
        row[0].set_ylabel("change of P@5 (points)")
    handles = {
        name: handle for axes in panels.flat for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=len(handles))
    return figure


def _gains(axes: Any, cases: Sequence[dict[str, Any]]) -> None:
    """The mean of each mode, and a bar from the lowest seed to the highest."""
    modes = [mode for mode in MODES if any(case["mode"] == mode for case in cases)]
    axes.axhline(0, color=INK, linewidth=0.8)
    series = figure2.series(cases[0]["k"]) if cases else {}
    for place, name in enumerate(sorted(series)):  # chosen copies first
        values = [figure2.gains(case, name) for mode in modes for case in cases if case["mode"] == mode]
        means = np.array([each.mean() for each in values])
        bars = np.abs([[each.min(), each.max()] for each in values] - means[:, None]).T
        x = np.arange(len(modes)) + 0.09 * (place - (len(series) - 1) / 2)
        axes.errorbar(x, means, bars, **_look(*name.split()))
    axes.set_xticks(range(len(modes)), modes)
    axes.margins(0.1, 0.12)


def _look(kind: str, copies: str) -> dict[str, Any]:
    """Colours tell numbers of copies apart, hollow marks those that lie anywhere."""
    number, chosen = int(copies != "2"), kind == "copies"
    name = "copies=2" if copies == "2" else "copies=k"
    return {
        "color": COLOURS[number],
        "marker": MARKERS[number],
        "fillstyle": "full" if chosen else "none",
        "linestyle": "-" if chosen else "--",
        "markersize": 5,
        "linewidth": 1.2,
        "label": name if chosen else f"{name}, but random leaves",
    }


def copies(found: Mapping[str, Any]) -> Figure:
    """Figure 3: P@5 and PSP@5 against the plain tree's, time to train and to search, a line for each dataset."""
    figure = Figure(figsize=(9, 6.4), layout="constrained")
    panels = figure.subplots(2, 2)
    titles = ("change of P@5 (points)", "change of PSP@5 (points)", "CPU time to train", "time of a search, one row")
    for number, (name, runs) in enumerate(found.items()):
        ways = list(runs[0])
        x = [0 if way == figure3.PLAIN else int(way) for way in ways]
        for axes, y in zip(panels.flat, _curves(runs, ways), strict=True):
            plot(axes, number, NAMES[name], (x, y))
    for axes, title in zip(panels.flat, titles, strict=True):
        axes.set_title(title)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.xaxis.set_major_formatter(lambda n, _: "plain" if n == 0 else f"{n:g}")
    for axes in panels[1]:
        axes.yaxis.set_major_formatter(lambda ratio, _: f"{ratio:g} ×")
        axes.set_xlabel("copies of a label at most")
        axes.set_ylim(bottom=0)
    handles, names = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))
    return figure


def _curves(runs: Sequence[Mapping[str, Any]], ways: Sequence[str]) -> list[list[float]]:
    """Means of changes and of ratios over seeds."""
    found = [
        [float(np.mean([run[way][metric] - run[figure3.PLAIN][metric] for run in runs])) for way in ways]
        for metric in ("P@5", "PSP@5")
    ]
    costs = [relative_costs(runs, way) for way in ways]
    return found + [[float(np.median(each[figure])) for each in costs] for figure in ("train_cpu_s", "search_us")]
