"""The experiments on dual encoders run from data to tables and pictures, which say what the JSON says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from lab.experiments.prime import tables

pytestmark = [pytest.mark.deep, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
RUN = ("-m", "lab.experiments.prime.run")
FAST = (
    "--checkpoint",
    "tiny:16",
    "--epochs",
    "2",
    "--sizes",
    "32,64",
    "--seeds",
    "2",
    "--device",
    "cpu",
    "--threads",
    "1",
    "--rounds",
    "2",
    "--seconds",
    "0.1",
)
PARTS = ("tuning", "methods", "together", "ablations", "course", "negatives", "new_labels", "throughput")


def write_lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Texts of which each has a word of each of its labels."""
    folder = tmp_path_factory.mktemp("data") / "wordnet"
    folder.mkdir()
    rng = np.random.default_rng(0)
    write_lines(folder / "labels.jsonl", [{"id": f"l{i}", "text": f"name{i} of{i % 5}"} for i in range(40)])
    for split, n in (("train", 160), ("test", 60)):
        labels = [sorted({int(i % 40), *rng.integers(40, size=2).tolist()}) for i in range(n)]
        rows = [
            {"id": f"{split}{i}", "text": " ".join(f"w{j}" for j in own), "labels": own} for i, own in enumerate(labels)
        ]
        write_lines(folder / f"{split}.jsonl", rows)
    return folder.parent


def run(data, output, *how):
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}  # threads of two tests at once would wait for each other
    command = [sys.executable, *RUN, data, "-o", output, *how]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=300, env=alone)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def output(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("out")
    how = ["--sets", "wordnet", "--parts", ",".join(PARTS), "--methods", "dpr,anchored_lite,prime_w"]
    how += ["--variants", "table6_with_label_to_query,prime_lite,table11_uniform_positives", *FAST]
    run(data, folder, *how)
    return folder


def found(output, part):
    return json.loads((output / f"{part}.json").read_text())["wordnet"]


def cells(output, table):
    """Lines of a table, without its header."""
    return cells_of((output / f"{table}.md").read_text())


def cells_of(text):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def test_the_table_of_methods_says_what_runs_reached(data, output):
    runs = found(output, "methods")
    assert set(runs) == {"most frequent", "tf-idf tree", "zero-shot", "DPR", "PRIME-lite, anchored", "W", "PRIME W"}
    for name, p_at_1, *_ in cells(output, "methods-wordnet"):
        assert p_at_1.split(" ")[0] == f"{np.mean([run['P@1'] for run in runs[name]]):.1f}"
    assert len(runs["DPR"]) == len(runs["PRIME W"]) == 2
    assert {line[1] for line in cells(output, "methods-found")} == runs.keys() - {"W", "PRIME W"}
    rows = [json.loads(line)["labels"] for line in (data / "wordnet" / "train.jsonl").read_text().splitlines()]
    most_frequent = np.bincount(np.concatenate(rows)).argmax()
    tests = [json.loads(line)["labels"] for line in (data / "wordnet" / "test.jsonl").read_text().splitlines()]
    assert runs["most frequent"][0]["P@1"] == pytest.approx(100 * np.mean([most_frequent in own for own in tests]))


def test_fused_models_stand_beside_their_members(output):
    for run in found(output, "together").values():
        by_model = {line["model"]: line for line in run["lines"]}
        assert {"tree", "PRIME", "PRIME W", "tree on both", "tree + PRIME W"} <= by_model.keys()
        members = [by_model[name] for name in ("tree", "PRIME W")]
        lead = min(by_model["tree + PRIME W"][m] - max(one[m] for one in members) for m in ("P@1", "P@5", "PSP@5"))
        assert by_model["tree + PRIME W"]["ahead"] == pytest.approx(lead)
    runs = [{line["model"]: line for line in run["lines"]} for run in found(output, "together").values()]
    shown = [[np.mean([run[model][m] for run in runs]) for m in ("P@1", "PSP@5")] for model in ("tree", "PRIME W")]
    assert cells(output, "together")[0][1:3] == [f"{p:.1f} / {psp:.1f}" for p, psp in shown]


def test_what_held_out_rows_choose_is_used(output):
    for config, own in found(output, "tuning").items():
        assert own["size"] == max(own["tried"], key=lambda each: each["P@1"])["size"]
        for each in own["tried"]:
            record = json.loads((output / "runs" / "wordnet" / f"{config}-{each['size']}-seed-0.json").read_text())
            assert record["settings"]["batches"]["size"] == each["size"]
            assert record["figures"]["history"][-1]["P@1"] == each["P@1"]
    chosen = found(output, "tuning")["dpr"]["size"]
    assert (output / "runs" / "wordnet" / f"dpr-{chosen}-seed-1.json").exists()


def test_changes_are_those_of_the_same_seed_and_marked_where_the_paper_has_others(output):
    runs = found(output, "ablations")["prime_lite"]
    pairs = list(zip(runs["table11_uniform_positives"], runs["prime_lite"], strict=True))
    line = next(line for line in cells(output, "ablations") if "drawn uniformly" in line[1])
    assert line[2] == "−0.6 / −2.0", "both are worse in the paper"
    for figure, cell in zip(("P@1", "PSP@1"), line[3].split(" / "), strict=True):
        changes = [a[figure] - b[figure] for a, b in pairs]
        assert float(cell.split(" ")[0].replace("−", "-")) == pytest.approx(np.mean(changes), abs=0.051)
        assert ("≠" in cell) == (min(changes) > 0 and np.mean(changes) >= 0.05)


def test_frequent_and_rare_labels_are_told_apart_where_positives_are_drawn_otherwise(output):
    runs = found(output, "ablations")["anchored_lite"]
    for line, config in zip(cells(output, "positives"), ("prime_lite", "table11_uniform_positives"), strict=True):
        tail = np.mean([run["found"]["tail"] for run in runs[config]])
        assert float(line[-1].split(" ")[0]) == pytest.approx(tail, abs=0.051)


def test_trainers_are_measured_by_the_bare_encoder_on_the_same_batches(output):
    ways = found(output, "throughput")
    rounds = [json.loads((output / "runs" / "wordnet" / f"throughput-{n}.json").read_text())["figures"] for n in (0, 1)]
    for _, way, rate, share, *_ in cells(output, "throughput"):
        bare = "bare encoder, two labels a text" if way == "PRIME, anchored" or "two" in way else "bare encoder"
        medians = [np.median([rounds[0][each]["rate"], rounds[1][each]["rate"]]) for each in (way, bare)]
        assert rate.split(" ")[0] == f"{medians[0]:,.0f}"
        assert share == f"{medians[0] / medians[1]:.2f}"
    assert {"bare encoder, padded", "bare encoder", "DPR", "PRIME-lite, anchored", "PRIME, anchored"} <= ways.keys()


def test_the_table_of_throughput_has_ratios_to_bare_encoder_and_rival():
    rates = {"bare encoder": [120.0, 80.0], "DPR": [90.0, 90.0], "sentence-transformers": [30.0, 20.0]}
    found = {"wordnet": {way: {"rates": own, "memory": 2.0} for way, own in rates.items()}}
    assert [line[1:] for line in cells_of(tables.throughput(found)["throughput"].strip())] == [
        ["bare encoder", "100 (80–120)", "1.00", "4.0", "2.0"],
        ["DPR", "90", "0.90", "3.6", "2.0"],
        ["sentence-transformers", "25 (20–30)", "0.25", "1.0", "2.0"],
    ]


def test_the_rest_is_measured_and_pictures_are_drawn(output):
    assert {len(own["P@1"]) for own in found(output, "course").values()} == {2}
    assert [run["negatives"] for run in found(output, "negatives")["DEXML"]] == [39]
    ways = {"the encoder as it comes", "new labels, from their texts", "the same labels, learned"}
    assert set(found(output, "new_labels")) == ways
    for name in ("together", "course", "negatives"):
        assert ElementTree.parse(output / f"prime-{name}.svg").getroot().tag.endswith("svg")


def test_what_is_known_is_not_measured_again(data, output):
    before = (output / "methods.json").read_bytes()
    how = ["--sets", "wordnet", "--parts", "methods", "--methods", "dpr,anchored_lite,prime_w", *FAST]
    run(data, output, *how)
    assert (output / "methods.json").read_bytes() == before
