"""The experiments on interpolated trees run from data to tables and pictures, and these say what the JSON says."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
RUN = ("-m", "lab.experiments.interpolated_trees.run")
FAST = ("--scales", "0,1", "--seeds", "1", "--timing-seeds", "1", "--rounds", "1", "--generated-labels", "150")


def write_rows(path, n_rows, seed):
    """Texts that name their labels, frequent labels more often."""
    numbers = random.Random(seed)
    names = [f"topic{i}" for i in range(150)]
    with path.open("w") as out:
        for _ in range(n_rows):
            labels = sorted(set(numbers.choices(names, [1 / (i + 1) for i in range(150)], k=3)))
            words = [*labels, *numbers.choices(["and", "the", "of", "with"], k=3)]
            out.write(json.dumps({"text": " ".join(words), "labels": labels}) + "\n")


def run(data, out, *more):
    command = [sys.executable, *RUN, str(data), "-o", str(out), *FAST, *more]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """The data and what the experiments make of it."""
    data = tmp_path_factory.mktemp("data")
    (data / "wordnet").mkdir()
    write_rows(data / "wordnet/train.jsonl", 400, seed=0)
    write_rows(data / "wordnet/test.jsonl", 700, seed=1)
    done = run(data, data / "out", "--sets", "wordnet")
    assert done.returncode == 0, done.stderr
    return data, data / "out"


def found_in(out, part):
    return json.loads((out / f"{part}.json").read_text())["wordnet"]


def lines_of(out, part):
    """The cells of the lines of a part's tables that are about the dataset."""
    lines = (out / f"{part}.md").read_text().splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith("| WordNet |")]


def test_half_of_the_rows_is_what_the_curves_reach(places):
    curves = found_in(places[1], "imbalance")
    assert lines_of(places[1], "imbalance") == [
        ["WordNet", *(f"{curves[mode]['labels_for_half']:.3g}" for mode in ("any", "three", "all"))]
    ]
    for curve in curves.values():
        reached = [rows for labels, rows in zip(curve["labels"], curve["rows"], strict=True)]
        assert reached == sorted(reached)
        assert reached[-1] == 100


def test_all_four_curves_start_from_the_same_balanced_tree(places):
    points = found_in(places[1], "precision")["points"]
    starts = [point["mean"] for point in points if point["lam"] == 0]
    assert len(points) == 8
    assert len(starts) == 4
    assert {(mean["P@1"], mean["depth@5"]) for mean in starts} == {(starts[0]["P@1"], starts[0]["depth@5"])}
    table = (places[1] / "precision-wordnet.md").read_text()
    for point in points:
        assert " / ".join(f"{point['mean'][f'P@{k}']:.2f}" for k in (1, 3, 5)) in table


def test_changes_are_those_of_the_figures(places):
    points = found_in(places[1], "timing")
    assert [(point["variant"], round(point["lam"], 2)) for point in points] == [
        (f"max_leaf {leaf}", lam) for leaf in (1, 10, 100) for lam in (0, 0.67, 1, 1.33)
    ]
    changes, figures = (lines_of(places[1], name) for name in ("timing-changes", "timing"))
    for i, point in enumerate(points):
        base = points[i - i % 4]["mean"]
        level = 100 * (point["mean"]["search_k5_us"] / base["level_k5_us"] - 1)
        assert float(changes[i][-1].replace("−", "-")) == pytest.approx(level, abs=0.051)
        assert figures[i][3] == f"{point['mean']['P@1']:.2f} / {point['mean']['P@5']:.2f}"


def test_every_arity_and_bound_has_its_line(places):
    arities = found_in(places[1], "arity")
    assert [line[1] for line in lines_of(places[1], "arity")] == [point["variant"].split()[1] for point in arities]
    assert [line[1] for line in lines_of(places[1], "arity")] == [str(n) for n in (2, 4, 16, 64) for _ in range(2)]
    bounds = found_in(places[1], "bounded")
    assert [line[1:4] for line in lines_of(places[1], "bounded")] == [
        [str(b["k"]), "exact" if b["loss"] is None else f"{100 * b['loss']:g} %", f"{b['changed']:.2f} %"]
        for b in bounds
    ]
    assert all(bound["changed"] == 0 for bound in bounds if bound["loss"] is None)


def test_pictures_are_sound_and_small(places):
    pictures = sorted(places[1].glob("*.svg"))
    assert [path.name for path in pictures] == [f"interpolated-{n}.svg" for n in ("imbalance", "time", "wordnet")]
    for path in pictures:
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
        assert path.stat().st_size < 60_000


def test_a_second_run_adds_sets_and_trains_nothing_again(places):
    data, out = places
    before = {path: path.stat().st_mtime_ns for path in out.rglob("runs/*.json")}
    assert before
    done = run(data, out, "--sets", "wordnet,generated", "--parts", "precision,arity")
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert list(json.loads((out / "precision.json").read_text())) == ["wordnet", "generated"]
    assert (out / "interpolated-generated.svg").exists()


def test_unknown_parts_are_named_with_those_there_are(places):
    done = run(*places, "--parts", "speed")
    assert done.returncode == 2
    assert "there is no 'speed'; there are: imbalance, precision, rise, timing, arity, bounded" in done.stderr
