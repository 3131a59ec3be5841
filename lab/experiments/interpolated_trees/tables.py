"""What the parts found, as Markdown tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lab.experiments.common.markdown import signed, table
from lab.experiments.interpolated_trees.datasets import NAMES
from lab.experiments.interpolated_trees.imbalance import MODES
from lab.experiments.interpolated_trees.precision import VARIANTS
from labelwood.tuning.summary import TOLERANCE, lam_text

# Shares of labels for half of the rows that the paper's Figures 1 and 6 give, in per cent.
PAPERS_HALVES = {
    "paper: Wiki-500K": {"any": "1"},
    "paper: Amazon-670K": {"any": "3.6"},
    "paper: AmazonCat-13K": {"any": "0.02", "three": "0.5", "all": "4.8"},
}
Found = Mapping[str, Any]
Tables = dict[str, str]  # by the names of their files


def _levels(mean: Mapping[str, float]) -> str:
    return f"{mean['level_k1_us']:.2f} / {mean['level_k5_us']:.2f}" if "level_k1_us" in mean else ""


CHANGES = {
    "depth@1": "depth@1",
    "depth@5": "depth@5",
    "search_k1_us": "search k=1",
    "search_k5_us": "k=5",
    "call_k1_us": "call k=1",
    "call_k5_us": "k=5",
    "level_k1_us": "to level by level k=1",
    "level_k5_us": "k=5",
}
TIMED: dict[str, Callable[[Mapping[str, float]], str]] = {
    "P@1 / 5": lambda mean: f"{mean['P@1']:.2f} / {mean['P@5']:.2f}",
    "depth@1 / 5": lambda mean: f"{mean['depth@1']:.2f} / {mean['depth@5']:.2f}",
    "nodes opened k=1 / 5": lambda mean: f"{mean['search_nodes_k1']:.1f} / {mean['search_nodes']:.1f}",
    "leaves opened k=1 / 5": lambda mean: f"{mean['search_leaves_k1']:.1f} / {mean['search_leaves']:.1f}",
    "search p50 µs k=1 / 5": lambda mean: f"{mean['search_k1_us']:.2f} / {mean['search_k5_us']:.2f}",
    "level by level µs k=1 / 5": _levels,
    "call p50 µs k=1 / 5": lambda mean: f"{mean['call_k1_us']:.1f} / {mean['call_k5_us']:.1f}",
}


def imbalance(found: Found) -> Tables:
    """Shares of labels for half of the rows, beside the paper's."""
    lines = [
        [NAMES[name], *(f"{curves[mode]['labels_for_half']:.3g}" for mode in MODES)] for name, curves in found.items()
    ]
    lines += [[name, *(halves.get(mode, "") for mode in MODES)] for name, halves in PAPERS_HALVES.items()]
    return {"imbalance": table(["", "any label", "three labels", "all labels"], lines)}


def precision(found: Found) -> Tables:
    """How far depth falls at the same precision, the curves beside each other, and all points of each dataset."""
    made = {"precision-least": _least_depths(found), "precision-means": _beyond_one(found)}
    for name, result in found.items():
        points = {(point["variant"], point["lam"]): point["mean"] for point in result["points"]}
        header = ["λ", *(text for variant in VARIANTS for text in (f"{variant}: P@1 / 3 / 5", "depth@1 / 3 / 5"))]
        lines = [
            [lam_text(lam), *(cell for variant in VARIANTS for cell in _precision_cells(points.get((variant, lam))))]
            for lam in sorted({lam for _, lam in points})
        ]
        made[f"precision-{name}"] = table(header, lines)
    return made


def _precision_cells(mean: Mapping[str, float] | None) -> list[str]:
    if mean is None:  # a curve that this dataset does not have
        return ["", ""]
    return [
        " / ".join(f"{mean[f'P@{k}']:.2f}" for k in (1, 3, 5)),
        " / ".join(f"{mean[f'depth@{k}']:.1f}" for k in (1, 3, 5)),
    ]


def _least_depths(found: Found) -> str:
    """Of each dataset and curve the λ with the least depth whose precision is that of λ = 0, or at most 0.1 less."""
    lines = []
    for name, result in found.items():
        for k in (1, 3, 5):
            curves = [[p for p in result["points"] if p["variant"] == variant] for variant in VARIANTS]
            cells = [_least_text(*least_depth(curve, k)) if curve else "" for curve in curves]
            lines.append([NAMES[name], f"@{k}", *cells])
    return table(["", "", *VARIANTS], lines)


def _beyond_one(found: Found) -> str:
    """Means over λ's above 1, where all four curves differ."""
    lines = []
    for name, result in found.items():
        for k in (1, 3, 5):
            means = [[p["mean"] for p in result["points"] if p["variant"] == v and p["lam"] > 1] for v in VARIANTS]
            cells = [f"{_mean(own, f'P@{k}'):.2f}, {_mean(own, f'depth@{k}'):.1f}" if own else "" for own in means]
            lines.append([NAMES[name], f"@{k}", *cells])
    return table(["", "", *VARIANTS], lines)


def _mean(figures: Sequence[Mapping[str, float]], name: str) -> float:
    return sum(each[name] for each in figures) / len(figures)


def least_depth(points: Sequence[Mapping[str, Any]], k: int) -> tuple[float, float, float]:
    """The λ, the change of depth@k in per cent and that of P@k in points."""
    base = next(point["mean"] for point in points if point["lam"] == 0)
    fine = [point for point in points if point["mean"][f"P@{k}"] >= base[f"P@{k}"] - TOLERANCE]
    best = min(fine, key=lambda point: point["mean"][f"depth@{k}"])
    depth = 100 * (best["mean"][f"depth@{k}"] / base[f"depth@{k}"] - 1) if base[f"depth@{k}"] else 0.0
    return best["lam"], depth, best["mean"][f"P@{k}"] - base[f"P@{k}"]


def _least_text(lam: float, depth: float, precision: float) -> str:
    return "none below λ = 0" if lam == 0 else f"{signed(depth)} % at λ {lam_text(lam)} (P {signed(precision, 2)})"


def rise(found: Found) -> Tables:
    """Answers that are labels which count for no row, and their depth beside that of the others."""
    lines = [
        [NAMES[name], f"{result['labels']:.0f} %", f"{each['lam']:.4g}", *(_risen(each, k) for k in (1, 5))]
        for name, result in found.items()
        for each in result["lams"]
    ]
    words = "answers@{k} that are such: their mean depth, that of the others"
    header = ["", "labels that count for no row", "λ", *(words.format(k=k) for k in (1, 5))]
    return {"rise": table(header, lines)}


def _risen(each: Mapping[str, float | None], k: int) -> str:
    depths = [each[f"{which}_depth@{k}"] for which in ("uncounted", "counted")]
    return f"{each[f'share@{k}']:.1f} %: " + ", ".join("–" if depth is None else f"{depth:.1f}" for depth in depths)


def timing(found: Found) -> Tables:
    """Changes against λ = 0, and the figures themselves."""
    points = [(name, point) for name, each in found.items() for point in each]
    changes = [
        [
            *_of(name, point),
            signed(_precision_change(point, found[name]), 2),
            *(signed(point["change"][figure]) for figure in CHANGES),
        ]
        for name, point in points
    ]
    values = [[*_of(name, point), *(show(point["mean"]) for show in TIMED.values())] for name, point in points]
    return {
        "timing-changes": table(["", "leaf", "λ", "P@1", *CHANGES.values()], changes),
        "timing": table(["", "leaf", "λ", *TIMED], values),
    }


def _of(name: str, point: Mapping[str, Any]) -> list[str]:
    return [NAMES[name], point["variant"].split()[-1], lam_text(point["lam"])]


def _precision_change(point: Mapping[str, Any], points: Sequence[Mapping[str, Any]]) -> float:
    base = next(p for p in points if (p["variant"], p["lam"]) == (point["variant"], 0))
    return float(point["mean"]["P@1"] - base["mean"]["P@1"])


def arity(found: Found) -> Tables:
    """A line for each arity and λ."""
    figures = ("P@1", "P@5", "depth@1", "search_k1_us", "search_k5_us")
    lines = [
        [*_of(name, point), *(f"{point['mean'][figure]:.2f}" for figure in figures)]
        for name, points in found.items()
        for point in points
    ]
    return {"arity": table(["", "arity", "λ", "P@1", "P@5", "depth@1", "search p50 µs k=1", "k=5"], lines)}


def bounded(found: Found) -> Tables:
    """A line for each number of answers and bound."""
    figures = ("P@1", "P@5", "nodes", "leaves", "batch_us")
    lines = [
        [
            NAMES[name],
            str(each["k"]),
            "exact" if each["loss"] is None else f"{100 * each['loss']:g} %",
            f"{each['changed']:.2f} %",
            *(f"{each[figure]:.2f}" if figure in each else "" for figure in figures),
        ]
        for name, entries in found.items()
        for each in entries
    ]
    header = ["", "k", "bound", "rows changed", "P@1", "P@5", "nodes opened", "leaves opened", "CPU µs a row, batch"]
    return {"bounded": table(header, lines)}
