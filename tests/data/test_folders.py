"""Folders, and the files beside the data: splits, label files, filters."""

from __future__ import annotations

import lzma

import pytest
from tests.data.samples import listed, names_of

from labelwood.data import read
from labelwood.data.catalogue import read_catalogue
from labelwood.data.read import read_filter
from labelwood.data.source import Source
from labelwood.errors import InputError

ROW = '{"text": "a", "labels": [1]}\n'


def put(folder, **files):
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def labels_of(data):
    return [sorted(row) for row in names_of(data.Y, data.labels)]


@pytest.mark.parametrize(
    ("train", "test"),
    [
        ({"train__jsonl": ROW}, {"test__jsonl": ROW * 2}),
        ({"train__jsonl__xz": lzma.compress(ROW.encode())}, {"test__jsonl": ROW * 2}),
        ({"my_train__txt": "1 1 1\n0 0:1\n"}, {"my_test__txt": "2 1 1\n0 0:1\n0 0:1\n"}),
        ({"train__txt": "__label__x a\n"}, {"my_test__fasttext": "a\nb\n"}),
        ({"trn_X_Xf__txt": "1 1\n0:1\n"}, {"tst_X_Xf__txt": "2 1\n0:1\n0:1\n"}),
        (
            {"train_texts__txt": "a\n", "train_labels__txt": "x\n"},
            {"test_texts__txt": "a\nb\n", "test_labels__txt": "\ny\n"},
        ),
        (
            {"train_raw_texts__txt": "a\n", "train_labels__txt": "x\n"},
            {"test_raw_texts__txt": "a\nb\n", "test_labels__txt": "\ny\n"},
        ),
        (
            {"trn__json": '{"uid": "1", "title": "a", "target_ind": [0]}', "lbl__json": '{"uid": "L", "title": "t"}'},
            {"tst__json": '{"title": "a", "target_ind": []}\n' * 2},
        ),
    ],
)
def test_a_folders_split_is_found(train, test, tmp_path):
    put(tmp_path, **train, **test)
    assert len(read(tmp_path)) == 1
    data = read(tmp_path, split="test")
    assert len(data) == 2
    assert data.Y is not None or "tst_X_Xf__txt" in test


def test_a_plain_file_takes_precedence_over_its_compressed_copy(tmp_path):
    put(tmp_path, train__jsonl=ROW, train__jsonl__xz=lzma.compress(ROW.encode() * 2))
    assert len(read(tmp_path)) == 1


@pytest.mark.parametrize("split", ["test", "a(b", ".*"])
def test_a_folder_without_the_split_is_an_error(split, tmp_path):
    put(tmp_path, train__jsonl=ROW, filter_test__txt="0 0\n", x_a__csv="text\n")
    with pytest.raises(InputError, match="holds no file that is clearly the split"):
        read(tmp_path, split=split)


def test_two_files_of_one_split_are_an_error(tmp_path):
    put(tmp_path, a_train__csv="text\na\n", b_train__csv="text\na\n")
    with pytest.raises(InputError, match="name the file"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("catalogue", "names", "texts"),
    [
        ('{"id": 0, "text": "zero"}\n{"id": 1, "text": "one"}\n', ["zero", "one"], ["zero", "one"]),
        ('{"id": 0, "text": "same"}\n{"id": 1, "text": "same"}\n', ["same [0]", "same [1]"], ["same", "same"]),
        ('{"id": "n0"}\r\n{"id": "n1", "extra": [1]}', ["n0", "n1"], None),
        ('{"uid": "n0", "title": "t\\u2028"}\n{"uid": "n1", "title": ""}\n', ["n0", "n1"], ["t\u2028", ""]),
        ('{"id": 0, "name": "n0"}\n{"id": 1, "name": "n1"}\n', ["n0", "n1"], None),
        ("\ufeffzero\r\none", ["zero", "one"], None),
        ("same\nsame\n", ["same [0]", "same [1]"], None),
    ],
)
def test_labels_are_numbered_by_the_lines_of_a_catalogue(catalogue, names, texts, tmp_path):
    put(tmp_path, train__jsonl=ROW, labels__jsonl=catalogue)
    data = read(tmp_path)
    assert list(data.labels) == names
    assert listed(data.label_texts) == texts
    assert labels_of(data) == [[names[1]]]
    assert list(read(tmp_path / "train.jsonl", label_file=tmp_path / "labels.jsonl").labels) == names


def test_labels_given_by_name_join_the_catalogue(tmp_path):
    put(
        tmp_path,
        train__jsonl='{"text": "a", "labels": ["n1", "new"]}\n',
        labels__jsonl='{"id": "n0", "text": "t"}\n{"id": "n1"}\n',
    )
    data = read(tmp_path)
    assert list(data.labels) == ["n0", "n1", "new"]
    assert listed(data.label_texts) == ["t", "", ""]
    assert data.Y.toarray().tolist() == [[0, 1, 1]]


@pytest.mark.parametrize(
    ("catalogue", "line", "words"),
    [
        ('{"id": "a"}\n{"id": "b"}\n{"id": "a"}\n', 3, "described twice, first in line 1"),
        ('{"id": "a"}\n\n{"id": "b"}\n', 2, "empty"),
        ('{"id": "a"}\n{"text": "b"}\n', 2, 'no "id"'),
        ('{"id": "a"}\n{"id": ["b"]}\n', 2, 'no "id"'),
        ('{"id": 0}\n{"id": true}\n', 2, 'no "id"'),
        ('{"id": 7}\n{"id": 8}\n{"id": 7}\n', 3, "described twice, first in line 1"),
        ('{"id": "a"}\n{"text": "b", "labels": ["a"]}\n', 2, "a row of data"),
        (b'{"id": "a"}\n\0', None, "not text"),
        ('{"id": "a"}\n[]\n', 2, "not a JSON object"),
        ('{"id": "a"}\n{oops\n', 2, "not JSON"),
        ('{"id": "a"}\n{"id": "\\ud800"}\n', 2, "surrogate"),
        ('{"id": "a"}\n{"id": ' + "[" * 100_000 + "\n", 2, "not JSON"),
        (b'{"id": "a"}\n\xff\n', 2, "not UTF-8"),
        ("a\n \nb\n", 2, "empty"),
    ],
)
def test_the_line_of_a_catalogue_at_fault_is_named(catalogue, line, words, tmp_path):
    put(tmp_path, labels__jsonl=catalogue)
    with pytest.raises(InputError, match="labels.jsonl" + (f", line {line}: " if line else ": ")) as caught:
        read_catalogue(Source(tmp_path / "labels.jsonl"))
    assert words in str(caught.value)


def test_a_catalogue_must_have_as_many_labels_as_the_data(tmp_path):
    put(tmp_path, label_names__txt="a\nb\n", train__txt="1 1 3\n0 0:1\n", rows__jsonl='{"text": "a", "labels": [2]}')
    with pytest.raises(InputError, match=r"train.txt, line 1: has 3 labels but .*label_names.txt names 2"):
        read(tmp_path / "train.txt")
    with pytest.raises(InputError, match=r"rows.jsonl, line 1: label 2 is out of range: .*label_names.txt describes 2"):
        read(tmp_path / "rows.jsonl")


def test_raw_texts_need_their_labels_file(tmp_path):
    put(tmp_path, trn__json='{"title": "a", "target_ind": [0]}')
    with pytest.raises(InputError, match=r"lbl\.json is not beside it"):
        read(tmp_path)
    put(tmp_path, names__txt="only\n")
    assert labels_of(read(tmp_path, label_file=tmp_path / "names.txt")) == [["only"]]


def test_texts_and_labels_that_do_not_belong_together(tmp_path):
    put(tmp_path, train_texts__txt="a\nb\n", train_labels__txt="x\n")
    with pytest.raises(InputError, match=r"train_labels.txt: has 1 lines where .*train_texts.txt has 2"):
        read(tmp_path)
    put(tmp_path, train_labels__txt=b"x\n\xff\n")
    with pytest.raises(InputError, match=r"train_labels.txt, line 2: is not UTF-8"):
        read(tmp_path)


def test_filters_are_found_by_split_or_named(tmp_path):
    put(tmp_path, test__jsonl=ROW * 3, train__jsonl=ROW, filter_test__txt="2 1\r\n\n0 1", other__txt="1 1\n")
    assert read(tmp_path, split="test").filters.tolist() == [[2, 0], [0, 0]]
    assert read(tmp_path).filters is None
    assert read(tmp_path, split="test", filter_file=tmp_path / "other.txt").filters.tolist() == [[1, 0]]
    put(tmp_path, filter_labels_test__txt="")
    assert read(tmp_path, split="test").filters.shape == (0, 2)


@pytest.mark.parametrize(
    "line", ["3 0", "0 2", "-1 0", "0", "0 1 0 1", "a b", "0 1.0", "0 " + "9" * 30, "1_0 0", "0\v1"]
)
def test_a_malformed_filter_pair_is_named(line, tmp_path):
    for text, number in ((f"0 0\n\n{line}\n1 1\n", 3), (f"{line}\n{line}\n", 1)):
        put(tmp_path, f=text)
        with pytest.raises(InputError, match=f"line {number}: is not a row below 3 and a label below 2"):
            read_filter(Source(tmp_path / "f"), 3, 2)


def test_files_of_no_known_format_and_empty_files_are_named(tmp_path):
    put(tmp_path, a="hello world\n", b="")
    with pytest.raises(InputError, match="name it with --format"):
        read(tmp_path / "a")
    with pytest.raises(InputError, match="is empty"):
        read(tmp_path / "b")
