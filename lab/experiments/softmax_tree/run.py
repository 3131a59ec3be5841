"""Softmax trees: beside fastText, compressed, on trees of every λ, and with any number of threads.

Usage: python -m lab.experiments.softmax_tree.run DATA_FOLDER -o OUT [--sets wordnet,debian_deps] [--parts figure4]

DATA_FOLDER holds a folder for each dataset, with texts in a train and a test file. fastText runs in an environment of
its own, which is made where it is missing. OUT gets for each part a file of JSON, its tables and its pictures. Run
again, it does only what is missing; sets and parts may be added.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from lab.benchmarks.rivals import environments
from lab.benchmarks.rivals.stages import StageError
from lab.experiments.common.kept import Kept
from lab.experiments.common.parts import keep, known, numbers, some_of, whole_numbers, write_texts
from lab.experiments.softmax_tree import corpora, figure4, pictures, rival, small, tables, threads
from lab.experiments.softmax_tree.contest import Contest
from lab.experiments.softmax_tree.corpora import NAMES, Corpus
from lab.experiments.softmax_tree.learning import Trials

PARTS: dict[str, Callable[[str, Corpus, Kept, argparse.Namespace], Any]] = {
    "rival": lambda name, corpus, kept, given: rival.measure(name, contest(corpus, kept, given), given),
    "small": lambda _, corpus, kept, given: small.measure(contest(corpus, kept, given), given),
    "figure4": lambda _, corpus, kept, given: figure4.measure(Trials(corpus, kept), given),
    "threads": lambda _, corpus, kept, given: threads.measure(Trials(corpus, kept), given),
}
SETS = {"rival": rival.SETS, "small": small.SETS, "figure4": figure4.SETS, "threads": threads.SETS}


def main() -> int:
    """Measures what is asked for and missing, and writes down all there is."""
    options = parse()
    options.output.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in options.sets:
        for part in (part for part in options.parts if name in SETS[part]):
            sys.stderr.write(f"{name}: {part}\n")
            corpus = corpora.corpus(name, options.data, options.output, options.rows)
            kept = Kept(options.output / "runs" / f"{part}-{corpus.folder.name}")
            try:
                keep(options.output, part, name, PARTS[part](name, corpus, kept, options), NAMES)
            except StageError as error:  # the other parts go on
                failed = 1
                sys.stderr.write(f"{name}: {part} failed, {error}; its log is in {kept.folder}\n")
    for part in PARTS:
        found = known(options.output, part)
        if found:
            made = {f"{table}.md": text for table, text in getattr(tables, part)(found).items()}
            write_texts(options.output, {**made, **pictures.draw(part, found)})
    return failed


def contest(corpus: Corpus, kept: Kept, options: argparse.Namespace) -> Contest:
    """Where Labelwood runs in this Python, and fastText in its own."""
    theirs = options.fasttext or fasttext_python(options.cache)
    return Contest(corpus, kept, {"labelwood": Path(sys.executable), "fasttext": theirs}, options.timeout)


@cache
def fasttext_python(folder: Path) -> Path:
    """The Python of fastText's environment, which is made if it is missing."""
    try:
        return environments.make("fasttext", folder)
    except (subprocess.CalledProcessError, OSError) as error:
        raise SystemExit(
            f"fastText's environment cannot be made ({error}): name a Python that has it with --fasttext, or leave out "
            "the parts rival and small"
        ) from None


def parse() -> argparse.Namespace:
    """The command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("-o", "--output", type=Path, required=True)
    arguments.add_argument("--sets", type=some_of(NAMES), default=list(NAMES))
    arguments.add_argument("--parts", type=some_of(PARTS), default=list(PARTS))
    arguments.add_argument("--rows", type=int, help="only so many training and test rows, to try")
    arguments.add_argument("--epochs", type=whole_numbers, default=rival.EPOCHS, help="of small and threads the most")
    arguments.add_argument("--seeds", type=int, default=rival.SEEDS, help="of the part rival")
    arguments.add_argument("--rates", type=numbers, default=rival.RATES, help="learning rates of fastText")
    arguments.add_argument("--fasttext-threads", type=whole_numbers, default=rival.THREADS)
    arguments.add_argument("--cutoffs", type=whole_numbers, default=small.CUTOFFS, help="features that small keeps")
    arguments.add_argument("--scales", type=numbers, default=figure4.SCALES, help="λ′ of the part figure4")
    arguments.add_argument("--decays", type=numbers, default=figure4.DECAYS, help="of the part figure4")
    arguments.add_argument("--figure-seeds", type=int, default=figure4.SEEDS)
    arguments.add_argument("--spread-seeds", type=int, default=threads.SEEDS, help="of the part threads")
    arguments.add_argument("--rounds", type=int, default=3, help="of the part threads")
    arguments.add_argument("--threads", type=int, default=2, help="of trainings in this process")
    arguments.add_argument("--timeout", type=float, default=3600, help="seconds that a contender's stage may take")
    arguments.add_argument("--fasttext", type=Path, metavar="PYTHON", help="one that has fastText")
    arguments.add_argument("--cache", type=Path, default=environments.default_cache(), help="of environments")
    return arguments.parse_args()


if __name__ == "__main__":
    sys.exit(main())
