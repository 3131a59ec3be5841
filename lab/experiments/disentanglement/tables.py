"""What the parts found, as Markdown tables by their names: each a file, for a page takes them one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lab.experiments.common.markdown import signed, table, with_spread
from lab.experiments.disentanglement import combined as combinations
from lab.experiments.disentanglement import copies as figure3
from lab.experiments.disentanglement import fused as figure2
from lab.experiments.disentanglement import table4 as reals
from lab.experiments.disentanglement.cost import MEAN, TIMED, ratios
from lab.experiments.disentanglement.datasets import NAMES

Found = Mapping[str, Any]
KS = (1, 3, 5)
P, PSP = [f"P@{k}" for k in KS], [f"PSP@{k}" for k in KS]
# P@1, 3 and 5 in the paper: base, without and with refit.
PAPER = {
    "Wiki10-31K": ((84.14, 72.85, 64.09), (84.52, 74.23, 65.41), (84.57, 74.55, 65.59)),
    "AmazonCat-13K": ((92.53, 78.45, 63.85), (90.63, 78.12, 63.86), (92.90, 79.04, 64.35)),
    "Amazon-670K": ((44.17, 39.14, 35.38), (43.22, 38.19, 34.10), (44.82, 39.93, 36.34)),
    "Amazon-3M": ((46.74, 43.88, 41.72), (46.95, 44.24, 42.18), (47.51, 44.76, 42.67)),
}
# Training and prediction relative to the plain tree: the paper gives what comes on top.
PAPERS_COST = {
    "Wiki10-31K": (6.58, 5.80),
    "AmazonCat-13K": (5.54, 2.59),
    "Amazon-670K": (1.96, 1.60),
    "Amazon-3M": (2.63, 3.51),
}


def change(values: Sequence[float] | np.ndarray[Any, Any], digits: int = 2, *, spread: bool = True) -> str:
    """The mean of changes, bold where those of all seeds have its sign; and the lowest and the highest."""
    mean, low, high = (signed(float(how(values)), digits) for how in (np.mean, np.min, np.max))
    is_sure = len(values) > 1 and (np.min(values) > 0 or np.max(values) < 0) and mean[0] in "+−"
    text = f"**{mean}**" if is_sure else mean
    return f"{text} ({low} to {high})" if spread and low != high else text


def fused(found: Found) -> dict[str, str]:
    """Gains in P@5, all precisions of each dataset, and the disentanglement score."""
    lines = [[NAMES[name], *_gains(case)] for name, cases in found.items() for case in cases]
    header = ["", "k", "mode", "labels", "P@5, plain", "copies=2", "as many random", "copies=k", "as many random"]
    return {
        "fused": table(header, lines),
        **{f"fused-{name}": _precisions(cases) for name, cases in found.items()},
        "fused-information": _information(found),
    }


def _gains(case: dict[str, Any]) -> list[str]:
    cells = [change(figure2.gains(case, name)) for name in figure2.series(case["k"])]
    plain = with_spread([run["models"][figure2.PLAIN]["P@5"] for run in case["runs"]])
    return [*_case(case), str(case["runs"][0]["labels"]), plain, *cells, *[""] * (4 - len(cells))]


def _case(case: Mapping[str, Any]) -> list[str]:
    return [str(case["k"]), case["mode"]]


def _precisions(cases: Sequence[dict[str, Any]]) -> str:
    lines = []
    for case in cases:
        base = np.array([run["models"][figure2.PLAIN]["P@5"] for run in case["runs"]])
        for name, title in {figure2.PLAIN: "plain", **figure2.series(case["k"])}.items():
            cells = [with_spread([run["models"][name][metric] for run in case["runs"]]) for metric in P]
            relative = 100 * figure2.gains(case, name) / base
            lines.append([*_case(case), title, *cells, "" if name == figure2.PLAIN else f"{change(relative)} %"])
    return table(["k", "mode", "", *P, "P@5, relative change"], lines)


def _information(found: Found) -> str:
    """Splits are those of as many copies as a label has components."""
    lines = []
    for name, cases in found.items():
        for case in cases:
            runs = [run["information"] for run in case["runs"]]
            runs = [run for run in runs if run[figure2.CHOOSING]["labels"]]
            if runs:
                lines.append([NAMES[name], *_case(case), *_split(runs)])
    columns = [f"{matcher}: bits, random split's, labels nearer" for matcher in _MATCHERS.values()]
    return table(["", "k", "mode", "labels", "rows a label", *columns], lines)


def _split(runs: Sequence[Mapping[str, Mapping[str, float]]]) -> list[str]:
    """Bits from the true split, those of random splits with parts as large, and in how many labels there are fewer."""
    cells = [f"{np.mean([run[figure2.CHOOSING][figure] for run in runs]):.0f}" for figure in ("labels", "rows")]
    for matcher in _MATCHERS:
        own, others, nearer = (np.mean([run[matcher][figure] for run in runs]) for figure in _BITS)
        cells.append(f"{own:.3f}, {others:.3f} ({signed(float(own - others), 3)}), {nearer:.0f} %")
    return cells


_MATCHERS = {
    figure2.CHOOSING: "matcher that chose the leaves",
    figure2.REFITTED: "matcher after refit",
    figure2.ANYWHERE: "random leaves",
}
_BITS = ("matcher", "random", "better")


def copies(found: Found) -> dict[str, str]:
    """Precisions, and what they cost relative to the plain tree."""
    lines = []
    for name, runs in found.items():
        for way in runs[0]:
            precisions = [with_spread([run[way][metric] for run in runs]) for metric in (*P, "PSP@5")]
            place = with_spread([run[way]["copies_a_label"] for run in runs])
            costs = [f"{np.median(values):.2f}" for values in relative_costs(runs, way).values()]
            lines.append([NAMES[name], way, *precisions, place, *costs])
    header = ["", "copies", *P, "PSP@5", "leaves a label", "CPU time to train", "search, one row", "call, one row"]
    return {"copies": table(header, lines)}


def relative_costs(runs: Sequence[Mapping[str, Any]], way: str) -> dict[str, list[float]]:
    """CPU time to train, time of a search and of a call, relative to the plain tree, for each seed."""
    return {
        figure: [run[way][figure] / run[figure3.PLAIN][figure] for run in runs]
        for figure in ("train_cpu_s", "search_us", "call_us")
    }


def table4(found: Found) -> dict[str, str]:
    """The three rows of the paper's table, the directions of change beside its own, and all variants."""
    rows = (reals.BASE, reals.RANKER, reals.ALL)
    lines = [
        [NAMES[name], variant, *(with_spread([run["max"][metric] for run in variants[variant]]) for metric in P + PSP)]
        for name, variants in found.items()
        for variant in rows
    ]
    return {
        "table4": table(["", "", *P, *PSP], lines),
        "table4-direction": _directions(found),
        "table4-variants": _variants(found),
    }


def _directions(found: Found) -> str:
    """Signs, ours and the paper's: without and with refit against base, and with refit against without."""
    pairs = ((reals.RANKER, reals.BASE), (reals.ALL, reals.BASE), (reals.ALL, reals.RANKER))
    lines = []
    for name, variants in found.items():
        cells = [change(changes(variants, *pair, metric), spread=False) for pair in pairs for metric in P]
        lines.append([NAMES[name], *_by_three(cells)])
    for name, figures in PAPER.items():
        by_variant = dict(zip((reals.BASE, reals.RANKER, reals.ALL), figures, strict=True))
        cells = [signed(by_variant[a][i] - by_variant[b][i], 2) for a, b in pairs for i in range(3)]
        lines.append([f"paper: {name}", *_by_three(cells)])
    titles = ("without refit − base", "with refit − base", "with − without refit")
    return table(["", *(f"{title}: P@1 / 3 / 5" for title in titles)], lines)


def _by_three(cells: Sequence[str]) -> list[str]:
    return [" / ".join(cells[i : i + 3]) for i in range(0, len(cells), 3)]


def changes(
    variants: Mapping[str, Any], variant: str, base: str, metric: str, merge: str = "max"
) -> np.ndarray[Any, Any]:
    """Of a variant against another, for each seed."""
    pairs = zip(variants[variant], variants[base], strict=True)
    return np.array([run[merge][metric] - other["max"][metric] for run, other in pairs])


def _variants(found: Found) -> str:
    lines = []
    for name, variants in found.items():
        for variant, merge in _ways():
            runs = variants[variant]
            sizes = [f"{np.mean([run[size] for run in runs]):.{n}f}" for size, n in _SIZES.items()]
            against = [changes(variants, variant, reals.BASE, metric, merge) for metric in P + PSP]
            scored = [change(each, spread=False) for each in against[3:]]
            lines.append([NAMES[name], variant, merge, *sizes, *map(change, against[:3]), *_by_three(scored)])
    return table(["", "", "merge", "leaves a label", "largest leaf", *P, "PSP@1 / 3 / 5"], lines)


_SIZES = {"copies_a_label": 2, "largest_leaf": 0}


def _ways() -> Iterator[tuple[str, str]]:
    for variant in reals.VARIANTS:
        if variant != reals.BASE:
            yield from ((variant, merge) for merge in reals.MERGES)


def cost(found: Found) -> dict[str, str]:
    """Times relative to the plain tree, and the plain tree's own."""
    lines = []
    for name, rounds in found.items():
        own = [np.median([each[reals.BASE][figure] for each in rounds]) for figure in _TIMES]
        lines.append([NAMES[name], "plain", f"{own[0]:.2f} s", *(f"{us:.1f} µs" for us in own[1:])])
        for variant in (*TIMED, MEAN):
            if variant != reals.BASE:
                cells = [_median(ratios(rounds, variant, figure)) for figure in _TIMES]
                lines.append([NAMES[name], f"copies=2, {variant}", *cells])
    lines += [
        [f"paper: {name}", "copies=2, with refit", *(f"{ratio:.2f}" for ratio in ratios), ""]
        for name, ratios in PAPERS_COST.items()
    ]
    return {"cost": table(["", "", "CPU time to train", "search, one row", "call, one row"], lines)}


_TIMES = ("train_cpu_s", "search_us", "call_us")


def _median(values: np.ndarray[Any, Any]) -> str:
    low, high, median = (f"{how(values):.2f}" for how in (np.min, np.max, np.median))
    return median if low == high else f"{median} ({low}–{high})"


def combined(found: Found) -> dict[str, str]:
    """Each model without copies, with them, and the difference."""
    lines = []
    for name, models in found.items():
        for model, ways in models.items():
            plain, ours = ways["plain"], ways["copies"]
            cells = [f"{plain[m]:.2f} → {ours[m]:.2f} ({signed(ours[m] - plain[m], 2)})" for m in (*P, "PSP@5")]
            lines.append([NAMES[name], model, *cells, f"{ours['train_cpu_s'] / plain['train_cpu_s']:.2f}"])
    header = ["", "", *(f"{metric}, copies=1 → {combinations.COPIES}" for metric in (*P, "PSP@5"))]
    return {"combined": table([*header, "CPU time to train"], lines)}
