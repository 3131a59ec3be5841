"""Files appear together or not at all, and never replace other files unless told to."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.data.samples import COMPRESS, strings

from labelwood.data import Dataset, publishing, read, write
from labelwood.data.publishing import binary_output, check_output
from labelwood.errors import InputError, LabelwoodError

TEXTS = replace(Dataset.from_texts(["a dog", "a rose"], [["animal"], ["plant"]]), label_texts=strings(["Tier", ""]))
NUMBERS = replace(TEXTS, texts=None, sparse=TEXTS.Y)
OTHERS = replace(NUMBERS, sparse=NUMBERS.sparse * 2, Y=NUMBERS.Y[[1, 0]])
MAIN = {
    "train.txt": NUMBERS,
    "trn_X_Xf.txt": NUMBERS,
    "X.trn.npz": NUMBERS,
    "train_texts.txt": TEXTS,
    "trn.json": TEXTS,
}


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet", "a.fasttext", *MAIN])
def test_a_file_that_is_there_is_refused_unless_told_to_replace_it(name, tmp_path):
    data = MAIN.get(name, TEXTS)
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=r"is there already; name another file, or replace it with --overwrite"):
        write(data, tmp_path / name)
    assert contents(tmp_path) == {name: b"mine"}
    write(data, tmp_path / name, overwrite=True)
    assert len(read(tmp_path / name)) == 2


@pytest.mark.parametrize(
    ("name", "companion"),
    [("trn_X_Xf.txt", "trn_X_Y.txt"), ("X.trn.npz", "Y.trn.npz"), ("train_texts.txt", "train_labels.txt")],
)
def test_a_companion_file_that_is_there_is_refused_too(name, companion, tmp_path):
    (tmp_path / companion).write_text("mine")
    with pytest.raises(InputError, match=f"{companion}: is there already"):
        write(MAIN[name], tmp_path / name)
    assert contents(tmp_path) == {companion: b"mine"}


@pytest.mark.parametrize("kind", ["link", "dangling", "hard link"])
def test_links_count_as_existing_files(kind, tmp_path):
    (tmp_path / "mine").write_text("mine")
    if kind == "hard link":
        os.link(tmp_path / "mine", tmp_path / "a.jsonl")
    else:
        (tmp_path / "a.jsonl").symlink_to("mine" if kind == "link" else "nowhere")
    with pytest.raises(InputError, match="is there already"):
        write(TEXTS, tmp_path / "a.jsonl")
    write(TEXTS, tmp_path / "a.jsonl", overwrite=True)
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["labels.jsonl", "labels.jsonl.gz", "lbl.json"])
def test_rows_do_not_take_the_name_of_the_file_of_labels(name, tmp_path):
    with pytest.raises(InputError, match="files of this name describe labels"):
        write(TEXTS, tmp_path / name)


@pytest.mark.parametrize("name", ["filter_test.txt", "filter_labels_test.txt", "filter_train.txt.gz", "lbl_X_Xf.txt"])
def test_rows_do_not_take_the_name_of_the_file_of_filters(name, tmp_path):
    with pytest.raises(InputError, match="cannot hold rows: files of this name"):
        write(TEXTS, tmp_path / name, format="fasttext")
    assert contents(tmp_path) == {}


def test_devices_and_pipes_are_refused_even_if_they_lead_to_a_file(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "link.jsonl").symlink_to("pipe.jsonl")
    for name in ("pipe.jsonl", "link.jsonl"):
        with pytest.raises(InputError, match="it is a folder, a pipe or a device; name a file"):
            check_output(tmp_path / name, overwrite=True)
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/nothing"):
        with pytest.raises(InputError, match=f"^{name}: cannot be written: it is a device; name a file"):
            check_output(Path(name), overwrite=True)
    monkeypatch.setattr(publishing, "_DEVICES", (tmp_path / "devices",))
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices" / "out").write_text("mine")
    (tmp_path / "links").symlink_to("devices")
    with pytest.raises(InputError, match="it is a device"):
        write(TEXTS, tmp_path / "links" / "out", format="jsonl", overwrite=True)
    assert (tmp_path / "devices" / "out").read_text() == "mine"


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_is_not_replaced(links, tmp_path, monkeypatch):
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(InputError, match="is there already"), binary_output(tmp_path / "a.txt") as out:
        out.write(b"new")
        (tmp_path / "a.txt").write_text("mine")
    assert contents(tmp_path) == {"a.txt": b"mine"}


def no_links(*_):
    raise OSError(errno.EPERM, "Operation not permitted")


def test_file_systems_without_hard_links_work(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", no_links)
    write(NUMBERS, tmp_path / "trn_X_Xf.txt")
    assert len(read(tmp_path)) == 2
    assert not any(path.name.startswith(".") for path in tmp_path.iterdir())


@pytest.mark.parametrize("twin", ["train.jsonl", "train.jsonl.zst"])
def test_the_same_name_with_another_compression_is_refused(twin, tmp_path):
    (tmp_path / twin).write_bytes(b"mine")
    for overwrite in (False, True):
        with pytest.raises(InputError, match=f"would lie beside {twin}, .* remove that one first"):
            write(TEXTS, tmp_path / "train.jsonl.xz", overwrite=overwrite)
    assert contents(tmp_path) == {twin: b"mine"}


ABOUT = [{"id": "animal", "text": "Tier", "alt": ["beast"]}, {"id": "plant", "text": ""}, {"id": "more", "text": "x"}]


def catalogue(records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


@pytest.mark.parametrize("suffix", ["", ".xz"])
def test_a_label_file_that_says_more_is_kept(suffix, tmp_path):
    there = tmp_path / f"labels.jsonl{suffix}"
    there.write_bytes(COMPRESS.get(suffix, bytes)(catalogue(ABOUT)))
    before = there.read_bytes()
    for overwrite in (False, True):
        write(TEXTS, tmp_path / "a.jsonl", overwrite=overwrite)
        assert {path.name for path in tmp_path.iterdir()} == {"a.jsonl", there.name}
        assert there.read_bytes() == before


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    "records",
    [
        [{"id": "animal", "text": "another text"}, ABOUT[1]],
        [{"id": "animal", "text": "another text", "alt": []}],
        [{"id": "ghost", "text": "x"}],
    ],
)
def test_a_label_file_with_other_content_is_not_lost(records, overwrite, tmp_path):
    (tmp_path / "labels.jsonl").write_bytes(catalogue(records))
    with pytest.raises(LabelwoodError, match=r"says other things of the labels than this data"):
        write(TEXTS, tmp_path / "a.jsonl", overwrite=overwrite)
    assert contents(tmp_path) == {"labels.jsonl": catalogue(records)}


def test_a_label_file_that_says_less_is_replaced_only_if_told_to(tmp_path):
    (tmp_path / "labels.jsonl").write_bytes(catalogue([{"id": "animal"}]))
    with pytest.raises(InputError, match=r"labels\.jsonl: is there already"):
        write(TEXTS, tmp_path / "a.jsonl")
    write(TEXTS, tmp_path / "a.jsonl", overwrite=True)
    assert read(tmp_path / "a.jsonl").label_texts.to_pylist() == ["Tier", ""]


@pytest.mark.parametrize("name", ["label_names.txt", "output-items.txt", "label_names.txt.gz"])
def test_a_file_of_plain_names_is_kept_and_texts_go_to_another_file(name, tmp_path):
    there = tmp_path / name
    there.write_bytes(COMPRESS.get(there.suffix, bytes)(b"animal\n"))
    before = there.read_bytes()
    write(TEXTS, tmp_path / "a.jsonl", overwrite=True)
    assert there.read_bytes() == before
    assert read(tmp_path / "a.jsonl").label_texts.to_pylist() == ["Tier", ""]
    (tmp_path / "labels.jsonl").unlink()
    there.write_bytes(COMPRESS.get(there.suffix, bytes)(b"plant\nanimal\n"))
    before = contents(tmp_path)
    with pytest.raises(LabelwoodError, match=f"{name} numbers the labels otherwise than labels.jsonl would beside it"):
        write(TEXTS, tmp_path / "a.jsonl", overwrite=True)
    assert contents(tmp_path) == before


def test_splits_that_share_their_labels_are_written_one_after_the_other(tmp_path):
    for names in (("train.txt", "test.txt"), ("trn.json", "tst.json"), ("a.jsonl", "b.jsonl")):
        folder = tmp_path / names[0]
        folder.mkdir()
        for name in names:
            write(TEXTS if "json" in name else NUMBERS, folder / name)


def test_label_features_of_other_labels_are_not_replaced(tmp_path):
    write(replace(NUMBERS, label_features=NUMBERS.sparse), tmp_path / "trn_X_Xf.txt")
    before = contents(tmp_path)
    write(replace(NUMBERS, label_features=NUMBERS.sparse), tmp_path / "tst_X_Xf.txt")
    with pytest.raises(InputError, match=r"lbl_X_Xf\.txt: is there already and says something else"):
        write(replace(NUMBERS, label_features=NUMBERS.sparse * 3), tmp_path / "val_X_Xf.txt")
    assert {name: contents(tmp_path)[name] for name in before} == before
    assert not (tmp_path / "val_X_Xf.txt").exists()


class Stopped(BaseException):
    """Stops at any call, like Ctrl-C."""


def stopping(monkeypatch, at):
    """Stops at one of the calls that change names: before it if `at` is even, right after it if `at` is odd."""
    calls = []

    def watched(function):
        def call(*arguments, **options):
            calls.append(function)
            if len(calls) == at // 2 + 1 and at % 2 == 0:
                raise Stopped
            result = function(*arguments, **options)
            if len(calls) == at // 2 + 1:
                raise Stopped
            return result

        return call

    monkeypatch.setattr(os, "link", watched(os.link))
    for name in ("rename", "replace"):
        monkeypatch.setattr(Path, name, watched(getattr(Path, name)))
    return calls


@pytest.mark.parametrize("name", MAIN)
@pytest.mark.parametrize("overwrite", [False, True])
def test_stopped_at_any_step_it_leaves_the_old_files_or_the_new_ones(name, overwrite, tmp_path):
    data = MAIN[name]
    other = OTHERS if data is NUMBERS else replace(TEXTS, texts=strings(["x", "y"]), Y=TEXTS.Y[[1, 0]])
    for at in range(100):
        folder = tmp_path / str(at)
        folder.mkdir()
        before = {}
        if overwrite:
            write(data, folder / name)
            before = contents(folder)
        with pytest.MonkeyPatch.context() as patch:
            calls = stopping(patch, at)
            try:
                write(other, folder / name, overwrite=overwrite)
            except Stopped:
                after = contents(folder)
            else:
                break
        if after != before:  # stopped after the last step
            assert read(folder / name).Y.toarray().tolist() == other.Y.toarray().tolist()
            assert not overwrite or len(before) == 1 or before.keys() == after.keys()
        assert not any(Path(file).name.startswith(".") for file in after)
    assert at // 2 == len(calls)
    assert at > 1


@pytest.mark.parametrize("name", MAIN)
def test_killed_at_any_step_it_leaves_no_mixture_under_the_names(name, tmp_path):
    data = MAIN[name]
    other = OTHERS if data is NUMBERS else replace(TEXTS, texts=strings(["x", "y"]), Y=TEXTS.Y[[1, 0]])
    for at in range(100):
        folder = tmp_path / str(at)
        folder.mkdir()
        write(data, folder / name)
        old = (folder / name).read_bytes()
        with pytest.MonkeyPatch.context() as patch:
            stopping(patch, at)
            for cleaning in ("_remove_published", "_restore", "_remove"):  # a killed process does not clean up
                patch.setattr(publishing, cleaning, lambda *_: None)
            try:
                write(other, folder / name, overwrite=True)
            except Stopped:
                pass
            else:
                break
        if (folder / name).exists():
            got = read(folder / name).Y.toarray().tolist()
            new = (folder / name).read_bytes() != old
            assert got == (other if new else data).Y.toarray().tolist()
        else:
            assert old in contents(folder).values()
