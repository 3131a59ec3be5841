"""Writes docs/results/benchmarks.md: page.md with the kept tables.

Usage: python -m lab.benchmarks.page [OUT]

OUT is a folder with what the benchmarks have written; their tables are kept first: NAME.md of scale.py and others, and
the JSON of compare.py, which becomes a table here.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lab.benchmarks.rivals.contenders import SETTINGS
from lab.experiments.common.page import filled, publish

TEMPLATE = Path(__file__).parent / "page.md"
HEAD = [
    "| | CPU s to train | P@1 / P@3 / P@5 | PSP@1 / PSP@5 "
    "| µs a row, batch | ms a row, single (p50) | MB | ms to load |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
]


def main() -> None:
    """Makes tables of what compare.py wrote, and rewrites the page."""
    for folder in map(Path, sys.argv[1:]):
        for file in folder.glob("*.json"):
            found = json.loads(file.read_text("utf-8"))
            if "contenders" in found:
                (folder / f"{found['data']}.md").write_text(table(found) + "\n", "utf-8")
    publish("benchmarks", TEMPLATE, text)


def text() -> str:
    """The whole page."""
    return filled(TEMPLATE)


def table(found: dict[str, Any]) -> str:
    """A line for each contender, medians over its runs."""
    lines = list(HEAD)
    for name, figures in found["contenders"].items():
        m = {key: figure["median"] for key, figure in figures.items()}
        cells = [
            f"Labelwood, {name}" if name in SETTINGS else name,
            f"{m['train_cpu_s']:.2f}",
            f"{m['P@1']:.2f} / {m['P@3']:.2f} / {m['P@5']:.2f}",
            f"{m['PSP@1']:.1f} / {m['PSP@5']:.1f}",
            f"{m['batch_us']:.1f}",
            f"{m['single_p50_ms']:.3f}",
            f"{m['model_bytes'] / 1e6:.2f}",
            f"{m['load_s'] * 1e3:.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
