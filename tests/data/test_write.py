"""A file appears whole or not at all, and data that a format cannot hold is refused."""

from __future__ import annotations

import io
import os
import stat
from dataclasses import replace

import numpy as np
import pytest
from tests.data.samples import SUFFIXES, strings

from labelwood.data import Dataset, Groups, read, write
from labelwood.data.publishing import binary_output, text_output
from labelwood.data.source import Source
from labelwood.data.write import format_of_name
from labelwood.errors import InputError, LabelwoodError, ParameterError

TEXTS = Dataset.from_texts(["a dog", "a rose"], [["animal"], ["plant", "garden"]])
NUMBERS = replace(TEXTS, texts=None, sparse=TEXTS.Y)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_output_is_complete_and_readable(suffix, tmp_path):
    text = "Zeile – 行\n" * 100_000
    with text_output(tmp_path / f"a.txt{suffix}") as out:
        out.write(text)
    with binary_output(tmp_path / f"b.txt{suffix}") as out:
        out.write(text.encode())
    assert Source(tmp_path / f"a.txt{suffix}").read().decode() == text
    assert Source(tmp_path / f"b.txt{suffix}").read().decode() == text


@pytest.mark.parametrize("output", [text_output, binary_output])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failure_leaves_the_old_file_and_nothing_else(suffix, output, tmp_path):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), output(path, overwrite=True) as out:
        out.write("new" * 100_000 if output is text_output else b"new" * 100_000)
        raise ZeroDivisionError
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_ctrl_c_at_the_moment_a_file_is_made_leaves_none(tmp_path, monkeypatch):
    opened, made = io.open, []

    def interrupted(path, mode="r", *given, **others):
        file = opened(path, mode, *given, **others)
        if "r" not in mode:
            made.append(list(tmp_path.iterdir()))
            file.close()
            raise KeyboardInterrupt
        return file

    monkeypatch.setattr(io, "open", interrupted)  # Path.open calls it
    with pytest.raises(KeyboardInterrupt), binary_output(tmp_path / "a.txt"):
        pass
    assert len(made[0]) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_data_gives_the_same_bytes(suffix, tmp_path):
    for name in ("a", "b"):
        write(TEXTS, tmp_path / f"{name}.jsonl{suffix}")
    assert (tmp_path / f"a.jsonl{suffix}").read_bytes() == (tmp_path / f"b.jsonl{suffix}").read_bytes()


def test_the_umask_decides_who_may_read(tmp_path):
    before = os.umask(0o027)
    try:
        write(TEXTS, tmp_path / "a.jsonl")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.jsonl").stat().st_mode) == 0o640


def test_places_that_cannot_be_written_are_named(tmp_path):
    (tmp_path / "folder.jsonl").mkdir()
    names = ("missing/a.jsonl", "folder.jsonl", "x" * 300 + ".jsonl", "x" * 245 + ".jsonl")
    for path in (tmp_path / name for name in names):
        with pytest.raises(InputError, match=r"cannot be written"):
            write(TEXTS, path)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.jsonl"]


def test_a_full_disk_is_named_and_keeps_the_old_file(tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_text("old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left on device"):
        write(TEXTS, tmp_path / "a.jsonl", overwrite=True)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.jsonl", "old")]


@pytest.mark.parametrize(
    ("data", "name", "words"),
    [
        (NUMBERS, "a.jsonl", "no texts"),
        (NUMBERS, "a.csv", "no texts"),
        (NUMBERS, "a.parquet", "no texts"),
        (NUMBERS, "trn.json", "needs texts"),
        (NUMBERS, "train_texts.txt", "needs texts"),
        (NUMBERS, "a.fasttext", "needs a text"),
        (TEXTS, "a.txt", "needs sparse features"),
        (TEXTS, "trn_X_Xf.txt", "needs sparse features"),
        (TEXTS, "X.trn.npz", "needs sparse features"),
        (TEXTS, "a.svm", "needs sparse features"),
        (TEXTS, "a.npz", "needs dense features"),
        (replace(TEXTS, texts=None, dense=np.ones((2, 3), np.float32)), "a.npz", "exactly one label"),
        (Dataset.from_texts(["x"], [["a;b"]]), "a.csv", "'a;b' holds a ';'"),
        (Dataset.from_texts(["x"], [["a "]]), "a.csv", "'a ' holds"),
        (Dataset.from_texts(["x"], [["a b"]]), "train_texts.txt", "'a b' holds a space"),
        (Dataset.from_texts(["x"], [["a\0b"]]), "a.fasttext", r"'a\\x00b' .* white space"),
        (replace(NUMBERS, sparse=NUMBERS.sparse * np.float32("nan")), "a.txt", "NaN or infinity"),
        (
            Dataset(texts=strings(["x"]), labels=TEXTS.labels, groups=Groups(np.array([0]), TEXTS.Y[:1])),
            "a.csv",
            "groups",
        ),
        (
            Dataset(texts=strings(["x"]), labels=TEXTS.labels, groups=Groups(np.array([0]), TEXTS.Y[:1])),
            "a.fasttext",
            "groups",
        ),
        (
            Dataset(texts=strings(["x", "y"]), labels=TEXTS.labels, groups=Groups(np.array([1, 0]), TEXTS.Y)),
            "a.jsonl",
            "lie together",
        ),
    ],
)
def test_data_that_a_format_cannot_hold_is_refused_in_one_sentence(data, name, words, tmp_path):
    with pytest.raises(LabelwoodError, match=words):
        write(data, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_labels_shared_with_other_files_keep_their_numbers(tmp_path):
    write(NUMBERS, tmp_path / "train.txt")
    other = replace(Dataset.from_texts(["", ""], [["plant"], []]), texts=None, sparse=TEXTS.Y)
    with pytest.raises(LabelwoodError, match=r"labels\.jsonl names other labels"):
        write(other, tmp_path / "test.txt")
    assert list(read(tmp_path / "train.txt").labels) == ["animal", "plant", "garden"]
    write(other.align(NUMBERS.labels), tmp_path / "test.txt")
    assert read(tmp_path, split="test").Y.toarray().tolist() == [[0, 1, 0], [0, 0, 0]]


def test_the_format_follows_from_the_name_or_is_given(tmp_path):
    assert format_of_name(tmp_path / "x.tsv.zst") == "csv"
    with pytest.raises(ParameterError, match="does not determine the format"):
        write(TEXTS, tmp_path / "x.doc")
    with pytest.raises(ParameterError, match="there is no format 'doc'"):
        write(TEXTS, tmp_path / "x", format="doc")
    with pytest.raises(ParameterError, match="there is no format 'doc'"):
        write(TEXTS, tmp_path / "x.jsonl")
        read(tmp_path / "x.jsonl", format="doc")
