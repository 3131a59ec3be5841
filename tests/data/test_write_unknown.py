"""Fields that a dataset has no part for are written again or reported as left out; nothing is lost silently."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.data.samples import strings

from labelwood.data import Columns, Dataset, read, write
from labelwood.data.write import left_out, write_supported
from labelwood.errors import LabelwoodError

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LABELS = [
    '{"id": "n1", "text": "animal", "alt": ["beast", "Tier 日本"], "parents": [], "train_freq": 12}',
    '{"id": "n2", "text": "plant", "alt": [], "parents": ["n1"], "train_freq": 0, "used": false}',
]
ROWS = [
    '{"id": "a", "text": "a dog", "labels": ["n2", "n1"], "title": "Dogs", "year": 1899, "pages": [1], "none": null}',
    '{"id": 7, "text": "a rose", "labels": ["n1"], "title": "Roses", "year": 1900, "pages": []}',
]


@pytest.fixture
def described(tmp_path):
    """Rows and labels with other fields."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "labels.jsonl").write_text("\n".join(LABELS) + "\n")
    (folder / "train.jsonl").write_text("\n".join(ROWS) + "\n")
    return folder / "train.jsonl"


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def copied(path, target, **options):
    data = read(path, keep_unknown=True, **options)
    write(data, target)
    return target


def test_fields_of_rows_and_labels_are_written_as_they_were(described, tmp_path):
    (tmp_path / "out").mkdir()
    copied(described, tmp_path / "out" / "train.jsonl")
    assert records(tmp_path / "out" / "train.jsonl") == [json.loads(row) for row in ROWS]
    assert (tmp_path / "out" / "labels.jsonl").read_text().splitlines() == LABELS


def test_training_reads_no_other_fields(described):
    data = read(described)
    assert data.fields is None
    assert data.label_lines is None


def test_parquet_keeps_types_and_gives_them_back(described, tmp_path):
    for name in ("there", "back"):
        (tmp_path / name).mkdir()
    table = copied(described, tmp_path / "there" / "train.parquet")
    kinds = pq.read_schema(table)
    assert kinds.field("year").type == pa.int64()
    assert kinds.field("pages").type == pa.list_(pa.int64())
    copied(table, tmp_path / "back" / "train.jsonl")
    back = records(tmp_path / "back" / "train.jsonl")
    wanted = [json.loads(row) for row in ROWS]
    wanted[1] |= {"id": "7", "none": None}  # a column of ids has one type, and a missing value is null
    assert back == wanted
    assert (tmp_path / "back" / "labels.jsonl").read_text().splitlines() == LABELS


def test_csv_keeps_texts_and_numbers_and_refuses_lists_unless_they_are_dropped(described, tmp_path):
    (tmp_path / "out").mkdir()
    data = read(described, keep_unknown=True)
    with pytest.raises(LabelwoodError, match=r"the format csv cannot hold pages as the data has it.*drop=\['pages'\]"):
        write(data, tmp_path / "out" / "train.csv")
    assert list((tmp_path / "out").iterdir()) == []
    assert left_out(data, tmp_path / "out" / "train.csv") == ["pages"]
    write(data, tmp_path / "out" / "train.csv", drop=["pages"])
    lines = (tmp_path / "out" / "train.csv").read_text().splitlines()
    assert lines[0] == '"id","text","labels","title","year","none"'
    assert lines[1] == '"a","a dog","n2;n1","Dogs","1899",'


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
KNOWN = {"id", "text", "labels", "rows"}
FIELDS = st.dictionaries(st.text(max_size=5).filter(lambda name: name not in KNOWN), JSON, max_size=4)


def exact(text):
    """Parsed JSON that keeps the order of keys and the digits of numbers."""
    return json.loads(text, object_pairs_hook=lambda pairs: ("object", pairs), parse_float=str, parse_int=str)


@quick
@given(rows=st.lists(FIELDS, min_size=1, max_size=4), ascii_only=st.booleans())
def test_any_json_comes_back_from_json_lines(rows, ascii_only):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        lines = [json.dumps({"text": "x", **row}, ensure_ascii=ascii_only) for row in rows]
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        got = copied(path, Path(folder) / "b.jsonl").read_text("utf-8").split("\n")[:-1]
        assert [exact(line) for line in got] == [exact(line) for line in lines]


@quick
@given(rows=st.lists(FIELDS, min_size=1, max_size=4))
def test_parquet_keeps_json_fields_unchanged_or_names_those_it_cannot_hold(rows):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_text("".join(json.dumps({"text": "x", **row}) + "\n" for row in rows), "utf-8")
        data = read(path, keep_unknown=True)
        target = Path(folder) / "a.parquet"
        lost = left_out(data, target)
        write_supported(data, target, "parquet")
        found = pq.read_table(target).to_pylist()
        for row, got in zip(rows, found, strict=True):
            assert {name: value for name, value in row.items() if name not in lost} == {
                name: got[name] for name in row if name not in lost
            }
        names = {name for row in rows for name in row}
        assert set(found[0]) == {"text"} | names - set(lost)


def test_numbers_keep_their_digits_and_ids_their_kind(tmp_path):
    line = '{"id": 12345678901234567890123, "text": "x", "a": 1.10, "b": 1e400, "c": 100000000000000000000}'
    (tmp_path / "a.jsonl").write_text(line + "\n")
    assert copied(tmp_path / "a.jsonl", tmp_path / "b.jsonl").read_text() == line + "\n"


def test_rows_in_the_repositorys_format_are_read_back_unchanged(tmp_path):
    rows = [
        {"id": 7, "text": "a dog", "labels": ["x"]},
        {"id": "b", "text": "a rose", "labels": ["y", "x"]},
        {"id": 9, "text": "a cat", "labels": []},
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    copied(tmp_path / "a.jsonl", tmp_path / "trn.json")
    copied(tmp_path / "trn.json", tmp_path / "b.jsonl")
    assert records(tmp_path / "b.jsonl") == rows


def test_no_key_is_written_twice_into_an_object(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"uid": 5, "text": "a dog", "labels": ["x"]}\n')
    data = read(tmp_path / "a.jsonl", keep_unknown=True)
    assert left_out(data, tmp_path / "trn.json") == ["uid"]
    write(data, tmp_path / "trn.json", drop=["uid"])
    (row,) = (tmp_path / "trn.json").read_text().splitlines()
    names = [name for name, _ in json.loads(row, object_pairs_hook=list)]
    assert len(names) == len(set(names))
    copied(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert records(tmp_path / "b.jsonl") == records(tmp_path / "a.jsonl")


def test_values_for_each_label_stay_in_the_order_of_the_labels(tmp_path):
    rows = [
        '{"text": "x", "labels": ["a", "b"]}',
        '{"text": "y", "labels": ["b", "a", "b"], "sureness": [0.9, 0.1, 0.5]}',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(rows) + "\n")
    copied(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert records(tmp_path / "b.jsonl") == [json.loads(row) for row in rows]


def test_groups_keep_their_fields_and_those_of_their_rows(tmp_path):
    lines = [
        '{"id": 1, "rows": [{"id": "p1", "text": "a", "url": "u1"}, {"text": "b"}], "labels": ["x"], "date": "1899"}',
        '{"id": 2, "rows": [{"text": "c", "url": null}], "labels": ["y", "x"], "tags": []}',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    copied(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    got, wanted = records(tmp_path / "b.jsonl"), [json.loads(line) for line in lines]
    assert [{**group, "labels": sorted(group["labels"])} for group in got] == [
        {**group, "labels": sorted(group["labels"]), "rows": [{"id": "", **row} for row in group["rows"]]}
        for group in wanted
    ]
    copied(tmp_path / "b.jsonl", tmp_path / "c.parquet")
    assert pq.read_table(tmp_path / "c.parquet").to_pylist()[0]["rows"][0] == {"id": "p1", "text": "a", "url": "u1"}


def test_columns_of_csv_and_parquet_are_kept(tmp_path):
    (tmp_path / "a.csv").write_text('key,text,labels,year\n1,a,x,1899\n2,b,x;y,"19,00"\n')
    data = read(tmp_path / "a.csv", columns=Columns(id="key"), keep_unknown=True)
    write(data, tmp_path / "b.jsonl")
    assert records(tmp_path / "b.jsonl")[1] == {"id": "2", "text": "b", "labels": ["x", "y"], "year": "19,00"}
    table = pa.table({"text": ["a"], "when": pa.array([0], pa.timestamp("s")), "raw": pa.array([b"\0"])})
    pq.write_table(table, tmp_path / "c.parquet")
    data = read(tmp_path / "c.parquet", keep_unknown=True)
    assert left_out(data, tmp_path / "d.jsonl") == ["raw"]
    write(data, tmp_path / "d.jsonl", drop=["raw"])
    assert records(tmp_path / "d.jsonl") == [{"text": "a", "when": "1970-01-01 00:00:00.000"}]
    write(data, tmp_path / "e.parquet")
    assert pq.read_table(tmp_path / "e.parquet").to_pylist() == table.to_pylist()


@pytest.mark.parametrize(
    ("text", "lost", "kept"),
    [
        ("text,labels,,\na dog,x,,\na rose,y,1,2\n", [""], ["text", "labels"]),
        ("text,labels,x,x,year\na dog,x,1,2,3\na rose,y,4,5,6\n", ["x"], ["text", "labels", "year"]),
    ],
)
@pytest.mark.parametrize("name", ["b.jsonl", "b.csv", "b.parquet", "b.fasttext"])
def test_columns_that_share_a_name_are_left_out_and_reported(text, lost, kept, name, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    data = read(tmp_path / "a.csv", keep_unknown=True)
    lost = [*(kept[2:] if name == "b.fasttext" else []), *lost]
    assert left_out(data, tmp_path / name) == lost
    with pytest.raises(LabelwoodError, match="cannot hold"):
        write(data, tmp_path / name)
    write(data, tmp_path / name, drop=lost)
    got = read(tmp_path / name, keep_unknown=True)
    assert got.texts.to_pylist() == ["a dog", "a rose"]
    assert got.fields is None or got.fields.names() == kept[2:]
    assert left_out(got, tmp_path / "c.jsonl") == []


def test_columns_of_parquet_that_share_a_name_are_left_out_and_reported(tmp_path):
    columns = [pa.array(["a dog"]), pa.array([["x"]]), pa.array([1]), pa.array([2])]
    pq.write_table(pa.Table.from_arrays(columns, names=["text", "labels", "n", "n"]), tmp_path / "a.parquet")
    data = read(tmp_path / "a.parquet", keep_unknown=True)
    assert left_out(data, tmp_path / "b.jsonl") == ["n"]
    write(data, tmp_path / "b.jsonl", drop=["n"])
    assert records(tmp_path / "b.jsonl") == [{"text": "a dog", "labels": ["x"]}]
    assert read(tmp_path / "a.parquet").texts.to_pylist() == ["a dog"]  # as training reads it


def test_fields_beyond_the_limit_of_columns_are_left_out_and_reported(tmp_path):
    rows = [{"text": "x", f"f{i}": i} for i in range(1003)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = read(tmp_path / "a.jsonl", keep_unknown=True)
    for name in ("b.parquet", "b.csv"):
        assert left_out(data, tmp_path / name) == ["f1000", "f1001", "f1002"]
    write(data, tmp_path / "b.parquet", drop=["f1000", "f1001", "f1002"])
    assert pq.read_schema(tmp_path / "b.parquet").names == ["text", *(f"f{i}" for i in range(1000))]


def test_a_field_whose_name_the_output_needs_is_left_out_and_reported(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"title": "the title", "text": "the body"}\n')
    data = read(tmp_path / "a.jsonl", columns=Columns(text=("title",)), keep_unknown=True)
    assert left_out(data, tmp_path / "b.jsonl") == ["text"]
    with pytest.raises(LabelwoodError, match="text"):
        write(data, tmp_path / "b.jsonl")


def test_numbered_labels_keep_their_numbers_and_labels_beyond_them_their_names(tmp_path):
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    (tmp_path / "in" / "labels.jsonl").write_text(
        '{"id": 0, "text": "cat", "n": 5}\n{"id": 1, "text": "dog", "n": 6}\n'
    )
    (tmp_path / "in" / "a.jsonl").write_text('{"text": "x", "labels": ["dog", "eel"]}\n')
    copied(tmp_path / "in" / "a.jsonl", tmp_path / "out" / "a.jsonl")
    assert (tmp_path / "out" / "labels.jsonl").read_text().splitlines() == [
        '{"id": 0, "text": "cat", "n": 5}',
        '{"id": 1, "text": "dog", "n": 6}',
        '{"id": 2, "text": "eel"}',
    ]
    assert list(read(tmp_path / "out" / "a.jsonl").labels) == ["cat", "dog", "eel"]


def test_filters_are_written_where_readers_look_or_reported_as_left_out(tmp_path):
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    (tmp_path / "in" / "test.jsonl").write_text('{"text": "x", "labels": ["b"]}\n{"text": "y", "labels": ["a"]}\n')
    (tmp_path / "in" / "filter_test.txt").write_text("1 0\n")
    data = read(tmp_path / "in" / "test.jsonl")
    assert left_out(data, tmp_path / "out" / "rows.jsonl") == ["filters"]
    with pytest.raises(LabelwoodError, match=r"whose name has the word train or test.*or .*drop=\[\"filters\"\]"):
        write(data, tmp_path / "out" / "rows.jsonl")
    assert list((tmp_path / "out").iterdir()) == []
    write(data, tmp_path / "out" / "test.parquet")
    got = read(tmp_path / "out" / "test.parquet")
    assert got.filters.tolist() == [[1, 0]]
    assert list(got.labels) == list(data.labels)
    other = Dataset.from_texts(["z"], [["b"]])
    with pytest.raises(LabelwoodError, match="would be taken for the filter"):
        write(other, tmp_path / "out" / "test.csv")


def test_weights_ids_and_line_breaks_that_a_format_cannot_hold_are_refused_or_dropped_by_name(tmp_path):
    Y = Dataset.from_texts(["a\nb"], [["x"]]).Y * np.float32(0.5)
    data = Dataset(texts=["a\nb"], Y=Y, labels=["x"], ids=["i"])
    with pytest.raises(LabelwoodError, match="jsonl cannot hold weights"):
        write(data, tmp_path / "a.jsonl")
    write(data, tmp_path / "a.jsonl", drop=["weights"])
    assert records(tmp_path / "a.jsonl") == [{"id": "i", "text": "a\nb", "labels": ["x"]}]
    with pytest.raises(LabelwoodError, match="attentionxml cannot hold ids, weights, line_breaks"):
        write(data, tmp_path / "train_texts.txt")


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_a_label_without_a_name_is_refused_and_not_lost(name, tmp_path):
    data = Dataset(texts=["x"], Y=np.ones((1, 2)), labels=strings(["", "a"]))
    with pytest.raises(LabelwoodError, match="empty name"):
        write(data, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["test.jsonl", "test.csv", "test.parquet", "test.svm", "tst_X_Xf.txt", "test.txt", "X.tst.npz"]
)
def test_labels_whose_ids_are_other_numbers_keep_their_filters_and_their_rows(name, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    labels = [{"id": 7, "text": "oak"}, {"id": 0, "text": "elm"}, {"id": 1, "text": "ash"}]
    (folder / "labels.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    (folder / "test.jsonl").write_text('{"text": "x", "labels": [0]}\n{"text": "y", "labels": [7, 1]}\n')
    (folder / "filter_test.txt").write_text("0 7\n1 0\n")
    data = read(folder / "test.jsonl", keep_unknown=True)
    wanted = [["elm"], ["oak", "ash"]], [(0, "oak"), (1, "elm")]
    assert names_of(data) == wanted
    if not name.endswith((".jsonl", ".csv", ".parquet")):
        data = replace(data, texts=None, sparse=csr_array(np.eye(2, dtype=np.float32)))
    (tmp_path / "out").mkdir()
    write(data, tmp_path / "out" / name)
    assert names_of(read(tmp_path / "out" / name)) == wanted


def names_of(data):
    labels = [sorted(data.labels[j] for j in data.Y.indices[a:b])[::-1] for a, b in pairwise(data.Y.indptr)]
    return labels, [(int(row), data.labels[int(label)]) for row, label in data.filters]


def test_arrays_hold_the_ids_of_labels(tmp_path):
    labels = Dataset(dense=np.eye(2, dtype=np.float32), Y=np.eye(2), labels=["9", "4"])
    write(labels, tmp_path / "a.npz")
    assert np.load(tmp_path / "a.npz")["y_train"].tolist() == [9, 4]
    got = read(tmp_path / "a.npz")
    assert [got.labels[j] for j in got.Y.indices] == ["9", "4"]


def test_a_label_without_a_number_among_numbers_is_refused_where_only_numbers_can_be_written(tmp_path):
    data = Dataset(sparse=csr_array(np.eye(3, dtype=np.float32)), Y=np.eye(3), labels=["9", "4", "oak"])
    with pytest.raises(LabelwoodError, match="the label 'oak' has no number"):
        write(data, tmp_path / "a.svm")
    assert list(tmp_path.iterdir()) == []
