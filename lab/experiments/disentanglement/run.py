"""Labels with several places in a tree: on fused labels and on real ones, what they gain and what they cost.

Usage: python -m lab.experiments.disentanglement.run DATA_FOLDER -o OUT [--sets wordnet,debian_deps] [--parts table4]

DATA_FOLDER holds a folder for each dataset. Parts are run one after another; `copies` and `cost` measure time and want
a quiet machine. OUT gets for each part a file of JSON, its tables and its pictures. Run again, it does only what is
missing; sets and parts may be added.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from lab.experiments.common.kept import Kept
from lab.experiments.common.parts import keep, known, some_of, whole_numbers, write_texts
from lab.experiments.disentanglement import combined, copies, cost, datasets, fused, pictures, table4, tables
from lab.experiments.disentanglement.fusing import MODES
from lab.experiments.disentanglement.learning import Trials

PARTS: dict[str, Callable[[Trials, argparse.Namespace], Any]] = {
    "fused": fused.measure,
    "copies": copies.measure,
    "table4": table4.measure,
    "cost": cost.measure,
    "combined": lambda trials, _: combined.measure(trials),
}
SETS = {
    "fused": fused.SETS,
    "copies": copies.SETS,
    "table4": table4.SETS,
    "cost": cost.SETS,
    "combined": combined.SETS,
}  # unless others are named


def main() -> None:
    """Measures what is asked for and missing, and writes down all there is."""
    options = parse()
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.sets or datasets.NAMES:
        read = cache(partial(datasets.read, name, options.data, options.rows))
        for part in (part for part in options.parts if options.sets or name in SETS[part]):
            sys.stderr.write(f"{name}: {part}\n")
            which = name if options.rows is None else f"{name}-{options.rows}"
            trials = Trials(read, Kept(options.output / "runs" / f"{part}-{which}"), options.threads)
            keep(options.output, part, name, PARTS[part](trials, options), datasets.NAMES)
    for part in PARTS:
        found = known(options.output, part)
        if found:
            made = {f"{table}.md": text for table, text in getattr(tables, part)(found).items()}
            write_texts(options.output, {**made, **pictures.draw(part, found)})


def parse() -> argparse.Namespace:
    """The command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("-o", "--output", type=Path, required=True)
    arguments.add_argument("--sets", type=some_of(datasets.NAMES), help="for all parts; if not given, each has its own")
    arguments.add_argument("--parts", type=some_of(PARTS), default=list(PARTS))
    arguments.add_argument("--seeds", type=int, default=3, help="of the parts fused, copies and table4")
    arguments.add_argument("--rows", type=int, help="only so many training and test rows, to try")
    arguments.add_argument(
        "--ks", type=whole_numbers, default=fused.KS, help="labels that become one in the part fused"
    )
    arguments.add_argument("--modes", type=some_of(dict.fromkeys(MODES)), default=MODES, help="of the part fused")
    arguments.add_argument("--copies", type=whole_numbers, default=copies.COPIES, help="of the part copies")
    arguments.add_argument("--rounds", type=int, default=5, help="of the part cost")
    arguments.add_argument("--threads", type=int, default=2, help="of trainings")
    return arguments.parse_args()


if __name__ == "__main__":
    main()
