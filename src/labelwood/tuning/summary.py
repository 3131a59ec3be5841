"""The results of a sweep: means and spreads over seeds, the Pareto front, and the recommended λ."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labelwood._native import SearchCosts
from labelwood.arrays.options import fields_of
from labelwood.data.publishing import text_output
from labelwood.errors import ParameterError

TOLERANCE = 0.1  # points of P@1 that count as the same precision
SEARCH = tuple(f"search_{name}" for name in fields_of(SearchCosts))  # what `TreeClassifier.search_costs` counts
FIGURES = (
    *("P@1", "P@3", "P@5", "depth@1", "depth@3", "depth@5", "p50_ms", "p99_ms"),
    *SEARCH,
    *("model_bytes", "train_cpu_s"),
)


@dataclass(frozen=True)
class Point:
    """A λ of a variant: the mean, the lowest and the highest value of each figure over seeds.

    Example:
        >>> point = Point.of("plain", 0.5, [{"P@1": 70.0}, {"P@1": 72.0}])
        >>> point.mean, point.spread
        ({'P@1': 71.0}, {'P@1': 2.0})
    """

    variant: str
    lam: float | None
    seeds: int
    mean: Mapping[str, float] = field(default_factory=dict)
    low: Mapping[str, float] = field(default_factory=dict)
    high: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, variant: str, lam: float | None, figures: Sequence[Mapping[str, float]]) -> Point:
        """A point from the figures of its runs."""
        columns = {name: np.array([run[name] for run in figures], float) for name in figures[0]}
        mean, low, high = (
            {name: float(how(column)) for name, column in columns.items()} for how in (np.mean, np.min, np.max)
        )
        return cls(variant, lam, len(figures), mean, low, high)

    @property
    def spread(self) -> dict[str, float]:
        """The highest minus the lowest value of each figure."""
        return {name: self.high[name] - low for name, low in self.low.items()}

    def plain(self) -> dict[str, Any]:
        """The point as data for JSON."""
        return {**vars(self), "spread": self.spread}

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> Point:
        """The point from the data that `plain` returned."""
        return cls(**{name: value for name, value in data.items() if name != "spread"})


def pareto_front(costs: Sequence[float], gains: Sequence[float]) -> list[int]:
    """The points that no other point beats, by ascending cost.

    A point beats another if its cost is not higher and its gain is not lower, and at least one of them is better.

    Example:
        >>> pareto_front(costs=[1, 2, 3, 2], gains=[5, 9, 8, 7])
        [0, 1]
    """
    order = sorted(range(len(costs)), key=lambda i: (costs[i], -gains[i]))
    front: list[int] = []
    for i in order:
        twin = front and costs[i] == costs[front[-1]] and gains[i] == gains[front[-1]]
        if not front or twin or gains[i] > gains[front[-1]]:
            front.append(i)
    return front


def recommend(points: Sequence[Point], budget_ms: float | None = None) -> dict[str, Any]:
    """The recommended λ, with its figures and a sentence.

    "same_precision" is the fastest λ (by p50) whose mean P@1 is at most 0.1 below that of λ = 0. Without λ = 0, it is
    compared with the best λ. With a budget, "budget" is the most precise λ whose p50 is within the budget.

    Example:
        >>> grid = [
        ...     Point.of("plain", lam, [{"P@1": precision, "p50_ms": ms}])
        ...     for lam, precision, ms in [(0.0, 71.0, 0.04), (1.0, 71.2, 0.03), (2.0, 69.0, 0.02)]
        ... ]
        >>> found = recommend(grid, budget_ms=0.025)
        >>> found["same_precision"]["lam"], found["budget"]["lam"]
        (1.0, 2.0)
    """
    usable = [point for point in points if point.lam is not None]
    if not usable:
        raise ParameterError("there is no λ to recommend: no variant has an interpolated tree")
    zero = next((point for point in usable if point.lam == 0), None)
    best = min(usable, key=lambda p: (-p.mean["P@1"], p.mean["p50_ms"], p.lam))
    reference = zero or best
    same = [p for p in usable if p.mean["P@1"] >= reference.mean["P@1"] - TOLERANCE - 1e-9]
    fastest_same = min(same, key=lambda p: (p.mean["p50_ms"], -p.mean["P@1"], p.lam))
    found = {"same_precision": {**_facts(fastest_same), "sentence": _same_precision_sentence(fastest_same, reference)}}
    if budget_ms is not None:
        found["budget"] = _within_budget(usable, budget_ms)
    return found


def _within_budget(points: Sequence[Point], budget_ms: float) -> dict[str, Any]:
    if not budget_ms > 0:
        raise ParameterError(f"the budget must be more than 0 ms, not {budget_ms}")
    fitting = [p for p in points if p.mean["p50_ms"] <= budget_ms]
    if not fitting:
        fastest = min(points, key=lambda p: (p.mean["p50_ms"], -p.mean["P@1"], p.lam))
        words = f"No λ answers within {budget_ms:g} ms: the fastest is {_describe(fastest)}."
        return {"budget_ms": budget_ms, "lam": None, "fastest": _facts(fastest), "sentence": words}
    chosen = min(fitting, key=lambda p: (-p.mean["P@1"], p.mean["p50_ms"], p.lam))
    words = f"Within {budget_ms:g} ms, the most precise is {_describe(chosen)}."
    return {"budget_ms": budget_ms, **_facts(chosen), "sentence": words}


def _facts(point: Point) -> dict[str, Any]:
    return {"lam": point.lam, "P@1": point.mean["P@1"], "p50_ms": point.mean["p50_ms"]}


def _describe(point: Point) -> str:
    return f"λ = {lam_text(point.lam)} with P@1 {point.mean['P@1']:.2f} and a p50 of {point.mean['p50_ms']:.4f} ms"


def _same_precision_sentence(chosen: Point, reference: Point) -> str:
    if chosen.lam == reference.lam:
        return f"Same precision, least latency: {_describe(chosen)}; no faster λ is as precise."
    saved = 1 - chosen.mean["p50_ms"] / reference.mean["p50_ms"]
    change = f"{abs(saved):.0%} {'less' if saved >= 0 else 'more'}"
    noise = max(point.spread["p50_ms"] for point in (chosen, reference))
    close = abs(chosen.mean["p50_ms"] - reference.mean["p50_ms"]) <= noise
    return (
        f"Same precision, least latency: {_describe(chosen)}, {change} than λ = {lam_text(reference.lam)} "
        f"(P@1 {reference.mean['P@1']:.2f}, p50 {reference.mean['p50_ms']:.4f} ms)"
        f"{', a difference no larger than that between seeds' if close else ''}."
    )


def lam_text(lam: float | None) -> str:
    """A λ as text: four digits, or six for values that would round to 2 without being 2.

    Example:
        >>> lam_text(4 / 3), lam_text(0.0), lam_text(2 * 1e5 / (1 + 1e5)), lam_text(2.0)
        ('1.333', '0', '1.99998', '2')
    """
    if lam is None:
        return "–"
    short = f"{lam:.4g}"
    return short if short != "2" or lam == 2 else f"{lam:.6g}"


def table_rows(points: Sequence[Point]) -> list[dict[str, Any]]:
    """The rows of the CSV file: means, and spreads as `…_spread`.

    Example:
        >>> table_rows([Point.of("plain", 0.5, [{"P@1": 70.0}])])
        [{'variant': 'plain', 'lam': 0.5, 'seeds': 1, 'P@1': 70.0, 'P@1_spread': 0.0}]
    """
    return [
        {
            "variant": point.variant,
            "lam": "" if point.lam is None else point.lam,
            "seeds": point.seeds,
            **{
                name: value
                for f in point.mean
                for name, value in ((f, point.mean[f]), (f"{f}_spread", point.spread[f]))
            },
        }
        for point in points
    ]


def plain_table(points: Sequence[Point]) -> str:
    """The main figures as a text table.

    Example:
        >>> figures = dict.fromkeys(FIGURES, 2.0)
        >>> print(plain_table([Point.of("plain", 0.5, [figures])]))
              λ    P@1    P@3    P@5  depth@1  depth@5   p50 ms   p99 ms       MB   CPU s
            0.5   2.00   2.00   2.00     2.00     2.00   2.0000   2.0000     0.00    2.00
    """
    lines = ["      λ    P@1    P@3    P@5  depth@1  depth@5   p50 ms   p99 ms       MB   CPU s"]
    for point in points:
        mean = point.mean
        precision = "".join(f"{mean[f'P@{k}']:7.2f}" for k in (1, 3, 5))
        depth = "".join(f"{mean[f'depth@{k}']:9.2f}" for k in (1, 5))
        times = "".join(f"{mean[name]:9.4f}" for name in ("p50_ms", "p99_ms"))
        size = f"{mean['model_bytes'] / 1e6:9.2f}{mean['train_cpu_s']:8.2f}"
        lines.append(f"{lam_text(point.lam):>7}{precision}{depth}{times}{size}")
    return "\n".join(lines)


def write_table(path: Path, points: Sequence[Point]) -> None:
    """Writes points as CSV.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "points.csv"
        >>> write_table(path, [Point.of("plain", 0.5, [{"P@1": 70.0}])])
        >>> path.read_text().splitlines()[1]
        'plain,0.5,1,70.0,0.0'
    """
    rows = table_rows(points)
    with text_output(path, overwrite=True) as out:
        writer = csv.DictWriter(out, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
