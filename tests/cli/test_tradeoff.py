"""labelwood tradeoff from data to report and model, with and without interruptions."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import labelwood as lw
from labelwood.tuning import report as reports

pytestmark = pytest.mark.slow

PROGRAM = str(Path(sys.executable).with_name("labelwood"))
FAST = ("--lams", "0,1.5", "--seeds", "1", "--jobs", "1")


@pytest.fixture
def notes(tmp_path):
    """Texts that name their labels, frequent labels more often."""
    numbers = random.Random(0)
    names = [f"topic{i}" for i in range(40)]
    path = tmp_path / "notes.jsonl"
    with path.open("w") as out:
        for _ in range(400):
            labels = sorted(set(numbers.choices(names, [1 / (i + 1) for i in range(40)], k=2)))
            words = [*labels, *numbers.choices(["and", "the", "of", "with"], k=3)]
            out.write(json.dumps({"text": " ".join(words), "labels": labels}) + "\n")
    return path


def test_from_data_to_report_and_model(labelwood, notes, tmp_path):
    folder, model = tmp_path / "report", tmp_path / "model"
    result = labelwood("tradeoff", notes, "-o", folder, *FAST, "--save", model, "--budget-ms", 1000, "--json")
    assert result.status == 0
    assert len(result.out.splitlines()) == 1
    assert sorted(result.json["files"]) == sorted(
        p.name for p in folder.iterdir() if p.name not in {"runs", "sweep.json"}
    )
    saved = json.loads((folder / "tradeoff.json").read_text())
    assert saved["points"] == result.json["points"]
    with (folder / "tradeoff.csv").open() as table:
        lines = list(csv.DictReader(table))
    assert [float(line["P@1"]) for line in lines] == [point["mean"]["P@1"] for point in saved["points"]]
    assert saved["data"] == {
        "training_rows": 320,
        "held_out_rows": 80,
        "features": saved["data"]["features"],
        "labels": 40,
    }
    assert all(point["mean"]["P@1"] > 80 for point in saved["points"])
    best = max(saved["points"], key=lambda point: (point["mean"]["P@1"], -point["mean"]["p50_ms"]))
    assert result.json["recommended"]["budget"]["lam"] == best["lam"]
    assert result.json["recommended"]["budget"]["sentence"] in (folder / "report.html").read_text()

    (tmp_path / "new.jsonl").write_text('{"text": "the topic0 and"}\n')
    assert labelwood("predict", model, tmp_path / "new.jsonl", "-k", 1).json["labels"][0]["label"] == "topic0"
    trained = lw.load(model)
    assert (trained.n_rows_, trained.model_.lam) == (400, best["lam"])  # on all of the data
    again = labelwood("tradeoff", notes, "-o", folder, *FAST)
    assert "trained  0" in again.out
    assert "Same precision, least latency: λ = " in again.out


def test_copies_are_set_one_by_one_or_in_a_table(labelwood, notes, tmp_path):
    command = ("tradeoff", notes, "-o", tmp_path / "report", *FAST, "--no-plots", "--json")
    assert labelwood(*command, "--set", "copies.number=2", "--set", "copies.merge=mean").json["trained"] == 2
    assert labelwood(*command, "--set", "copies=2", "--set", "merge=mean").json["trained"] == 0  # they are there


def test_other_settings_or_another_split_need_another_folder_or_a_restart(labelwood, notes, tmp_path):
    command = ("tradeoff", notes, "-o", tmp_path / "report", *FAST, "--no-plots")
    assert labelwood(*command, "--set", "max_leaf=5").status == 0
    for change in (("--set", "max_leaf=6"), ("--set", "max_leaf=5", "--split-seed", 1)):
        result = labelwood(*command, *change)
        assert result.status == 2
        assert len(result.err.splitlines()) == 1
        assert "--restart" in result.err
    assert labelwood(*command, "--set", "max_leaf=6", "--restart", "--json").json["trained"] == 2


def test_rows_of_another_file_are_measured_and_nothing_is_held_out(labelwood, notes, tmp_path):
    (tmp_path / "valid.jsonl").write_text('{"text": "topic1 topic0", "labels": ["topic0", "topic1", "unseen"]}\n' * 3)
    command = ("tradeoff", notes, "-o", tmp_path / "report", "--valid", tmp_path / "valid.jsonl", *FAST, "--no-plots")
    found = labelwood(*command, "--json").json
    assert (found["data"]["training_rows"], found["data"]["held_out_rows"], found["data"]["labels"]) == (400, 3, 40)
    assert found["points"][0]["mean"]["P@1"] == 100


def test_numeric_features_need_no_text(labelwood, tmp_path):
    rows = "".join(f"{i % 4} {i % 4}:1 5:0.5\n" for i in range(40))
    (tmp_path / "train.txt").write_text(f"40 6 5\n{rows}")
    found = labelwood("tradeoff", tmp_path / "train.txt", "-o", tmp_path / "report", *FAST, "--no-plots", "--json").json
    assert found["data"]["labels"] == 5  # one of them without a row
    assert found["points"][0]["mean"]["P@1"] == 100


def test_a_budget_that_nothing_meets_saves_nothing(labelwood, notes, tmp_path):
    command = ("tradeoff", notes, "-o", tmp_path / "report", *FAST, "--no-plots", "--budget-ms", "1e-6")
    assert "No λ answers within 1e-06 ms" in labelwood(*command).out
    result = labelwood(*command, "--save", tmp_path / "model")
    assert result.status == 2
    assert "nothing is saved" in result.err
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--lams", "0,3"), "--lams '0,3' is not a list of numbers from 0 to 2"),
        (("--lams", "a"), "--lams 'a' is not a list"),
        (("--lams", "nan"), "--lams 'nan' is not a list"),
        (("--held-out", "1"), "--held-out must be between 0 and 1"),
        (("--budget-ms", "0"), "--budget-ms must be more than 0"),
        (("--set", "lam=1"), "give --lams"),
        (("--set", "tree.lam=1"), "give --lams"),
        (("--set", "copies.number=0"), "TreeClassifier: copies is 0"),
        (("--set", "coste=1"), "did you mean 'cost'"),
        (("--seeds", "0"), "--seeds"),
        (("--save", "notes.jsonl"), "is a file and not a folder"),
    ],
)
def test_bad_options_are_one_sentence_before_any_work(labelwood, notes, monkeypatch, options, words):
    monkeypatch.chdir(notes.parent)
    result = labelwood("tradeoff", notes, "-o", "report", *options)
    assert result.status == 2
    assert len(result.err.splitlines()) == 1
    assert words in result.err
    assert not Path("report").exists()


def test_without_matplotlib_it_stops_before_any_work_or_goes_on_without_plots(labelwood, notes, tmp_path, monkeypatch):
    monkeypatch.setattr(reports, "find_spec", lambda _: None)
    command = ("tradeoff", notes, "-o", tmp_path / "report", *FAST)
    result = labelwood(*command)
    assert result.status == 2
    assert "pip install 'labelwood[plots]'" in result.err
    assert not (tmp_path / "report").exists()
    assert "report.html" in labelwood(*command, "--no-plots", "--json").json["files"]


def processes_of(folder):
    """The processes that have the folder among their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                arguments = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(folder).encode() in arguments:
                found.append(int(entry.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interruption_keeps_finished_runs_and_leaves_no_process(labelwood, notes, tmp_path, how):
    folder = tmp_path / "report"
    command = ["tradeoff", str(notes), "-o", str(folder), "--no-plots", "--jobs", "2", "--lams", "0,0.5,1,1.5,2"]
    many = [PROGRAM, *command, "--seeds", "100"]
    sweep = subprocess.Popen(many, stderr=subprocess.DEVNULL, start_new_session=True)
    while len(list(folder.glob("runs/*.json"))) < 3:
        assert sweep.poll() is None, "finished before it could be interrupted"
        time.sleep(0.01)
    os.kill(sweep.pid, how)
    statuses = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}
    assert sweep.wait(timeout=60) == statuses[how]
    if how == signal.SIGKILL:  # the command cannot end its workers; they end when their input ends
        while processes_of(folder):
            time.sleep(0.01)
    else:
        assert processes_of(folder) == []
        assert all(path.suffix == ".json" for path in (folder / "runs").iterdir())
    kept = list(folder.glob("runs/[!.]*"))
    assert 3 <= len(kept) < 500
    assert all(json.loads(path.read_text())["results"] for path in kept)
    again = labelwood(*command, "--seeds", "1", "--json").json
    assert again["trained"] <= 2  # of five; the first to be run are the first seed's
