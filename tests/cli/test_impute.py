"""labelwood impute and train --grouped: the tags of pages become those of paragraphs."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.pages import made_pages

import labelwood as lw
from labelwood.data import write

PROGRAM = str(Path(sys.executable).with_name("labelwood"))
PAGES = made_pages()
NEW = made_pages(n_pages=5, seed=1)


@pytest.fixture
def grouped(tmp_path):
    return PAGES.write(tmp_path / "pages.jsonl")


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_row_is_written_with_its_labels_and_confidences(labelwood, grouped, tmp_path):
    facts = labelwood("impute", grouped, "-o", tmp_path / "rows.jsonl", "--json").json
    rows = lines_of(tmp_path / "rows.jsonl")
    assert [row["text"] for row in rows] == PAGES.texts
    assert [row["id"] for row in rows] == [f"p{i // 3}#{i % 3}" for i in range(120)]
    assert all(len(row["labels"]) == len(row["sureness"]) for row in rows)
    assert all(0 <= value <= 1 for row in rows for value in row["sureness"])
    right = [row["labels"] == [topic] for row, topic in zip(rows, PAGES.topics, strict=True)]
    assert sum(right) > 0.95 * len(rows)
    assert (facts["groups"], facts["rows"], facts["labels"], facts["labels_given"]) == (40, 120, 8, 120)
    assert facts["advised"] == "assignment"
    assert 0 < facts["mean_sureness"] <= 1


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.xz", "rows.csv", "rows.parquet"])
def test_the_output_can_be_trained_on(labelwood, grouped, name, tmp_path):
    assert labelwood("impute", grouped, "-o", tmp_path / name).status == 0
    assert labelwood("train", tmp_path / name, "-o", tmp_path / "model").status == 0
    assert best_topics(tmp_path / "model") == NEW.topics


def best_topics(model):
    return [row[0][0] for row in lw.load(model).suggest(NEW.texts, k=1)]


def test_impute_and_train_equal_train_grouped(labelwood, grouped, tmp_path):
    how = ("iterations=3", "negatives=0.5")
    assert labelwood("impute", grouped, "-o", tmp_path / "rows.parquet", "--set", how[0], "--set", how[1]).status == 0
    assert labelwood("train", tmp_path / "rows.parquet", "-o", tmp_path / "two").status == 0
    one = labelwood(
        "train", grouped, "-o", tmp_path / "one", "--grouped", "--eagle", how[0], "--eagle", how[1], "--json"
    )
    assert one.json["advised"] == "assignment"
    assert one.json["labels_given"] == 120
    # Labels are numbered by first occurrence, so ties may be broken in another way.
    for first, second in zip(
        *(lw.load(tmp_path / name).suggest(NEW.texts, k=1) for name in ("one", "two")), strict=True
    ):
        assert first[0][0] == second[0][0]
        assert first[0][1] == pytest.approx(second[0][1], abs=0.02)


def test_the_advice_is_printed_for_people(labelwood, grouped, tmp_path):
    printed = labelwood("impute", grouped, "-o", tmp_path / "rows.jsonl").out
    assert "hand them out" in printed
    alike = [{"rows": [text, text], "labels": ["x", "x"]} for text in ("a dog", "a rose")]
    (tmp_path / "alike.jsonl").write_text("".join(json.dumps(page) + "\n" for page in alike))
    printed = labelwood("impute", tmp_path / "alike.jsonl", "-o", tmp_path / "rows2.jsonl").out
    assert "expected to be the better choice" in printed


def test_the_baseline_gives_every_row_all_labels_and_claims_nothing(labelwood, grouped, tmp_path):
    facts = labelwood("impute", grouped, "-o", tmp_path / "rows.jsonl", "--baseline", "--json").json
    assert "mean_sureness" not in facts
    for row, page in zip(lines_of(tmp_path / "rows.jsonl"), PAGES.pages, strict=True):
        assert sorted(row["labels"]) == PAGES.tags[page]
        assert "sureness" not in row
    facts = labelwood("train", grouped, "-o", tmp_path / "model", "--grouped", "--baseline", "--json").json
    assert facts["labels_given"] == 360


def test_groups_come_from_a_column_or_from_a_list_of_any_name(labelwood, grouped, tmp_path):
    labelwood("impute", grouped, "-o", tmp_path / "rows.jsonl")
    wanted = (tmp_path / "rows.jsonl").read_text()
    PAGES.write(tmp_path / "other.jsonl", rows="paragraphs")
    labelwood("impute", tmp_path / "other.jsonl", "-o", tmp_path / "listed.jsonl", "--rows-column", "paragraphs")
    assert (tmp_path / "listed.jsonl").read_text() == wanted
    flat = [
        {"text": text, "page": f"p{page}", "labels": PAGES.tags[page]}
        for text, page in zip(PAGES.texts, PAGES.pages, strict=True)
    ]
    (tmp_path / "flat.jsonl").write_text("".join(json.dumps(row) + "\n" for row in flat))
    labelwood("impute", tmp_path / "flat.jsonl", "-o", tmp_path / "told.jsonl", "--group-column", "page")
    assert (tmp_path / "told.jsonl").read_text() == wanted


@pytest.mark.parametrize("name", ["pages.parquet", "pages.jsonl.gz"])
def test_every_format_that_holds_groups_gives_the_same(labelwood, grouped, name, tmp_path):
    labelwood("impute", grouped, "-o", tmp_path / "wanted.jsonl")
    (tmp_path / "other").mkdir()
    write(lw.read(grouped), tmp_path / "other" / name)
    labelwood("impute", tmp_path / "other" / name, "-o", tmp_path / "rows.jsonl.gz")
    assert gzip.decompress((tmp_path / "rows.jsonl.gz").read_bytes()) == (tmp_path / "wanted.jsonl").read_bytes()


def test_parquet_holds_lists_beside_each_other(labelwood, grouped, tmp_path):
    labelwood("impute", grouped, "-o", tmp_path / "rows.parquet", "--set", "assign=soft", "--set", "sharpness=1")
    rows = pq.read_table(tmp_path / "rows.parquet").to_pylist()
    assert list(rows[0]) == ["id", "text", "labels", "sureness", "shares"]
    assert all(len(row["labels"]) == len(row["sureness"]) == len(row["shares"]) for row in rows)
    assert sum(share for row in rows for share in row["shares"]) == pytest.approx(120, abs=0.1)


def test_labels_that_a_page_repeats_go_to_as_many_rows_if_asked(labelwood, tmp_path):
    pages = [{"rows": ["a dog barks", "my dog sleeps", "old coins"], "labels": ["animal", "animal"]}]
    pages += [{"rows": ["a dog eats", "new trees"], "labels": ["animal"]}]
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps(page) + "\n" for page in pages))
    for repeats, rows in (("topc", 3), ("multiset", 2)):
        options = ("-o", tmp_path / f"{repeats}.jsonl", "--set", f"repeats={repeats}", "--json")
        assert labelwood("impute", tmp_path / "pages.jsonl", *options).json["labels_given"] == rows


def test_settings_come_from_a_file_too(labelwood, grouped, tmp_path):
    config = tmp_path / "how.toml"
    config.write_text('[eagle]\niterations = 0\n[vectorizer]\nanalyzer = "char"\nngrams = [3, 3]\n')
    plain = labelwood("impute", grouped, "-o", tmp_path / "rows.jsonl", "--json").json
    facts = labelwood("impute", grouped, "-o", tmp_path / "set.jsonl", "--config", config, "--json").json
    assert facts["mean_sureness"] < plain["mean_sureness"]
    given = labelwood("train", grouped, "-o", tmp_path / "model", "--grouped", "--config", config, "--json").json
    assert given["mean_sureness"] == facts["mean_sureness"]


def test_label_texts_are_kept(labelwood, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "labels.jsonl").write_text('{"id": "n1", "text": "animal"}\n{"id": "n2", "text": "plant"}\n')
    (tmp_path / "in" / "pages.jsonl").write_text('{"rows": ["a dog", "a rose"], "labels": ["n1"]}\n')
    assert labelwood("impute", tmp_path / "in" / "pages.jsonl", "-o", tmp_path / "out" / "rows.jsonl").status == 0
    assert lw.read(tmp_path / "out" / "rows.jsonl").label_texts.to_pylist() == ["animal", "plant"]


def test_the_same_file_for_any_number_of_threads(labelwood, grouped, tmp_path):
    for n in (1, 2):
        labelwood("impute", grouped, "-o", tmp_path / f"{n}.jsonl", "--threads", n, "--set", "negatives=1.0")
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()


def test_an_interrupt_leaves_the_old_file_as_it_was(grouped, tmp_path):
    rows, pipe = tmp_path / "rows.jsonl", tmp_path / "pipe.jsonl"
    rows.write_text("old\n")
    os.mkfifo(pipe)
    before = sorted(path.name for path in tmp_path.iterdir())
    command = subprocess.Popen(
        [PROGRAM, "impute", pipe, "-o", rows, "--overwrite", "--set", "iterations=1000000", "--set", "negatives=5.0"],
        stderr=subprocess.PIPE,
    )
    pipe.write_bytes(grouped.read_bytes())  # returns when the command has read it
    time.sleep(1)  # now the command assigns labels, which takes far longer
    assert command.poll() is None, "finished before it could be interrupted"
    command.send_signal(signal.SIGINT)
    _, errors = command.communicate(timeout=60)
    assert command.returncode == 130
    assert b"interrupted" in errors
    assert b"Traceback" not in errors
    assert rows.read_text() == "old\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_convert_turns_rows_with_a_column_of_groups_into_grouped_records(labelwood, tmp_path):
    (tmp_path / "flat.csv").write_text("page,text,labels\np,a,x;y\np,b,x;y\nq,c,z\n")
    assert labelwood("convert", tmp_path / "flat.csv", tmp_path / "pages.jsonl", "--group-column", "page").status == 0
    assert lines_of(tmp_path / "pages.jsonl") == [
        {"id": "p", "rows": [{"text": "a"}, {"text": "b"}], "labels": ["x", "y"]},
        {"id": "q", "rows": [{"text": "c"}], "labels": ["z"]},
    ]


def test_parameters_can_be_chosen_by_pages_that_are_held_out(labelwood, tmp_path):
    pages = made_pages(boilerplate=True).write(tmp_path / "pages.jsonl")
    facts = labelwood("impute", pages, "-o", tmp_path / "rows.jsonl", "--choose", "--json").json
    assert "negatives" in facts["chosen"]
    trained = labelwood("train", pages, "-o", tmp_path / "model", "--grouped", "--choose", "--json").json
    assert trained["chosen"] == facts["chosen"]
    assert "chosen" not in labelwood("impute", pages, "-o", tmp_path / "plain.jsonl", "--json").json


def test_choosing_and_the_baseline_exclude_each_other_and_single_rows(labelwood, grouped, tmp_path):
    assert "leave one out" in labelwood("impute", grouped, "-o", tmp_path / "r.jsonl", "--choose", "--baseline").err
    assert "add --grouped" in labelwood("train", grouped, "-o", tmp_path / "model", "--choose").err
