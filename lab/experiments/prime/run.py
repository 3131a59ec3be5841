"""Dual encoders: PRIME beside what came before, its pieces one by one, with a tree on words, and how fast it learns.

Usage: python -m lab.experiments.prime.run DATA_FOLDER --checkpoint FOLDER -o OUT [--sets wordnet] [--parts methods]

DATA_FOLDER holds a folder for each dataset, with texts, label texts and a train and a test file; FOLDER is that of a
sentence-transformers checkpoint. OUT gets for each part a file of JSON, its tables and its pictures. Run again, it does
only what is missing; sets, parts, methods and seeds may be added. A GPU is needed for encoders of any size.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from functools import partial
from pathlib import Path
from typing import Any

from lab.experiments.common.kept import Kept
from lab.experiments.common.parts import keep, runs_folder, some_of, whole_numbers, write_all
from lab.experiments.prime.corpora import NAMES, Corpus, corpus

METHODS = ("dpr", "ngame", "dexa", "prime_lite", "prime", "anchored_lite", "anchored", "dexml", "prime_w")
# Each a module with the SETS that it takes and `measure(corpus, kept, options)`.
PARTS = dict.fromkeys(("tuning", "methods", "together", "ablations", "course", "negatives", "new_labels", "throughput"))


def main() -> None:
    """Measures what is asked for and missing, and writes down all there is."""
    options = parse()
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.sets:
        found = None
        for part in options.parts:
            module = importlib.import_module(f"lab.experiments.prime.{part}")
            if name in module.SETS:
                found = found or corpus(name, options.data, options.rows)
                sys.stderr.write(f"{name}: {part}\n")
                kept = Kept(runs_folder(options.output, name, options.rows))
                kept.figures("data", {}, partial(sizes, found))
                keep(options.output, part, name, module.measure(found, kept, options), NAMES)
    if not options.figures_only:
        write_all(options.output, PARTS, "lab.experiments.prime")


def sizes(found: Corpus) -> dict[str, Any]:
    """How many rows there are, which the page of results needs and has not the data for."""
    return {"training rows": len(found.train), "test rows": len(found.test)}


def parse() -> argparse.Namespace:
    """The command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("-o", "--output", type=Path, required=True)
    arguments.add_argument("--checkpoint", type=Path, required=True, help="the encoder's folder")
    arguments.add_argument("--sets", type=some_of(NAMES), default=list(NAMES))
    arguments.add_argument("--parts", type=some_of(PARTS), default=list(PARTS))
    arguments.add_argument("--methods", type=some_of(dict.fromkeys(METHODS)), default=list(METHODS))
    arguments.add_argument("--variants", type=lambda text: text.split(","), help="of the part ablations; all")
    arguments.add_argument("--rows", type=int, help="only so many training and test rows, to try")
    arguments.add_argument("--seeds", type=int, default=2, help="none: only what needs no training of encoders")
    arguments.add_argument("--epochs", type=int, help="instead of each dataset's own")
    arguments.add_argument("--batch", type=int, help="queries of a step, instead of what was chosen")
    arguments.add_argument("--sizes", type=whole_numbers, help="of batches, instead of those that are tried")
    arguments.add_argument("--rounds", type=int, default=3, help="of the part throughput")
    arguments.add_argument("--seconds", type=float, default=2.0, help="that each way lasts in such a round")
    arguments.add_argument("--device", help="as torch names it; the GPU, if there is one")
    arguments.add_argument("--compile", action="store_true", help="compile the encoder: a minute first, then faster")
    arguments.add_argument("--threads", type=int)
    arguments.add_argument("--figures-only", action="store_true", help="no tables and pictures, as without matplotlib")
    return arguments.parse_args()


if __name__ == "__main__":
    main()
