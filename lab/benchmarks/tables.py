"""Puts the figures of runs into the tables of a page, so that nobody types them.

Usage: python -m lab.benchmarks.tables docs/trees.md RUNS

A table of the page that follows a line `<!-- NAME.json -->` is made anew from RUNS/NAME.json, which compare.py wrote;
after `<!-- NAME.md -->` it is what scale.py wrote as RUNS/NAME.md. Tables without their file stay as they are.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from lab.benchmarks.rivals.contenders import SETTINGS

MARK = re.compile(r"<!-- (\S+\.(?:json|md)) -->\n\n(?:[|-].*\n|\n(?=-))+")
HEAD = [
    "| | CPU s to train | P@1 / P@3 / P@5 | PSP@1 / PSP@5 "
    "| µs a row, batch | ms a row, single (p50) | MB | ms to load |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
]


def main() -> None:
    """Rewrites the page in place."""
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    page, runs = Path(sys.argv[1]), Path(sys.argv[2])
    made: list[str] = []

    def renewed(match: re.Match[str]) -> str:
        source = runs / match[1]
        if not source.is_file():
            return match[0]
        made.append(match[1])
        text = table(json.loads(source.read_text())) if source.suffix == ".json" else source.read_text().strip()
        return f"<!-- {match[1]} -->\n\n{text}\n"

    page.write_text(MARK.sub(renewed, page.read_text()))
    print(f"made anew: {', '.join(made) or 'none'}")


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
