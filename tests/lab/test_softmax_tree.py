"""The experiments on softmax trees run from texts to tables and pictures, and these say what the JSON says."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
RUN = ("-m", "lab.experiments.softmax_tree.run")
STAND_IN = Path(__file__).parent / "stand_in"
REAL = Path(os.environ.get("RIVALS_CACHE", ROOT / "build" / "rivals")) / "environments" / "fasttext"
FAST = (
    *("--sets", "eurlex57k", "--epochs", "3", "--seeds", "1", "--rates", "0.1,0.5", "--scales", "0,2"),
    *("--fasttext-threads", "12", "--decays", "0.015"),
    *("--figure-seeds", "1", "--spread-seeds", "2", "--rounds", "1", "--cutoffs", "60"),
)
PARTS = ("rival", "figure4", "threads")  # `small` has a test of its own


def write_rows(path, n_rows, seed):
    """Titles that name the labels, frequent labels more often; texts that do not."""
    numbers = random.Random(seed)
    names = [f"Topic{i}" for i in range(300)]
    with path.open("w") as out:
        for _ in range(n_rows):
            labels = sorted(set(numbers.choices(names, [1 / (i + 1) for i in range(300)], k=3)))
            text = " ".join(numbers.choices(["And", "the", "of;", "with"], k=3))
            out.write(json.dumps({"title": ", ".join(labels), "text": text, "labels": labels}) + "\n")


def run(data, out, *more, fasttext=sys.executable):
    command = [sys.executable, *RUN, str(data), "-o", str(out), *FAST, "--fasttext", str(fasttext), *more]
    environment = os.environ | {"PYTHONPATH": str(STAND_IN)}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """The data and what the experiments make of it."""
    data = tmp_path_factory.mktemp("data")
    (data / "eurlex57k").mkdir()
    write_rows(data / "eurlex57k/train.jsonl", 600, seed=0)
    write_rows(data / "eurlex57k/test.jsonl", 200, seed=1)
    done = run(data, data / "out", "--parts", ",".join(PARTS))
    assert done.returncode == 0, done.stderr
    return data, data / "out"


def found_in(out, part):
    return json.loads((out / f"{part}.json").read_text())["eurlex57k"]


def lines_of(out, table):
    """The cells of a table's lines."""
    lines = (out / f"{table}.md").read_text().splitlines()
    return [line.strip("| ").split(" | ") for line in lines[2:] if line.startswith("|")]


def test_both_sides_read_the_same_words(places):
    folder = places[1] / "data" / "eurlex57k"
    rows = [json.loads(line) for line in (places[0] / "eurlex57k/train.jsonl").read_text().splitlines()]
    written = (folder / "train.txt").read_text().splitlines()
    assert len(written) == len(rows) == 600
    for row, line in zip(rows[:50], written, strict=False):
        words = line.split()
        n_labels = len(row["labels"])
        assert all(word.removeprefix("__label__").isdigit() for word in words[:n_labels])
        assert words[n_labels:] == f"{row['title']} {row['text']}".lower().replace(",", "").replace(";", "").split()
    held_out = (folder / "choosing/test.txt").read_text().splitlines()
    learned = (folder / "choosing/train.txt").read_text().splitlines()
    assert sorted(held_out + learned) == sorted(written)
    assert len(held_out) == 100


def test_fasttext_is_shown_at_its_best_beside_what_was_chosen_without_test_rows(places):
    (way,) = found_in(places[1], "rival")
    assert way["lam"] == max(way["choices"], key=lambda choice: choice["P@1"])["lam"]
    lines = lines_of(places[1], "rival-eurlex57k")
    assert [line[:2] for line in lines] == [["3", "1"]] * 4
    assert lines[0][2] == "fastText, 12 threads, learning rate 0.5"
    assert [line[2] for line in lines[1:3]] == ["Huffman's tree", "Huffman's tree, a label drawn"]
    assert lines[3][2].startswith("interpolated, λ ")
    for line, contender in zip(lines, ("fasttext-12-0.5", "huffman", "huffman-drawn", "interpolated"), strict=True):
        (figures,) = way["runs"][contender]
        assert line[3:6] == [f"{figures[f'P@{k}']:.2f}" for k in (1, 3, 5)]
        assert line[-1] == f"{figures['depth@1']:.2f}"
        assert line[6:8] == [f"{figures[f'train_{clock}_s']:.2f}" for clock in ("cpu", "wall")]
        measured = ("train_cpu_s", "train_wall_s", "batch_us", "single_p50_ms", "model_bytes", "depth@1")
        assert all(figures[name] > 0 for name in measured)


def test_contenders_are_judged_by_the_labels_of_the_texts(places):
    """Texts name their labels, which the stand-in learns at one rate only."""
    (way,) = found_in(places[1], "rival")
    assert way["runs"]["fasttext-12-0.5"][0]["P@1"] > 80
    assert way["runs"]["fasttext-12-0.1"][0]["P@1"] < 60
    assert way["runs"]["huffman"][0]["P@1"] > 30


def test_the_best_tree_is_compared_with_huffmans(places):
    points = found_in(places[1], "figure4")
    assert [(point["variant"], point["lam"]) for point in points] == [
        ("huffman", None),
        ("interpolated", 0),
        ("interpolated", pytest.approx(4 / 3)),
    ]
    base, best = points[0]["mean"], max(points[1:], key=lambda point: point["mean"]["P@1"])["mean"]
    first, paper = lines_of(places[1], "figure4")
    assert float(first[7].replace("−", "-").split()[0]) == pytest.approx(
        100 * (best["P@1"] / base["P@1"] - 1), abs=0.06
    )
    assert paper[-2:] == ["+40.6 %", "+6.5 %"]
    assert len(lines_of(places[1], "figure4-eurlex57k")) == 3


def test_threads_give_the_same_bytes_and_the_table_would_say_if_not(places):
    found = found_in(places[1], "threads")
    assert {digest for each in found["threads"] for digest in each["digests"]} == set(found["threads"][0]["digests"])
    assert [(line[1], line[-1]) for line in lines_of(places[1], "threads")] == [(n, "the same") for n in "124"]
    other = {**found, "threads": [*found["threads"][:2], {**found["threads"][2], "digests": ["another"]}]}
    (places[1] / "threads.json").write_text(json.dumps({"eurlex57k": other}))
    assert run(*places, "--parts", "figure4").returncode == 0
    assert [line[-1] for line in lines_of(places[1], "threads")] == ["the same", "the same", "others"]
    assert run(*places, "--parts", "threads").returncode == 0


def test_batches_of_other_sizes_are_other_models(places):
    kept = list((places[1] / "runs/threads-eurlex57k").glob("batch-*-seed-0-threads-2-*.json"))
    figures = {path.name: json.loads(path.read_text())["figures"]["digest"] for path in kept}
    assert len(figures) == len(lines_of(places[1], "threads-batches")) == 6
    assert len(set(figures.values())) > 1


def test_pictures_are_sound_and_small(places):
    pictures = sorted(places[1].glob("*.svg"))
    assert "softmax-eurlex57k.svg" in [path.name for path in pictures]
    for path in pictures:
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
        assert path.stat().st_size < 60_000


def test_a_second_run_trains_nothing_again(places):
    before = {path: path.stat().st_mtime_ns for path in places[1].rglob("runs/*/*.json")}
    assert before
    done = run(*places, "--parts", ",".join(PARTS), fasttext="no-such-python")
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert not list(places[1].rglob("*.model"))


def test_a_part_that_fails_is_named_and_the_others_go_on(places, tmp_path):
    done = run(places[0], tmp_path, "--parts", "rival,figure4", fasttext="no-such-python")
    assert done.returncode == 1
    assert "eurlex57k: rival failed, train" in done.stderr
    assert (tmp_path / "figure4.md").exists()
    assert not (tmp_path / "rival.json").exists()


def test_unknown_parts_are_named_with_those_there_are(places):
    done = run(*places, "--parts", "speed")
    assert done.returncode == 2
    assert "there is no 'speed'; there are: rival, small, figure4, threads" in done.stderr


def test_smaller_models_stand_beside_the_whole_ones(places):
    done = run(*places, "--parts", "small")
    assert done.returncode == 0, done.stderr
    found = found_in(places[1], "small")
    assert (found["fasttext"]["lr"], found["fasttext"]["thread"]) == (0.5, 12)
    lines = lines_of(places[1], "small-eurlex57k")
    assert [(line[0], line[1] == "whole") for line in lines] == [
        *(("fastText", number == 0) for number in range(4)),
        *(("Labelwood", number == 0) for number in range(4)),
    ]
    assert [point["n_features"] for point in found["points"] if point["cutoff"]] == [60] * 6
    assert not list(places[1].rglob("*.model"))
    assert (places[1] / "softmax-size.svg").exists()


@pytest.mark.skipif(not (REAL / "complete.txt").exists(), reason="fastText's environment is not made")
def test_fasttext_itself_is_driven_by_its_runner(places, tmp_path):
    done = run(places[0], tmp_path, "--parts", "rival", "--rates", "1", "--rows", "300", fasttext=REAL / "bin/python")
    assert done.returncode == 0, done.stderr
    (figures,) = found_in(tmp_path, "rival")[0]["runs"]["fasttext-12-1"]
    assert figures["P@1"] > 10
