"""What λ of interpolated label trees does to precision, depth and time, on real data and generated ones.

Usage: python -m lab.experiments.interpolated_trees.run DATA_FOLDER -o OUT [--sets wordnet,debian_deps]
       [--parts precision]

DATA_FOLDER holds a folder for each dataset; one that is called "generated" is made in OUT if it is not there. Parts are
run one after another, and time is measured with nothing beside it. OUT gets for each part a file of JSON, one of
tables and its pictures. Run again, it does only what is missing; sets and parts may be added.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.experiments.common.parts import keep, known, numbers, some_of, write_texts
from lab.experiments.common.rows import Rows
from lab.experiments.interpolated_trees import (
    arity,
    bounded,
    datasets,
    imbalance,
    pictures,
    precision,
    rise,
    tables,
    timing,
)

PARTS: dict[str, Callable[[str, Rows, Path, argparse.Namespace], Any]] = {
    "imbalance": lambda _name, rows, _folder, _: imbalance.measure(rows),
    "precision": lambda name, rows, folder, given: precision.measure(
        name, rows, folder, scales=given.scales, seeds=given.seeds, jobs=given.jobs
    ),
    "rise": lambda _name, rows, _folder, _: rise.measure(rows),
    "timing": lambda name, rows, folder, given: timing.measure(
        name, rows, folder, seeds=given.timing_seeds, jobs=given.jobs, rounds=given.rounds
    ),
    "arity": lambda _name, rows, folder, given: arity.measure(
        rows, folder, seeds=min(given.timing_seeds, arity.SEEDS), jobs=given.jobs, rounds=given.rounds
    ),
    "bounded": lambda _name, rows, _folder, given: bounded.measure(rows, given.rounds),
}
SETS = {
    "rise": rise.SETS,
    "timing": timing.SETS,
    "arity": arity.SETS,
    "bounded": bounded.SETS,
}  # the other parts take all


def main() -> None:
    """Measures what is asked for and missing, and writes down all there is."""
    options = parse()
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.sets:
        parts = [part for part in options.parts if name in SETS.get(part, datasets.NAMES)]
        if not parts:
            continue
        rows = datasets.read(name, options.data, options.output, options.generated_labels)
        for part in parts:
            sys.stderr.write(f"{name}: {part}\n")
            found = PARTS[part](name, rows, options.output / "reports" / f"{part}-{name}", options)
            keep(options.output, part, name, found, datasets.NAMES)
    for part in PARTS:
        found = known(options.output, part)
        if found:
            made = {f"{name}.md": text for name, text in getattr(tables, part)(found).items()}
            write_texts(options.output, {**made, **pictures.draw(part, found)})


def parse() -> argparse.Namespace:
    """The command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("-o", "--output", type=Path, required=True)
    arguments.add_argument("--sets", type=some_of(datasets.NAMES), default=list(datasets.NAMES))
    arguments.add_argument("--parts", type=some_of(PARTS), default=list(PARTS))
    arguments.add_argument("--scales", type=numbers, default=precision.SCALES, help="λ′ of the part precision")
    arguments.add_argument("--seeds", type=int, default=2, help="of the part precision")
    arguments.add_argument("--timing-seeds", type=int, default=timing.SEEDS)
    arguments.add_argument("--rounds", type=int, default=7, help="of timing")
    arguments.add_argument("--jobs", type=int, default=2, help="trainings at a time")
    arguments.add_argument("--generated-labels", type=int, default=131_072)
    return arguments.parse_args()


if __name__ == "__main__":
    main()
