"""From figures of repeated runs to medians, spreads, ratios to the best rival, and tables."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

Runs = dict[str, list[dict[str, float]]]


@dataclass(frozen=True)
class Column:
    """A figure of the table: how it is headed and printed, and which way is better."""

    key: str
    title: str
    digits: int
    scale: float = 1.0
    higher: bool = False


ACCURACY = [Column(f"{name}@{k}", f"{name}@{k}", 2, higher=True) for name in ("P", "nDCG", "PSP") for k in (1, 3, 5)]
COST = [
    Column("train_cpu_s", "train CPU s", 2),
    Column("train_wall_s", "train wall s", 2),
    Column("batch_us", "batch µs", 1),
    Column("single_p50_ms", "p50 ms", 3),
    Column("single_p99_ms", "p99 ms", 3),
    Column("model_bytes", "model MB", 2, scale=1e-6),
    Column("load_s", "load s", 4),
    Column("train_peak_mib", "train MiB", 0),
    Column("predict_peak_mib", "predict MiB", 0),
]
COLUMNS = [*COST, *ACCURACY]


def summary(ours: Runs, rivals: Runs, failures: dict[str, str]) -> dict[str, Any]:
    """For each contender and column the median, the spread and the ratio to the best rival."""
    best = {column.key: best_rival(column, rivals) for column in COLUMNS}
    lines = {name: line(runs, best) for name, runs in {**ours, **rivals}.items() if runs}
    return {"contenders": lines, "best_rival": best, "failed": failures, "runs": {**ours, **rivals}}


def best_rival(column: Column, rivals: Runs) -> dict[str, Any] | None:
    """The rival that is best in a column."""
    medians = {name: statistics.median(run[column.key] for run in runs) for name, runs in rivals.items() if runs}
    if not medians:
        return None
    name = (max if column.higher else min)(medians, key=medians.__getitem__)
    return {"name": name, "value": medians[name]}


def line(runs: list[dict[str, float]], best: dict[str, Any]) -> dict[str, Any]:
    """The figures of one contender."""
    figures = {}
    for column in COLUMNS:
        values = [run[column.key] for run in runs]
        median = statistics.median(values)
        rival = best[column.key]
        ratio = median / rival["value"] if rival and rival["value"] else None
        figures[column.key] = {"median": median, "min": min(values), "max": max(values), "ratio": ratio}
    return figures


def markdown(found: dict[str, Any]) -> str:
    """Costs and accuracy as tables, the spread and the ratio to the best rival beside each median."""
    parts = [table(found, COST, with_ratio=True), table(found, ACCURACY, with_ratio=False), others(found)]
    parts += [f"- {name}: failed, {why}" for name, why in found["failed"].items()]
    return "\n\n".join(part for part in parts if part)


def table(found: dict[str, Any], columns: list[Column], *, with_ratio: bool) -> str:
    """A markdown table with a line a contender."""
    lines = [
        "| contender | " + " | ".join(column.title for column in columns) + " |",
        "| --- " * (len(columns) + 1) + "|",
    ]
    for name, figures in found["contenders"].items():
        cells = [cell(figures[column.key], column, with_ratio) for column in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cell(figure: dict[str, Any], column: Column, with_ratio: bool) -> str:
    """Median, spread if there is one, ratio."""
    low, high, median = (f"{figure[key] * column.scale:,.{column.digits}f}" for key in ("min", "max", "median"))
    spread = f" ({low}–{high})" if low != high else ""
    ratio = f" ×{figure['ratio']:.2f}" if with_ratio and figure["ratio"] is not None else ""
    return f"{median}{spread}{ratio}"


def others(found: dict[str, Any]) -> str:
    """What other processes took of the machine meanwhile; walls are trustworthy only where this is small."""
    shares = {
        stage: max((run[f"{stage}_others_cores"] for runs in found["runs"].values() for run in runs), default=0.0)
        for stage in ("train", "predict")
    }
    said = ", ".join(f"{share:.2f} cores while contenders {stage}" for stage, share in shares.items())
    return f"Other processes used at most {said}. × is the ratio to the best rival of the column."
