"""Benchmarks that need neither a rival nor real data run, and their tables say what their JSON says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.deep
def test_search_among_labels_is_timed_and_its_answers_are_counted(tmp_path):
    rng = np.random.default_rng(0)
    for name, n in (("labels", 300), ("queries", 40)):
        lines = [" ".join(f"w{word}" for word in rng.integers(200, size=4)) for _ in range(n)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    how = ["tiny:16", tmp_path / "labels.txt", tmp_path / "queries.txt", "--labels", "200", "4000", "--queries", "30"]
    where = ["--json", tmp_path / "out" / "found.json", "--table", tmp_path / "out" / "found.md"]
    done = subprocess.run(
        [sys.executable, "-m", "lab.benchmarks.label_search", *how, *where],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out" / "found.json").read_text())
    lines = [line.strip("| \n").split(" | ") for line in (tmp_path / "out" / "found.md").read_text().splitlines()[2:]]
    assert [line[0] for line in lines] == ["200"] * 4 + ["4,000"] * 4
    assert list(found["4000"]) == ["exact", *(f"{probes} of 256 clusters" for probes in (8, 32, 128))]
    for n_labels, name, *cells in lines:
        figures = found[n_labels.replace(",", "")][name]
        assert cells[0] == f"{figures['p50_ms']:.2f}"
        assert cells[3] == f"{figures.get('recall', 1):.3f}"
    recalls = [figures["recall"] for figures in list(found["4000"].values())[1:]]
    assert recalls == sorted(recalls)
    assert recalls[0] < recalls[-1] == 1  # so few clusters are all looked into


@pytest.mark.slow
def test_the_stages_of_a_training_are_timed_down_to_the_leaves():
    done = subprocess.run(
        [sys.executable, "-m", "lab.benchmarks.training_profile", "--labels", "400"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    stages = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]
    names = [name for name, *_ in stages]
    depths = [f"depth {depth}" for depth in range(len(names) - 3)]
    assert names == ["checks, unit rows", "label vectors, clusters", *depths, "joined"]
    n_nodes = int(stages[1][2])
    assert sum(int(cells[2]) for name, *cells in stages if name in depths) == 400 + n_nodes - 1  # all but the root
