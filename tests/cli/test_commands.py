"""The commands do what `--help` says, and bad usage is one line and status 2."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import labelwood as lw

PROGRAM = str(Path(sys.executable).with_name("labelwood"))


def test_train_saves_a_model_that_predicts_names(labelwood, model, tmp_path):
    texts = tmp_path / "new.jsonl"
    texts.write_text('{"id": "x", "text": "my dog"}\n{"text": "an oak"}\n')
    rows = [json.loads(line) for line in labelwood("predict", model, texts, "-k", 2).out.splitlines()]
    assert rows[0]["id"] == "x"
    assert [label["label"] for label in rows[0]["labels"]] == ["animal", "pet"]
    assert rows[1]["labels"][0]["label"] == "tree"
    scores = [label["score"] for label in rows[1]["labels"]]
    assert scores == sorted(scores, reverse=True)


def test_a_softmax_tree_is_trained_and_compressed(labelwood, tmp_path):
    rows = tmp_path / "train.txt"
    rows.write_text("__label__animal a dog barks\n__label__plant __label__tree an oak grows\n" * 20)
    large, small = tmp_path / "large", tmp_path / "small"
    assert labelwood("train", rows, "-o", large, "--model", "softmax-tree", "--set", "dim=16").status == 0
    facts = json.loads(labelwood("compress", large, "-o", small, "--features", 4, "--json").out)
    assert facts["features"] == 4
    assert facts["bytes"] > 0
    texts = tmp_path / "new.jsonl"
    texts.write_text('{"text": "my dog"}\n')
    for model in (large, small):
        answer = json.loads(labelwood("predict", model, texts, "-k", 1).out)
        assert answer["labels"][0]["label"] == "animal"
    other = tmp_path / "other"
    assert labelwood("train", rows, "-o", other, "--model", "centroid").status == 0
    result = labelwood("compress", other, "-o", tmp_path / "smaller")
    assert result.status == 2
    assert "cannot be compressed" in result.err
    assert not (tmp_path / "smaller").exists()


def test_rows_without_ids_are_numbered_from_zero(labelwood, model, tmp_path):
    texts = tmp_path / "new.jsonl"
    texts.write_text('{"text": "dog"}\n{"text": "cat"}\n')
    assert [json.loads(line)["id"] for line in labelwood("predict", model, texts).out.splitlines()] == [0, 1]


def test_a_k_above_the_number_of_labels_costs_no_memory(labelwood, model, pets):
    result = labelwood("predict", model, pets, "-k", 10**18)
    assert result.status == 0
    assert result.out == labelwood("predict", model, pets, "-k", 100).out


def test_predict_reads_standard_input(labelwood, model, monkeypatch):
    class Stdin:
        buffer = io.BytesIO(b'{"text": "my cat"}\n')

    monkeypatch.setattr(sys, "stdin", Stdin())
    result = labelwood("predict", model, "-", "-k", 1)
    assert json.loads(result.out)["labels"][0]["label"] in {"animal", "pet"}


def test_plain_text_is_predicted_line_by_line(labelwood, model, monkeypatch, tmp_path):
    (tmp_path / "new.txt").write_text("my dog\n\nan oak\n")
    rows = [json.loads(line) for line in labelwood("predict", model, tmp_path / "new.txt", "-k", 1).out.splitlines()]
    assert [[label["label"] for label in row["labels"]] for row in rows] == [["animal"], [], ["tree"]]


def test_a_label_file_of_other_data_in_the_folder_is_ignored(labelwood, pets, tmp_path):
    (tmp_path / "labels.jsonl").write_text('{"id": "book"}\n{"id": "film"}\n')
    assert "label_file" not in labelwood("info", pets, "--json").json
    assert labelwood("info", pets, "--json").json["labels"] == 4


def test_a_label_file_with_few_of_the_labels_is_an_error_that_names_the_options(labelwood, pets, tmp_path):
    beside = tmp_path / "labels.jsonl"
    beside.write_text('{"id": "tree"}\n{"id": "film"}\n')
    result = labelwood("info", pets)
    assert result.status == 2
    assert "labels.jsonl: names only 1 of the 4 labels" in result.err
    assert labelwood("info", pets, "--label-file", beside, "--json").json["labels"] == 5
    left_alone = labelwood("info", pets, "--no-label-file", "--json").json
    assert left_alone["labels"] == 4
    assert "label_file" not in left_alone
    beside.write_text('{"id": "tree"}\n{"id": "animal"}\n{"id": "film"}\n')
    described = labelwood("info", pets, "--json").json
    assert described["labels"] == 5
    assert described["label_file"] == str(beside)


def test_convert_names_every_file_it_writes(labelwood, tmp_path):
    (tmp_path / "a.txt").write_text("1 2 2\n0 0:1\n")
    (tmp_path / "label_names.txt").write_text("dog\ncat\n")
    files = labelwood("convert", tmp_path / "a.txt", tmp_path / "X.trn.npz", "--json").json["files"]
    assert "X.trn.npz" in files
    assert "Y.trn.npz" in files


def test_sigterm_leaves_nothing_half_written(model, tmp_path):
    many = tmp_path / "many.jsonl"
    many.write_text('{"text": "a dog and a rose"}\n' * 400000)
    before = sorted(path.name for path in tmp_path.iterdir())
    command = subprocess.Popen([PROGRAM, "predict", model, many, "-o", tmp_path / "out.jsonl"])
    while not any(path.name.startswith(".out") for path in tmp_path.iterdir()):
        assert command.poll() is None, "finished before it could be ended"
        time.sleep(0.01)
    command.terminate()
    assert command.wait(timeout=60) == 143
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_predict_writes_a_compressed_file_and_a_summary(labelwood, model, pets, tmp_path):
    result = labelwood("predict", model, pets, "-o", tmp_path / "out.jsonl.gz", "--json")
    assert result.json["rows"] == 4
    assert len(lw.read(tmp_path / "out.jsonl.gz", columns=lw.Columns(text=("id",), labels="none"))) == 4


def test_low_scores_can_be_left_out(labelwood, model, pets):
    rows = [json.loads(line) for line in labelwood("predict", model, pets, "--min-score", "0.5").out.splitlines()]
    assert all(label["score"] >= 0.5 for row in rows for label in row["labels"])
    assert 0 < sum(len(row["labels"]) for row in rows) < 16


def test_labels_can_be_allowed_or_excluded(labelwood, model, pets, tmp_path):
    (tmp_path / "names.txt").write_text("pet\ntree\n")
    rows = [
        json.loads(x) for x in labelwood("predict", model, pets, "--include", tmp_path / "names.txt").out.splitlines()
    ]
    assert {label["label"] for row in rows for label in row["labels"]} <= {"pet", "tree"}
    rows = [
        json.loads(x) for x in labelwood("predict", model, pets, "--exclude", tmp_path / "names.txt").out.splitlines()
    ]
    assert {label["label"] for row in rows for label in row["labels"]} == {"animal", "plant"}
    (tmp_path / "names.txt").write_text("ghost\n")
    result = labelwood("predict", model, pets, "--include", tmp_path / "names.txt")
    assert result.status == 2
    assert "'ghost'" in result.err


def test_label_texts_are_added_on_request(labelwood, pets, tmp_path):
    (tmp_path / "labels.jsonl").write_text(
        "".join(json.dumps({"id": n, "text": n.upper()}) + "\n" for n in ("animal", "pet", "plant", "tree"))
    )
    assert labelwood("train", pets, "-o", tmp_path / "m").status == 0
    row = json.loads(labelwood("predict", tmp_path / "m", pets, "-k", 1, "--label-texts").out.splitlines()[0])
    assert row["labels"][0]["text"] == row["labels"][0]["label"].upper()


def test_evaluate_prints_metrics_in_percent(labelwood, model, pets):
    metrics = labelwood("evaluate", model, pets, "--json").json
    assert {"P@1", "P@3", "P@5", "nDCG@5", "PSP@5", "R@10"} <= set(metrics)
    assert metrics["P@1"] == 100.0
    assert metrics["rows"] == 4
    assert "P  " in labelwood("evaluate", model, pets).out


def test_labels_that_occur_only_at_evaluation_count_as_misses_and_are_reported(labelwood, model, tmp_path):
    test = tmp_path / "test.jsonl"
    test.write_text('{"text": "my dog", "labels": ["animal", "robot"]}\n')
    metrics = labelwood("evaluate", model, test, "--ks", "1,2", "--json").json
    assert metrics["unseen_labels"] == 1
    assert metrics["unseen_occurrences"] == 1
    assert metrics["P@1"] == 100.0
    assert metrics["R@2"] == 50.0


def test_filter_pairs_are_dropped_before_ranking(labelwood, model, pets, tmp_path):
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("0 0\n0 1\n")
    metrics = labelwood("evaluate", model, pets, "--filter-file", pairs, "--ks", "1", "--json").json
    assert metrics["P@1"] == 75.0
    assert metrics["filtered_pairs"] == 2


def test_parameters_can_be_changed_for_one_prediction(labelwood, model, pets):
    assert labelwood("predict", model, pets, "--set", "n_threads=1").status == 0
    result = labelwood("evaluate", model, pets, "--set", "n_threads=0")
    assert result.status == 2
    assert "n_threads" in result.err


def test_info_describes_models_and_data(labelwood, model, pets):
    assert labelwood("info", pets, "--json").json["labels_per_row"] == 1.75
    facts = labelwood("info", model, "--json").json
    assert facts["kind"] == "text"
    assert "labels_per_row" in labelwood("info", pets).out


def test_converting_to_a_format_and_back_keeps_the_data(labelwood, pets, tmp_path):
    assert labelwood("convert", pets, tmp_path / "pets.parquet", "--json").json["rows"] == 4
    assert labelwood("convert", tmp_path / "pets.parquet", tmp_path / "back.csv.xz").status == 0
    back, original = lw.read(tmp_path / "back.csv.xz"), lw.read(pets)
    assert back.texts.equals(original.texts)
    assert (back.Y != original.Y).nnz == 0


def test_parameters_come_from_a_file_and_the_command_line_wins(labelwood, pets, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('model = "centroid"\n[params]\nn_threads = 1\n[vectorizer]\nmin_df = 2\nngrams = [1, 2]\n')
    arguments = ("train", pets, "-o", tmp_path / "m", "--config", config, "--set", "vectorizer.min_df=1")
    assert labelwood(*arguments).status == 0
    words = lw.load(tmp_path / "m").vectorizer_
    assert (words.min_df, list(words.ngrams)) == (1, [1, 2])


@pytest.mark.parametrize(
    ("config", "settings"),
    [
        ("", ["copies=2", "rounds=3", "merge=mean"]),
        ("", ["copies.number=2", "copies.rounds=3", "copies.merge=mean"]),
        ('copies = {number = 2, rounds = 3, merge = "mean"}', []),
        ("[params.copies]\nnumber = 2\nrounds = 3", ["merge=mean"]),
        ('[params]\ncopies = 2\nrounds = 5\nmerge = "mean"', ["copies.rounds=3"]),
    ],
)
def test_parameters_that_belong_together_are_set_one_by_one_or_in_a_table(labelwood, pets, tmp_path, config, settings):
    (tmp_path / "config.toml").write_text(config)
    given = [word for setting in settings for word in ("--set", setting)]
    assert labelwood("train", pets, "-o", tmp_path / "m", "--config", tmp_path / "config.toml", *given).status == 0
    model = lw.load(tmp_path / "m").model_
    assert (model.copies, model.rounds, model.merge) == (2, 3, "mean")
    expected = lw.TextClassifier(model=lw.TreeClassifier(copies=lw.Copies(2, rounds=3, merge="mean")))
    expected.fit_dataset(lw.read(pets)).save(tmp_path / "expected")
    assert (tmp_path / "m/manifest.json").read_bytes() == (tmp_path / "expected/manifest.json").read_bytes()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["rounds=-1"], "TreeClassifier: rounds is -1 but should be greater than or equal to 0"),
        (["copies.rounds=-1"], "TreeClassifier: rounds is -1 but should be greater than or equal to 0"),
        (["copies.round=1"], "copies has no parameter 'round'; did you mean 'rounds'?"),
        (["copies.rounds=1", "rounds=2"], "rounds is given as 2 and as 1: give it once"),
        (["copies=2", "copies.rounds=1"], "'copies' is a value and not a table"),
        (["tree.max_leaf=2"], "tree has no parameter 'max_leaf'; it has: lam"),
    ],
)
def test_wrong_fields_of_a_table_are_named(labelwood, pets, tmp_path, settings, words):
    given = [word for setting in settings for word in ("--set", setting)]
    result = labelwood("train", pets, "-o", tmp_path / "m", *given)
    assert result.status == 2
    assert words in result.err
    assert len(result.err.splitlines()) == 1


def test_an_interpolated_tree_is_a_table(labelwood, pets, tmp_path):
    for name, given in (("a", ["tree.lam=1.5"]), ("b", ["tree=interpolated", "lam=1.5"])):
        settings = [word for setting in given for word in ("--set", setting)]
        assert labelwood("train", pets, "-o", tmp_path / name, *settings).status == 0
    assert lw.load(tmp_path / "a").model_.tree == "interpolated"
    assert (tmp_path / "a/manifest.json").read_bytes() == (tmp_path / "b/manifest.json").read_bytes()


def test_columns_can_be_named(labelwood, tmp_path):
    data = tmp_path / "books.csv"
    data.write_text("key,title,abstract,subjects\n1,Dogs,about dogs,animal|pet\n2,Roses,about roses,plant\n")
    named = ("--text-column", "title,abstract", "--label-column", "subjects", "--label-separator", "|")
    assert labelwood("train", data, "-o", tmp_path / "m", *named, "--id-column", "key").status == 0
    result = labelwood("predict", tmp_path / "m", data, *named, "--id-column", "key", "-k", 1)
    assert [json.loads(line)["id"] for line in result.out.splitlines()] == ["1", "2"]
    assert list(lw.load(tmp_path / "m").labels_) == ["animal", "pet", "plant"]


def test_numeric_data_trains_and_narrower_rows_are_widened(labelwood, tmp_path):
    (tmp_path / "train.txt").write_text("3 4 2\n0 0:1\n1 3:1\n0,1 0:1 3:1\n")
    (tmp_path / "new.svm").write_text("0 0:1\n")
    assert labelwood("train", tmp_path / "train.txt", "-o", tmp_path / "m").status == 0
    assert (
        json.loads(labelwood("predict", tmp_path / "m", tmp_path / "new.svm", "-k", 1).out)["labels"][0]["label"] == "0"
    )


def test_a_preset_sets_only_parameters_that_are_not_given(labelwood, pets, tmp_path):
    arguments = ("train", pets, "-o", tmp_path / "m", "--preset", "accurate", "--set", "n_trees=2")
    assert labelwood(*arguments).status == 0
    model = lw.load(tmp_path / "m").model
    assert (model.n_trees, model.max_leaf, model.max_passes) == (2, 200, 4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--preset", "best"], "thorough"), (["--preset", "accurate", "--model", "centroid"], "tree")],
)
def test_a_preset_that_does_not_fit_is_one_line(labelwood, pets, tmp_path, arguments, words):
    result = labelwood("train", pets, "-o", tmp_path / "m", *arguments)
    assert result.status == 2
    assert words in result.err
    assert result.err.count("\n") == 1


def test_training_into_a_folder_with_other_files_loses_nothing(labelwood, pets, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    result = labelwood("train", pets, "-o", tmp_path / "mine")
    assert result.status == 2
    assert result.err.count("\n") == 1
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fly"], "fly"),
        (["train", "x.jsonl"], "--output"),
        (["predict", "m", "x", "-k", "0"], "-k"),
        (["predict", "m", "x", "-k", "many"], "-k"),
        (["evaluate", "m", "x", "--ks", "0"], "--ks"),
        (["evaluate", "m", "x", "--ks", "a,b"], "--ks"),
        (["train", "x", "-o", "m", "--threads", "0"], "--threads"),
        (["demo", "--speed"], "--speed"),
        (["info"], "PATH"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(labelwood, arguments, words):
    result = labelwood(*arguments)
    assert result.status == 2
    assert result.err.count("\n") == 1
    assert words in result.err


@pytest.mark.parametrize("command", [[], ["train"], ["predict"], ["evaluate"], ["info"], ["convert"], ["demo"]])
def test_help_is_printed(labelwood, command):
    result = labelwood(*command, "--help")
    assert result.status == 0
    assert "Usage" in result.out


def test_without_arguments_the_help_is_printed_and_the_version_on_request(labelwood):
    assert labelwood().out == labelwood("--help").out
    assert labelwood("--version").out == f"labelwood {lw.__version__}\n"


def test_the_program_is_installed_and_exits_with_the_status(tmp_path):
    done = subprocess.run([PROGRAM, "info", tmp_path / "none"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_reader_that_closes_the_pipe_is_not_an_error(model, tmp_path):
    many = tmp_path / "many.jsonl"
    many.write_text('{"text": "a dog and a rose"}\n' * 20000)
    command = subprocess.Popen([PROGRAM, "predict", model, many], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    command.stdout.readline()
    command.stdout.close()
    assert command.wait(timeout=60) == 0
    assert b"Traceback" not in command.stderr.read()
    command.stderr.close()


def test_ctrl_c_leaves_nothing_half_written(model, tmp_path):
    many = tmp_path / "many.jsonl"
    many.write_text('{"text": "a dog and a rose"}\n' * 400000)
    before = sorted(path.name for path in tmp_path.iterdir())
    command = subprocess.Popen([PROGRAM, "predict", model, many, "-o", tmp_path / "out.jsonl"], stderr=subprocess.PIPE)
    while not any(path.name.startswith(".out") for path in tmp_path.iterdir()):
        assert command.poll() is None, "finished before it could be interrupted"
        time.sleep(0.01)
    command.send_signal(signal.SIGINT)
    _, errors = command.communicate(timeout=60)
    assert command.returncode == 130
    assert b"interrupted" in errors
    assert b"Traceback" not in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def cpu_seconds(*arguments):
    """The least CPU time of a few runs; CPU time, because the machine may be busy."""
    times = []
    for _ in range(3):
        start = os.times()
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
        end = os.times()
        times.append(end.children_user + end.children_system - start.children_user - start.children_system)
    return min(times)


def test_starting_is_quick():
    assert cpu_seconds(PROGRAM, "--help") < 0.4
    assert cpu_seconds(sys.executable, "-c", "import labelwood") < 0.5


def test_import_loads_none_of_the_heavy_parts():
    heavy = ("torch", "ray", "sklearn", "scipy", "pyarrow", "fastapi")
    code = f"import sys, labelwood; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
