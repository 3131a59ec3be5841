"""No command replaces files that it did not make, and the name of a file determines its format."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.hostile_targets import ABOUT, PETS, count, lines

import labelwood as lw

PROGRAM = str(Path(sys.executable).with_name("labelwood"))


@pytest.mark.slow
def test_no_command_loses_an_existing_file(tmp_path):
    result = count(tmp_path)
    assert result["lost"] == []
    assert result["attempts"] > 300
    assert result["written"] > 20  # beside what was in the way


@pytest.fixture
def described(tmp_path):
    """Rows with titles, and labels with other fields."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "pets.jsonl").write_text(lines(PETS))
    (folder / "labels.jsonl").write_text(lines(ABOUT))
    return folder / "pets.jsonl"


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_convert_keeps_fields_of_rows_and_labels_and_names_what_it_cannot_keep(labelwood, described, tmp_path):
    for name in ("out", "back"):
        (tmp_path / name).mkdir()
    facts = labelwood("convert", described, tmp_path / "out" / "pets.parquet", "--json").json
    assert "left_out" not in facts
    assert labelwood("convert", tmp_path / "out" / "pets.parquet", tmp_path / "back" / "pets.jsonl").status == 0
    assert records(tmp_path / "back" / "pets.jsonl") == PETS
    assert records(tmp_path / "back" / "labels.jsonl") == ABOUT
    result = labelwood("convert", described, tmp_path / "back" / "pets.fasttext")
    assert result.out.endswith(" ids, title\n")
    assert labelwood("convert", described, tmp_path / "out" / "pets.fasttext", "--json").json["left_out"] == [
        "ids",
        "title",
    ]


def test_the_label_file_of_the_input_is_not_reduced(labelwood, described, tmp_path):
    before = (described.parent / "labels.jsonl").read_bytes()
    for name in ("pets.csv", "pets.fasttext", "pets.parquet"):
        assert labelwood("convert", described, described.parent / name).status == 0
    assert (described.parent / "labels.jsonl").read_bytes() == before


def test_impute_keeps_fields_of_pages_and_rows(labelwood, tmp_path):
    rows = [{"text": "a dog", "url": "u"}, {"text": "a rose"}]
    pages = [
        {"id": "p", "rows": rows, "labels": ["x"], "date": 1899, "url": 0},
        {"id": "q", "rows": [{"text": "a cat"}], "labels": ["y"], "date": None},
    ]
    (tmp_path / "pages.jsonl").write_text(lines(pages))
    facts = labelwood("impute", tmp_path / "pages.jsonl", "-o", tmp_path / "rows.jsonl", "--baseline", "--json").json
    assert facts["left_out"] == ["url"]  # of the page, because rows have their own
    rows = [{name: row.get(name) for name in ("id", "url", "date")} for row in records(tmp_path / "rows.jsonl")]
    assert rows == [
        {"id": "p#0", "url": "u", "date": 1899},
        {"id": "p#1", "url": None, "date": 1899},
        {"id": "q#0", "url": None, "date": None},
    ]


def test_a_file_may_become_its_own_copy_only_if_all_of_it_is_kept(labelwood, described):
    before = records(described)
    assert labelwood("convert", described, described).status == 2
    assert labelwood("convert", described, described, "--overwrite").status == 0
    assert records(described) == before
    for more, words in (
        (("--to", "csv"), "cannot hold all of it"),
        (("--text-column", "title,text"), "cannot be split again"),
        (("--text-column", "title"), "text would be lost"),
    ):
        result = labelwood("convert", described, described, "--overwrite", *more)
        assert result.status == 2
        assert words in result.err
    assert records(described) == before


@pytest.mark.parametrize(
    ("header", "row", "option"),
    [
        ("title,labels", "a dog,x;y", ("--text-column", "title")),
        ("text,tags", "a dog,x;y", ("--label-column", "tags")),
        ("text,labels", "a dog,x|y", ("--label-separator", "|")),
        ("text,labels,key", "a dog,x,1", ("--id-column", "key")),
    ],
)
def test_a_file_does_not_become_a_copy_of_itself_with_other_columns(labelwood, header, row, option, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n{row}\n")
    result = labelwood("convert", path, path, "--overwrite", *option)
    assert result.status == 2
    assert f"the default columns and separator, not those of {option[0]}; name another file" in result.err
    assert path.read_text() == f"{header}\n{row}\n"


def test_a_compressed_copy_may_lie_beside_its_original_and_other_data_may_not(labelwood, described, tmp_path):
    assert labelwood("convert", described, f"{described}.xz").status == 0
    (tmp_path / "other.jsonl").write_text(lines(PETS[:1]))
    result = labelwood("convert", tmp_path / "other.jsonl", f"{described}.gz")
    assert result.status == 2
    assert "would lie beside pets.jsonl" in result.err


@pytest.mark.parametrize("name", ["out.csv", "out.tsv.gz", "out.parquet", "out.jsonl"])
def test_answers_are_written_as_the_name_says_and_read_back(labelwood, model, pets, name, tmp_path):
    wanted = [json.loads(line) for line in labelwood("predict", model, pets, "-k", 2).out.splitlines()]
    assert labelwood("predict", model, pets, "-k", 2, "-o", tmp_path / name).status == 0
    if name == "out.jsonl":
        assert records(tmp_path / name) == wanted
        return
    got = lw.read(tmp_path / name, columns=lw.Columns(text=("id",)), keep_unknown=True)
    assert got.ids.to_pylist() == [row["id"] for row in wanted]
    labels = [
        [got.labels[j] for j in got.Y.indices[start:end]]
        for start, end in zip(got.Y.indptr[:-1], got.Y.indptr[1:], strict=True)
    ]
    assert labels == [[entry["label"] for entry in row["labels"]] for row in wanted]
    scores = got.fields.table["scores"].to_pylist()
    scores = [[float(s) for s in row.split(";")] if isinstance(row, str) else row for row in scores]
    assert scores == [[entry["score"] for entry in row["labels"]] for row in wanted]


def test_parquet_holds_the_texts_of_labels_and_csv_refuses_them(labelwood, described, tmp_path):
    assert labelwood("train", described, "-o", tmp_path / "m", "--model", "centroid").status == 0
    command = ("predict", tmp_path / "m", described, "--label-texts", "-o")
    assert labelwood(*command, tmp_path / "out.parquet").status == 0
    row = pq.read_table(tmp_path / "out.parquet").to_pylist()[0]
    assert row["texts"] == [label.upper() for label in row["labels"]]
    result = labelwood(*command, tmp_path / "out.csv")
    assert result.status == 2
    assert "cannot hold the texts of labels" in result.err


@pytest.mark.parametrize("name", ["x.xlsx", "x.txt", "x.json", "x.json.gz", "x.arrow"])
def test_names_of_other_formats_are_refused(labelwood, model, pets, name, tmp_path):
    result = labelwood("predict", model, pets, "-o", tmp_path / name)
    assert result.status == 2
    assert "answers are *.jsonl, *.csv, *.tsv or *.parquet" in result.err
    assert result.err.count("\n") == 1
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["labels.jsonl", "labels.jsonl.gz", "label_names.txt", "lbl.json", "filter_test.txt"])
def test_answers_do_not_take_the_name_of_a_file_that_describes_the_data(labelwood, model, described, name):
    before = {path.name: path.read_bytes() for path in described.parent.iterdir()}
    for more in ((), ("--overwrite",)):
        result = labelwood("predict", model, described, "-o", described.parent / name, *more)
        assert result.status == 2
        assert "cannot hold rows: files of this name" in result.err
        result = labelwood("convert", described, described.parent / name, "--to", "fasttext", *more)
        assert result.status == 2
        assert "cannot hold rows: files of this name" in result.err
    assert {path.name: path.read_bytes() for path in described.parent.iterdir()} == before


def test_a_file_that_is_read_beside_the_data_is_not_replaced(labelwood, model, described, tmp_path):
    there = tmp_path / "out"
    there.mkdir()
    (there / "cat.jsonl").write_text(lines(ABOUT))
    (there / "names.txt").write_text("animal\n")
    (there / "pairs").write_text("0 0\n")
    (there / "pages.jsonl").write_text(lines([{"rows": ["a dog"], "labels": ["animal"]}]))
    (there / "settings.jsonl").write_text("")
    (described.parent / "link.jsonl").symlink_to("labels.jsonl")
    before = {path: path.read_bytes() for folder in (there, described.parent) for path in folder.iterdir()}
    for command, name, option in (
        (("predict", model, described), "cat.jsonl", "--label-file"),
        (("predict", model, described), "pairs", "--filter-file"),
        (("predict", model, described), "names.txt", "--include"),
        (("predict", model, described), "names.txt", "--exclude"),
        (("impute", there / "pages.jsonl"), "cat.jsonl", "--label-file"),
        (("impute", there / "pages.jsonl", "--baseline"), "settings.jsonl", "--config"),
    ):
        read = there / name
        target = read if read.suffix != ".txt" else there / "link.jsonl"
        if target != read:
            os.link(read, target)
        result = labelwood(*command, option, read, "-o", target, "--overwrite")
        assert (result.status, result.err.count("is also an input; name another file")) == (2, 1), result.err
        if target != read:
            target.unlink()
    for more in ((there / "cat.jsonl", "--label-file", there / "cat.jsonl"), (described.parent / "link.jsonl",)):
        result = labelwood("convert", described, *more, "--overwrite")
        assert (result.status, result.err.count("is also an input; name another file")) == (2, 1), result.err
    assert {path: path.read_bytes() for folder in (there, described.parent) for path in folder.iterdir()} == before


def test_the_other_files_of_a_dataset_are_not_replaced_by_its_copy(labelwood, tmp_path):
    (tmp_path / "trn_X_Xf.txt").write_text("2 3\n0:1\n1:1\n")
    (tmp_path / "trn_X_Y.txt").write_text("2 4\n0:1\n1:1\n")
    result = labelwood("convert", tmp_path / "trn_X_Xf.txt", tmp_path / "trn_X_Y.txt", "--to", "xc", "--overwrite")
    assert result.status == 2
    assert "trn_X_Y.txt is also an input; name another file" in result.err
    assert (tmp_path / "trn_X_Y.txt").read_text() == "2 4\n0:1\n1:1\n"


def test_the_files_of_a_model_are_not_replaced(labelwood, model, pets):
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    for name in before:
        result = labelwood("convert", pets, model / name, "--to", "jsonl", "--overwrite")
        assert result.status == 2
        assert "it belongs to the model in its folder" in result.err
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    assert labelwood("predict", model, pets, "-o", model / "answers.jsonl").status == 0


def test_labels_that_csv_cannot_separate_are_refused_before_answers_are_made(labelwood, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a dog", "labels": ["cats; dogs"]}\n')
    assert labelwood("train", tmp_path / "a.jsonl", "-o", tmp_path / "m", "--model", "centroid").status == 0
    result = labelwood("predict", tmp_path / "m", tmp_path / "a.jsonl", "-o", tmp_path / "out.csv")
    assert result.status == 2
    assert "'cats; dogs' holds a ';'" in result.err
    assert not (tmp_path / "out.csv").exists()


def test_a_name_without_an_ending_gets_json_lines(labelwood, model, pets, tmp_path):
    assert labelwood("predict", model, pets, "-o", tmp_path / "answers").status == 0
    assert (tmp_path / "answers").read_text() == labelwood("predict", model, pets).out


def test_no_rows_make_an_empty_table(labelwood, model, tmp_path):
    (tmp_path / "none.csv").write_text("text\n")
    for name in ("out.parquet", "out.csv"):
        assert labelwood("predict", model, tmp_path / "none.csv", "-o", tmp_path / name).status == 0
        assert len(lw.read(tmp_path / name, columns=lw.Columns(text=("id",)))) == 0


def test_a_dash_means_standard_output(labelwood, model, pets, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert labelwood("predict", model, pets, "-o", "-").out == labelwood("predict", model, pets).out
    result = labelwood("convert", pets, "-", "--to", "jsonl")
    assert result.status == 2
    assert "standard output" in result.err
    assert not Path("-").exists()


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_an_interrupt_leaves_nothing_half_written(model, name, tmp_path):
    many = tmp_path / "many.jsonl"
    many.write_text('{"text": "a dog and a rose"}\n' * 400000)
    before = sorted(path.name for path in tmp_path.iterdir())
    command = subprocess.Popen([PROGRAM, "predict", model, many, "-o", tmp_path / name], stderr=subprocess.PIPE)
    while not any(path.name.startswith(".out") for path in tmp_path.iterdir()):
        assert command.poll() is None, "finished before it could be interrupted"
        time.sleep(0.01)
    command.send_signal(signal.SIGINT)
    _, errors = command.communicate(timeout=60)
    assert command.returncode == 130
    assert b"Traceback" not in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == before
