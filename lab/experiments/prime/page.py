"""Writes docs/results/prime.md: of the kept runs, and for what has none, of the tables that were made before.

Usage: python -m lab.experiments.prime.page [OUT]

OUT is a folder that run.py has filled; its tables are kept first.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lab.experiments.common.page import Table, filled, publish
from lab.experiments.prime import course, tables, throughput
from lab.experiments.prime.corpora import NAMES

HERE = Path(__file__).parent
TEMPLATE = HERE / "page.md"
RUNS = HERE / "runs"


def text() -> str:
    """The whole page."""
    return filled(TEMPLATE, recorded())


def recorded() -> dict[str, Table]:
    """The tables that the kept runs are enough for."""
    runs = {name: read(name) for name in NAMES if (RUNS / name).is_dir()}
    parts = {
        "together": {name: figures(own, "together-seed-") for name, own in runs.items()},
        "course": {name: courses(own) for name, own in runs.items()},
        "throughput": {
            name: throughput.gathered(list(figures(own, "throughput-").values())) for name, own in runs.items()
        },
    }
    found = {}
    for part, of_sets in parts.items():
        for table, text in getattr(tables, part)(of_sets).items():
            sets = [name for name in runs if table == f"{part}-{name}"] or list(runs)
            records = [record for name in sets for run, record in runs[name].items() if run.startswith(part)]
            found[table] = Table(text, [record["made"] for record in records])
    return found


def read(name: str) -> dict[str, Any]:
    """The records of a dataset."""
    return {file.stem: json.loads(file.read_text("utf-8")) for file in sorted((RUNS / name).glob("*.json"))}


def figures(own: dict[str, Any], prefix: str) -> dict[str, Any]:
    """What the runs have found whose names begin so, by the rest of the name."""
    return {run.removeprefix(prefix): record["figures"] for run, record in own.items() if run.startswith(prefix)}


def courses(own: dict[str, Any]) -> dict[str, Any]:
    """Of each way that there is a run of, the course of its training."""
    n_rows = own["data"]["figures"]["training rows"]
    return {
        way: course.of_history(own[run]["figures"]["history"], n_rows)
        for way in course.WAYS
        if (run := course.run_name(way)) in own
    }


if __name__ == "__main__":
    publish("prime", TEMPLATE, text)
