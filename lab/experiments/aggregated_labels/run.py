"""Labels of groups: what the paper on EAGLE shows, and what lies beyond it.

Usage: python -m lab.experiments.aggregated_labels.run DATA_FOLDER -o OUT [--parts table5,simulation] [--sets mnist]

DATA_FOLDER holds a folder for each dataset: eurlex4k, eurlex57k, mnist, fashion_mnist. OUT gets for each part a file of
JSON, its tables and its pictures. Run again, it does only what is missing; sets, parts and seeds may be added.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from lab.benchmarks.rivals.environments import default_cache
from lab.experiments.aggregated_labels import (
    beyond,
    blurred,
    both,
    figures789,
    groupings,
    simulation,
    table3,
    table5,
    unlabelled,
)
from lab.experiments.aggregated_labels.datasets import NAMES
from lab.experiments.common.kept import Kept
from lab.experiments.common.parts import keep, numbers, runs_folder, some_of, whole_numbers, write_all

# Each a module with the SETS that it takes and `measure(name, kept, options)`.
PARTS = dict.fromkeys(
    (
        "learner",
        "table5",
        "chosen",
        "lengths",
        "unlabelled",
        "blurred",
        "both",
        "beyond",
        "figures789",
        "simulation",
        "table3",
        "figure5",
        "paragraphs",
        "growth",
    )
)


def main() -> None:
    """Measures what is asked for and missing, and writes down all there is."""
    options = parse()
    options.output.mkdir(parents=True, exist_ok=True)
    for part in options.parts:
        module = importlib.import_module(f"lab.experiments.aggregated_labels.{part}")
        for name in (name for name in options.sets if name in module.SETS):
            sys.stderr.write(f"{name}: {part}\n")
            kept = Kept(runs_folder(options.output, name, options.rows))
            keep(options.output, part, name, module.measure(name, kept, options), NAMES)
    if not options.figures_only:
        write_all(options.output, PARTS, "lab.experiments.aggregated_labels")


def parse() -> argparse.Namespace:
    """The command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("-o", "--output", type=Path, required=True)
    arguments.add_argument("--sets", type=some_of(NAMES), default=list(NAMES))
    arguments.add_argument("--parts", type=some_of(PARTS), default=list(PARTS))
    arguments.add_argument("--rows", type=int, help="only so many training and test rows, to try")
    arguments.add_argument("--seeds", type=int, default=table5.SEEDS, help="at most; some parts take fewer")
    arguments.add_argument("--simulation-seeds", type=int, default=simulation.SEEDS)
    arguments.add_argument("--groupings", type=groupings.several, default=[*table5.RANDOM, *table5.CLUSTERED])
    arguments.add_argument("--beyond-groupings", type=groupings.several, default=list(beyond.GROUPINGS))
    arguments.add_argument("--unlabelled-groupings", type=groupings.several, default=list(unlabelled.GROUPINGS))
    arguments.add_argument("--blurred-depths", type=whole_numbers, default=blurred.DEPTHS)
    arguments.add_argument("--both-groupings", type=groupings.several, default=list(both.GROUPINGS))
    arguments.add_argument("--noises", type=numbers, default=figures789.NOISES, help="of the part figures789")
    arguments.add_argument("--noise-depth", type=int, default=figures789.DEPTH)
    arguments.add_argument("--bag-sizes", type=whole_numbers, default=table3.SIZES, help="of the part table3")
    arguments.add_argument("--epochs", type=int, help="of the part table3, instead of its own")
    arguments.add_argument("--device", help="of the part table3, as torch names it; the GPU, if there is one")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=3, help="of the part growth")
    arguments.add_argument("--timeout", type=float, default=600, help="seconds that omikuji may take")
    arguments.add_argument("--cache", type=Path, default=default_cache(), help="where omikuji's environment may be")
    arguments.add_argument("--figures-only", action="store_true", help="no tables and pictures, as without matplotlib")
    return arguments.parse_args()


if __name__ == "__main__":
    main()
