"""Whole numbers among labels: ids of the label file if its ids are whole numbers, else the numbers of its lines."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.data.samples import names_of

from labelwood.data import read, read_batches, source
from labelwood.errors import InputError, ParameterError

IDS = ["3", "1", "10", "0", "7"]  # whole numbers, and none in its own line
TEXTS = ["karaoke", "prison", "opera", "jazz", "choir"]
OF_ID = dict(zip(map(int, IDS), TEXTS, strict=True))


def catalogue(folder, **rows):
    names = list(rows)
    lines = [dict(zip(names, values, strict=True)) for values in zip(*rows.values(), strict=True)]
    (folder / "labels.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_rows(folder, name, labels):
    """Writes one row per list of labels, in the format that the name determines."""
    path = folder / name
    if name.endswith(".jsonl"):
        path.write_text("".join(json.dumps({"text": "a", "labels": row}) + "\n" for row in labels))
    elif name.endswith(".parquet"):
        pq.write_table(pa.table({"text": ["a"] * len(labels), "labels": labels}), path)
    elif name.endswith(".svm"):
        path.write_text("".join(",".join(map(str, row)) + " 1:1\n" for row in labels))
    elif name.endswith(".fasttext"):
        path.write_text("".join(" ".join(f"__label__{label}" for label in row) + " a\n" for row in labels))
    else:
        path.write_text("text,labels\n" + "".join("a," + ";".join(map(str, row)) + "\n" for row in labels))
    return path


def labels_of(data):
    return [sorted(row) for row in names_of(data.Y, data.labels)]


def texts_of(data):
    return [sorted(OF_ID[int(name)] if name.isdigit() else name for name in row) for row in labels_of(data)]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet", "rows.svm", "rows.fasttext", "rows.csv"])
@pytest.mark.parametrize("kind", [str, int])
def test_numbers_are_the_ids_that_the_catalogue_has(name, kind, tmp_path):
    catalogue(tmp_path, id=[kind(label) for label in IDS], text=TEXTS)
    path = write_rows(tmp_path, name, [[3], [10, 7], [0]])
    data = read(path)
    assert texts_of(data) == [["karaoke"], ["choir", "opera"], ["jazz"]]
    assert data.n_labels == 5


def test_ids_are_read_as_ids_whatever_the_name_says(tmp_path):
    catalogue(tmp_path, id=IDS, name=TEXTS)
    for name in ("rows.jsonl", "rows.csv", "rows.fasttext", "rows.svm"):
        data = read(write_rows(tmp_path, name, [[3], [10, 7]]))
        assert labels_of(data) == [["karaoke"], ["choir", "opera"]]
        assert data.n_labels == 5


@pytest.mark.parametrize("label", [4, 99])
def test_a_number_that_is_not_an_id_is_an_error_that_names_both_fixes(label, tmp_path):
    catalogue(tmp_path, id=IDS, name=TEXTS)
    path = write_rows(tmp_path, "rows.jsonl", [[3], [label]])
    with pytest.raises(
        InputError, match=rf"rows.jsonl, line 2: label {label} is not an id in .*labels.jsonl"
    ) as caught:
        read(path)
    fixes = "add it to that file, or say --no-label-file if that file is for other data"
    assert fixes in str(caught.value)
    last = "; --label-numbers lines would take all labels as line numbers, this one as 'choir'"
    assert (fixes + last in str(caught.value)) == (label == 4)
    with pytest.raises(InputError, match=r"add it to that file(?!, or say --no-label-file)"):
        read(path, label_file=tmp_path / "labels.jsonl")
    if label == 4:
        data = read(path, label_numbers="lines")
        assert labels_of(data) == [["jazz"], ["choir"]]


@pytest.mark.parametrize("size", [1 << 20, 30])
def test_numbers_that_mostly_match_ids_are_not_read_as_lines(size, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_BLOCK", size)
    catalogue(tmp_path, id=[str(7 * line + 7) for line in range(200)])
    path = write_rows(tmp_path, "rows.jsonl", [[7 * i] for i in range(1, 20)] + [[8]])
    with pytest.raises(InputError, match=r"label 8 is not an id in .*add it to that file"):
        read(path)
    with pytest.raises(InputError, match=r"19 of 20 labels are ids in .*; leave out --label-numbers lines"):
        read(path, label_numbers="lines")
    data = read(write_rows(tmp_path, "rows.jsonl", [[i] for i in range(20)]), label_numbers="lines")
    assert labels_of(data)[3] == ["28"]


def test_ids_with_zeros_before_them_are_numbers_too(tmp_path):
    catalogue(tmp_path, id=[f"{number:03}" for number in range(1, 101)])
    for name in ("rows.jsonl", "rows.parquet", "rows.svm"):
        data = read(write_rows(tmp_path, name, [[5], [17, 100]]))
        assert labels_of(data) == [["005"], ["017", "100"]]


def test_ids_that_differ_only_in_leading_zeros_are_not_numbers(tmp_path):
    catalogue(tmp_path, id=["07", "7", "007", "x"])
    assert labels_of(read(write_rows(tmp_path, "rows.jsonl", [[0], [1]]))) == [["07"], ["7"]]


def test_numbers_are_lines_if_labels_have_names_even_if_one_name_is_a_number(tmp_path):
    catalogue(tmp_path, id=["vim", "2", "emacs", "nano"])
    path = write_rows(tmp_path, "rows.jsonl", [[0], [2, 3]])
    data = read(path)
    assert labels_of(data) == [["vim"], ["emacs", "nano"]]


def test_ambiguous_numbers_are_an_error_unless_the_caller_says_what_they_are(tmp_path, monkeypatch):
    catalogue(tmp_path, id=["vim", "2", "emacs", "nano"])
    path = write_rows(tmp_path, "rows.jsonl", [[2], [2]])
    monkeypatch.setattr(source, "_BLOCK", 30)
    for reading in (read, lambda path: list(read_batches(path))):
        with pytest.raises(InputError, match=r"label 2 may be the id of '2' or the line number of 'emacs' in"):
            reading(path)
    for meaning, name in (("lines", "emacs"), ("ids", "2")):
        data = read(path, label_numbers=meaning)
        assert labels_of(data) == [[name], [name]]
    with pytest.raises(ParameterError, match="--label-numbers"):
        read(path, label_numbers="names")


@pytest.mark.parametrize(
    "labels", [[[0], [2], [3]], [[0], [2], [2]], [[2], [2], [0]], [[2], [2], [2]], [[0], [9], [2]]]
)
@pytest.mark.parametrize("ids", [["vim", "2", "emacs", "nano"], ["0", "2", "3", "9"], ["5", "6", "7", "8"]])
def test_the_meaning_of_numbers_does_not_depend_on_blocks(labels, ids, tmp_path, monkeypatch):
    catalogue(tmp_path, id=ids)
    path = write_rows(tmp_path, "rows.jsonl", labels)
    outcomes = []
    for size in (1 << 20, 30):
        monkeypatch.setattr(source, "_BLOCK", size)
        for reading in (lambda: [read(path)], lambda: list(read_batches(path))):
            try:
                pieces = reading()
                outcomes.append([row for data in pieces for row in labels_of(data)])
            except InputError as e:
                outcomes.append(str(e))
    assert all(outcome == outcomes[0] for outcome in outcomes)


def test_labels_of_the_extreme_classification_formats_are_always_lines(tmp_path):
    catalogue(tmp_path, id=IDS, name=TEXTS)
    (tmp_path / "train.txt").write_text("2 1 5\n3 0:1\n1,4 0:1\n")
    data = read(tmp_path / "train.txt")
    assert labels_of(data) == [["jazz"], ["choir", "prison"]]
    (tmp_path / "labels.jsonl").rename(tmp_path / "lbl.json")
    (tmp_path / "trn.json").write_text('{"title": "a", "target_ind": [3]}\n')
    data = read(tmp_path / "trn.json")
    assert labels_of(data) == [["jazz"]]


def test_filters_mean_the_same_labels_as_the_rows(tmp_path):
    catalogue(tmp_path, id=IDS, name=TEXTS)
    (tmp_path / "filter_test.txt").write_text("0 10\n1 0\n")
    data = read(write_rows(tmp_path, "test.jsonl", [[3], [10]]))
    assert data.filters.tolist() == [[0, 2], [1, 3]]
    (tmp_path / "filter_test.txt").write_text("0 4\n")
    with pytest.raises(InputError, match=r"filter_test.txt: label 4 is not an id"):
        read(tmp_path / "test.jsonl")


def test_an_id_that_is_another_labels_name_is_an_error(tmp_path):
    catalogue(tmp_path, id=["a", "b"], name=["b", "c"])
    with pytest.raises(InputError, match=r"the label 'b' is the id of 'c' .* also the name of another label"):
        read(write_rows(tmp_path, "rows.jsonl", [["b"]]))


def test_arrays_of_numbers_are_ids_too(tmp_path):
    catalogue(tmp_path, id=[5, 6], text=["five", "six"])
    np.savez(tmp_path / "a.npz", x_train=np.ones((2, 1)), y_train=np.array([6, 5]))
    data = read(tmp_path / "a.npz")
    assert labels_of(data) == [["six"], ["five"]]


# Label files found beside the data, and label files that the caller names.


def test_training_data_is_not_accepted_as_a_label_file(tmp_path):
    rows = write_rows(tmp_path, "rows.jsonl", [["x"]])
    other = write_rows(tmp_path, "other.jsonl", [["x"]])
    with pytest.raises(InputError, match="is the data itself"):
        read(rows, label_file=rows)
    with pytest.raises(InputError, match=r"other.jsonl, line 1: is a row of data, not a description of a label"):
        read(rows, label_file=other)


@pytest.mark.parametrize("content", [b"A text to read.\nIt has lines.\n", b"\x7fELF\0\0\0", b"\xff\xfe\n"])
def test_a_label_file_with_none_of_the_labels_is_refused(content, tmp_path):
    rows = write_rows(tmp_path, "rows.jsonl", [["x"]])
    (tmp_path / "readme").write_bytes(content)
    with pytest.raises(InputError, match="readme"):
        read(rows, label_file=tmp_path / "readme")
    with pytest.raises(InputError, match="readme"):
        list(read_batches(rows, label_file=tmp_path / "readme"))


def test_batches_ignore_a_label_file_of_other_data_as_read_does(tmp_path):
    rows = write_rows(tmp_path, "rows.jsonl", [["x"], ["y"]])
    catalogue(tmp_path, id=["book", "film"])
    assert [list(data.labels) for data in (read(rows), *read_batches(rows))] == [["x", "y"]] * 2
    assert read(rows).label_file is None


@pytest.mark.parametrize(
    ("name", "content", "labels"),
    [
        ("rows.txt", "1 1 2\n1 0:1\n", "a\nb\nc\n"),
        ("rows.svm", "7 0:1\n1 0:1\n0 0:1\n", "a\nb\nc\n"),
        ("rows.jsonl", '{"text": "a", "labels": ["x"]}\n', '{"id": "a"}\n{"id": "a"}\n'),
        ("rows.jsonl", '{"text": "a", "labels": ["x"]}\n', '{"id": "a"}\n{"key": "a"}\n'),
    ],
)
def test_an_error_in_a_label_file_beside_the_data_names_the_option_to_ignore_it(name, content, labels, tmp_path):
    (tmp_path / name).write_text(content)
    path = tmp_path / ("labels.jsonl" if labels.startswith("{") else "label_names.txt")
    path.write_text(labels)
    with pytest.raises(InputError, match=r", or say --no-label-file if that file is for other data$"):
        read(tmp_path / name)
    with pytest.raises(InputError) as caught:
        read(tmp_path / name, label_file=path)
    assert "--no-label-file" not in str(caught.value)
    assert len(read(tmp_path / name, label_file=False)) > 0


def test_predict_ignores_a_label_file_beside_the_rows(labelwood, model, tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    rows = write_rows(folder, "rows.jsonl", [["a", "b", "c"]])
    catalogue(folder, id=["a", "x"])
    assert labelwood("info", rows).status == 2
    assert labelwood("predict", model, rows).status == 0


def test_a_label_file_beside_the_data_is_used_unless_told_not_to(tmp_path):
    rows = write_rows(tmp_path, "rows.jsonl", [["x"]])
    catalogue(tmp_path, id=["w", "x"], text=["one", "two"])
    assert read(rows).label_file == str(tmp_path / "labels.jsonl")
    plain = read(rows, label_file=False)
    assert (list(plain.labels), plain.label_texts, plain.label_file) == (["x"], None, None)
