"""The experiments on interpolated trees run from data to tables and pictures, and these say what the JSON says."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

RUN = Path(__file__).parents[2] / "experiments" / "interpolated_trees" / "run.py"
FAST = ("--sets", "wordnet,generated", "--scales", "0,1", "--seeds", "1", "--timing-seeds", "1", "--rounds", "1")


def write_rows(path, n_rows, seed):
    """Texts that name their labels, frequent labels more often."""
    numbers = random.Random(seed)
    names = [f"topic{i}" for i in range(150)]
    with path.open("w") as out:
        for _ in range(n_rows):
            labels = sorted(set(numbers.choices(names, [1 / (i + 1) for i in range(150)], k=3)))
            words = [*labels, *numbers.choices(["and", "the", "of", "with"], k=3)]
            out.write(json.dumps({"text": " ".join(words), "labels": labels}) + "\n")


def run(data, out):
    command = [sys.executable, str(RUN), str(data), "-o", str(out), *FAST, "--jobs", "1", "--generated-labels", "200"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def tables_of(path):
    """The cells of every line of a file's tables, headers and rules apart."""
    lines = [line.strip("| ").split(" | ") for line in path.read_text().splitlines() if line.startswith("|")]
    return [line for i, line in enumerate(lines) if "---" not in line[-1] and "---" not in lines[min(i + 1, len(lines) - 1)][-1]]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    (data / "wordnet").mkdir()
    write_rows(data / "wordnet/train.jsonl", 400, seed=0)
    write_rows(data / "wordnet/test.jsonl", 100, seed=1)
    found = data / "out"
    for _ in range(2):  # the second time there is nothing left to train
        done = run(data, found)
        assert done.returncode == 0, done.stderr
    return found


def found_in(out, part):
    return json.loads((out / f"{part}.json").read_text())


def test_each_part_covers_its_sets(out):
    assert list(found_in(out, "imbalance")) == list(found_in(out, "precision")) == ["wordnet", "generated"]
    assert list(found_in(out, "timing")) == ["wordnet", "generated"]
    assert list(found_in(out, "arity")) == list(found_in(out, "bounded")) == ["wordnet"]
