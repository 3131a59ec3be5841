"""How many files and functions of Labelwood a request passes, and how often each kind of check runs on the way.

Usage: python -m lab.journeys [--json | --list] [JOURNEY …]

Another version is measured by its own interpreter: OTHER/.venv/bin/python lab/journeys.py.

Each journey runs once before it is counted, so imports are not in the figures. Only Labelwood's Python functions in the
main thread are counted. `files` and `functions` count each one once. `changes` counts the calls that go into another
file than the call before. A check is counted each time a line runs that makes it.
"""

from __future__ import annotations

import argparse
import gc
import io
import json
import linecache
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from itertools import count, pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

import labelwood as lw
from labelwood.cli import status_of

SOURCE = str(Path(lw.__file__).parent)
CHECKS = {
    "parameters": r"(?<!def )\bcheck_params\(",
    "labels made sparse": r"(?<!def )\bas_labels\(",
    "UTF-8": r"\.validate\(full=|\bdata\.decode\(\)",
    "finite": r"\bnp\.isfinite\(|\ball_finite\(",
}
ROWS = [
    {"text": "a dog barks at the cat", "labels": ["animal", "pet"]},
    {"text": "the cat sleeps", "labels": ["animal", "pet"]},
    {"text": "a red rose blooms", "labels": ["plant"]},
    {"text": "the oak and the rose grow", "labels": ["plant", "tree"]},
]
TINY = {
    "encoder": {"checkpoint": "tiny:32", "max_tokens": 8},
    "prototypes": {"free_vectors": 32, "feedforward": 64},
    "batches": {"size": 32, "random_epochs": 1, "cluster_size": 8, "double_at": []},
    "training": {"epochs": 2, "precision": "fp32"},
}
COMPREHENSIONS = {"<dictcomp>", "<listcomp>", "<setcomp>"}
Journey = Callable[[], object]


class Trace:
    """What is called in Labelwood's own files while it is on."""

    def __init__(self, only_second: str | None = None) -> None:
        self.calls: list[tuple[str, str]] = []  # file and function, in order
        self.checks: Counter[str] = Counter()
        self._only_second, self._seen, self._inside = only_second, 0, only_second is None

    @contextmanager
    def on(self) -> Iterator[None]:
        """Follows this thread."""
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(None)

    def figures(self) -> dict[str, int]:
        """Numbers of files, functions and changes of file, and of checks."""
        files = [file for file, _ in self.calls]
        return {
            "files": len(set(files)),
            "functions": len(set(self.calls)),
            "calls": len(self.calls),
            "changes": sum(one != other for one, other in pairwise(files)),
            **{f"checks: {check}": self.checks[check] for check in CHECKS},
        }

    def functions(self) -> dict[str, list[str]]:
        """The functions of each file, in the order of their first calls."""
        found: dict[str, list[str]] = {}
        for file, function in dict.fromkeys(self.calls):
            found.setdefault(Path(file).relative_to(SOURCE).as_posix(), []).append(function.partition(":")[0])
        return found

    def _enter(self, frame: FrameType, event: str, _: object) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(SOURCE):
            return None
        begins = code.co_qualname == self._only_second
        self._seen += begins
        if begins and self._seen == 2:
            self._inside = True
        if self._inside and not code.co_name.startswith("<"):  # a comprehension belongs to its function
            self.calls.append((code.co_filename, f"{code.co_qualname}:{code.co_firstlineno}"))
        return self._line

    def _line(self, frame: FrameType, event: str, _: object) -> Any:
        code = frame.f_code
        if event == "line" and self._inside and code.co_name not in COMPREHENSIONS:  # they repeat their line
            line = linecache.getline(code.co_filename, frame.f_lineno)
            self.checks.update(check for check, pattern in CHECKS.items() if re.search(pattern, line))
        if event == "return" and code.co_qualname == self._only_second:
            self._inside = False
        return self._line


def traced(journey: Journey, only_second: str | None = None) -> Trace:
    """What a journey passes that has been made before."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        journey()
        trace = Trace(only_second)
        gc.disable()  # what is thrown away may run functions, at any moment
        with trace.on():
            journey()
        gc.enable()
    return trace


def command(*arguments: object) -> None:
    """What a user types, in this process."""
    if status_of([str(argument) for argument in arguments]):
        sys.exit(f"labelwood {arguments[0]} failed")


def train(folder: Path) -> Journey:
    """`labelwood train` of four rows with the default model."""
    rows = folder / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    models = (folder / f"model-{number}" for number in count())  # no journey replaces the model of another
    return lambda: command("train", rows, "-o", next(models))


def suggest(texts: Callable[[list[str]], Any]) -> Callable[[Path], Journey]:
    """One text in some container, to a model that was loaded."""

    def prepared(folder: Path) -> Journey:
        lw.TextClassifier().fit([row["text"] for row in ROWS], [row["labels"] for row in ROWS]).save(folder / "model")
        tagger, query = lw.load(folder / "model"), texts(["the dog sleeps"])
        return lambda: tagger.suggest(query, k=2)

    return prepared


def pandas_series(texts: list[str]) -> Any:
    """Needs pandas, which is not among what the tests install."""
    return import_module("pandas").Series(texts)


def prime(folder: Path) -> Journey:
    """A fit of a tiny encoder; only its second step is counted."""
    texts = [f"q{i % 24} word{i % 7}" for i in range(96)]
    Y = [[float(i % 24 == label) for label in range(24)] for i in range(96)]
    names = [f"label{i} name{i}" for i in range(24)]
    return lambda: lw.PrimeClassifier(settings=TINY).fit(texts, Y, label_texts=names)


CONTAINERS = {"list": list, "tuple": tuple, "Arrow": pa.array, "Series": pandas_series}
JOURNEYS: dict[str, Callable[[Path], Journey]] = {
    "train four rows": train,
    **{f"suggest, {name}": suggest(make) for name, make in CONTAINERS.items()},
    "step of PRIME": prime,
}
NEEDS = {"suggest, Series": "pandas", "step of PRIME": "torch"}
ONLY_SECOND = {"step of PRIME": "Trainer.step"}


def traces(names: list[str]) -> dict[str, Trace]:
    """Those of the journeys whose packages are installed."""
    found = {}
    for name in names:
        if name in NEEDS and find_spec(NEEDS[name]) is None:
            sys.stderr.write(f"{name}: left out, because {NEEDS[name]} is not installed\n")
            continue
        with tempfile.TemporaryDirectory() as folder:
            found[name] = traced(JOURNEYS[name](Path(folder)), ONLY_SECOND.get(name))
    return found


def listing(found: dict[str, Trace]) -> str:
    """The files and functions of each journey."""
    lines = []
    for name, trace in found.items():
        lines.append(f"{name}\n")
        lines += [f"    {file}: {', '.join(functions)}\n" for file, functions in trace.functions().items()]
    return "".join(lines)


def table(found: dict[str, dict[str, int]]) -> str:
    """The figures in Markdown, one line for each journey."""
    heads = list(next(iter(found.values())))
    lines = [["journey", *heads], ["---"] * (1 + len(heads))]
    lines += [[name, *map(str, each.values())] for name, each in found.items()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Prints the figures."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("journeys", nargs="*", metavar="JOURNEY", help=f"of: {'; '.join(JOURNEYS)}")
    arguments.add_argument("--json", action="store_true", help="one object instead of a table")
    arguments.add_argument("--list", action="store_true", help="files and functions instead of their numbers")
    options = arguments.parse_args()
    if unknown := set(options.journeys) - set(JOURNEYS):
        arguments.error(f"there is no journey {unknown.pop()!r}; there are: {'; '.join(JOURNEYS)}")
    found = traces(options.journeys or list(JOURNEYS))
    figures = {name: trace.figures() for name, trace in found.items()}
    sys.stdout.write(listing(found) if options.list else json.dumps(figures) + "\n" if options.json else table(figures))


if __name__ == "__main__":
    main()
