"""How Labelwood's time, memory and latency grow: labels, rows and features doubled step by step on generated data.

Usage: python -m lab.benchmarks.scale [--first 8192] [--last 1048576] [--setting default] [--json FILE] [--table FILE]

Every step trains with two threads and predicts with one, each in a fresh process. Beside each column stands its growth
from step to step, and under the table how it grew over all steps beside n log n (time and size) or log n (latency):
a share below 1 means more slowly.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.benchmarks.generate import generate
from lab.benchmarks.rivals import environments
from lab.benchmarks.rivals.contenders import SETTINGS
from lab.benchmarks.rivals.stages import Course

TEST_ROWS = 5000


@dataclass(frozen=True)
class Measure:
    """A column: how it is headed and printed, and what its growth is held against."""

    key: str
    title: str
    digits: int
    scale: float = 1.0
    bound: str | None = None


MEASURES = [
    Measure("train_cpu_s", "train CPU s", 2, bound="n log n"),
    Measure("train_wall_s", "wall s", 2),
    Measure("train_peak_mib", "train peak MiB", 0),
    Measure("train_own_mib", "beyond the data MiB", 0, bound="n log n"),
    Measure("model_bytes", "model MB", 1, scale=1e-6, bound="n log n"),
    Measure("load_s", "load ms", 1, scale=1e3),
    Measure("load_unverified_s", "unverified ms", 2, scale=1e3),
    Measure("single_p50_ms", "p50 ms", 4, bound="log n"),
    Measure("single_p99_ms", "p99 ms", 4),
    Measure("batch_us", "batch µs", 1, bound="log n"),
    Measure("predict_peak_mib", "predict peak MiB", 0),
    Measure("P@1", "P@1", 1),
    Measure("P@5", "P@5", 1),
]
BOUNDS: dict[str, Callable[[float], float]] = {"n log n": lambda n: n * math.log2(n), "log n": math.log2}


def main() -> None:
    """Runs all steps; the table so far is written after each."""
    options = parse()
    steps: list[dict[str, float]] = []
    labels = options.first
    while labels <= options.last:
        steps.append({"labels": labels} | step(labels, options))
        print(progress(steps[-1]), flush=True)
        table = f"{markdown(steps)}\n\n{growth(steps)}\n"
        if options.table:
            options.table.write_text(table)
        if options.json:
            options.json.write_text(json.dumps({"setting": options.setting, "steps": steps}, indent=1))
        labels *= 2
    print(f"\n{table}")


def parse() -> argparse.Namespace:
    """The command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--first", type=int, default=1 << 13, help="labels of the first step")
    arguments.add_argument("--last", type=int, default=1 << 20, help="labels of the last step at most")
    arguments.add_argument("--setting", choices=SETTINGS, default="default")
    arguments.add_argument("--timeout", type=float, default=7200, help="seconds that a stage may take")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="where to write all figures")
    arguments.add_argument("--table", type=Path, metavar="FILE", help="where to write the table as markdown")
    arguments.add_argument("--cache", type=Path, default=environments.default_cache())
    options = arguments.parse_args()
    if not 2 <= options.first <= options.last:
        arguments.error("--first must be at least 2 and at most --last")
    return options


def step(labels: int, options: argparse.Namespace) -> dict[str, float]:
    """Generates the data of one step, runs it and removes the data."""
    data = options.cache / "data" / f"generated-{labels}"
    generate(data, labels, labels, labels, test_rows=TEST_ROWS)
    try:
        figures = Course(data, options.cache, options.timeout).run(options.setting, SETTINGS[options.setting])
    finally:
        shutil.rmtree(data)
    return figures | {"train_own_mib": figures["train_peak_mib"] - figures["train_before_mib"]}


def progress(figures: dict[str, float]) -> str:
    """One line a step, for those who watch."""
    return f"{figures['labels']:>9,} labels: " + ", ".join(f"{m.title} {shown(figures, m)}" for m in MEASURES)


def shown(figures: dict[str, float], measure: Measure) -> str:
    """A figure as it is printed."""
    return f"{figures[measure.key] * measure.scale:,.{measure.digits}f}"


def markdown(steps: list[dict[str, float]]) -> str:
    """A line a step, with the factor to the step before."""
    titles = ["labels = rows = features", *(measure.title for measure in MEASURES)]
    lines = [f"| {' | '.join(titles)} |", "| --- " * len(titles) + "|"]
    for before, now in zip([None, *steps], steps, strict=False):
        cells = [cell(before, now, measure) for measure in MEASURES]
        lines.append(f"| {now['labels']:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def cell(before: dict[str, float] | None, now: dict[str, float], measure: Measure) -> str:
    """The figure and, where its growth matters, by how much it grew."""
    if before is None or measure.bound is None:
        return shown(now, measure)
    return f"{shown(now, measure)} (×{now[measure.key] / before[measure.key]:.2f})"


def growth(steps: list[dict[str, float]]) -> str:
    """For each bounded column the fitted power of n, and the growth over all steps beside that of its bound."""
    if len(steps) < 2:
        return ""
    n = np.array([figures["labels"] for figures in steps])
    lines = []
    for measure in MEASURES:
        if measure.bound is not None:
            values = np.array([figures[measure.key] for figures in steps])
            power = np.polyfit(np.log(n), np.log(values), 1)[0]
            allowed = np.array([BOUNDS[measure.bound](x) for x in n.tolist()])
            factor, bound = values[-1] / values[0], allowed[-1] / allowed[0]
            lines.append(
                f"- {measure.title}: about n^{power:.2f}; ×{factor:,.2f} over all steps where {measure.bound} grows "
                f"×{bound:,.2f}, a share of {factor / bound:.2f}; in the last step {last_share(values, allowed):.2f}"
            )
    return "\n".join(lines)


def last_share(values: np.ndarray, allowed: np.ndarray) -> float:
    """Growth in the last step, as a share of what the bound allows."""
    return float((values[-1] / values[-2]) / (allowed[-1] / allowed[-2]))


if __name__ == "__main__":
    main()
