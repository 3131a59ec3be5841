"""Groups of rows: as records, by a column of single rows, as arguments of callers, and with numbers beside labels."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.data.samples import assert_same, grouped, listed, names_of, strings
from tests.data.test_fuzz import mutations, outcome, quick

from labelwood.data import Columns, Dataset, Groups, read, read_batches, source, write
from labelwood.data.groups import check_groups, grouped_labels, rows_with_labels
from labelwood.errors import InputError, LabelwoodError, ParameterError

BY_PAGE = Columns(group="page")
ROWS = [
    {"id": "1", "page": "home", "text": "a dog", "labels": ["animal", "plant"]},
    {"id": "2", "page": "news", "text": "a coin", "labels": ["money", "money"]},
    {"id": "3", "page": "home", "text": "a rose", "labels": ["animal", "plant"]},
    {"id": "4", "page": "news", "text": "a bank", "labels": []},
]


def as_jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_csv(rows):
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row, "labels": ";".join(row["labels"])} for row in rows)
    return out.getvalue().encode()


def as_parquet(rows):
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


AS = {"rows.jsonl": as_jsonl, "rows.csv": as_csv, "rows.parquet": as_parquet}


def read_rows(folder, rows, name="rows.jsonl", columns=BY_PAGE):
    (folder / name).write_bytes(AS[name](rows))
    return read(folder / name, columns=columns)


@pytest.mark.parametrize("name", AS)
def test_rows_with_one_group_name_are_one_group_wherever_they_stand(name, tmp_path):
    data = read_rows(tmp_path, ROWS, name)
    assert data.Y is None
    assert listed(data.texts) == ["a dog", "a coin", "a rose", "a bank"]
    assert listed(data.ids) == ["1", "2", "3", "4"]
    assert data.groups.of_row.tolist() == [0, 1, 0, 1]
    assert listed(data.groups.ids) == ["home", "news"]


@pytest.mark.parametrize("name", AS)
def test_a_label_counts_as_often_as_the_row_that_repeats_it_most(name, tmp_path):
    data = read_rows(tmp_path, ROWS, name)
    assert names_of(data.groups.Y, data.labels) == [{"animal": 1, "plant": 1}, {"money": 2}]


def test_groups_reach_across_blocks_of_a_file(tmp_path, monkeypatch):
    whole = read_rows(tmp_path, ROWS * 3)
    monkeypatch.setattr(source, "_BLOCK", 10)
    assert len(list(read_batches(tmp_path / "rows.jsonl", columns=BY_PAGE))) == 12
    assert_same(read(tmp_path / "rows.jsonl", columns=BY_PAGE), whole)
    assert whole.groups.of_row.tolist() == [0, 1, 0, 1] * 3


def test_numbers_name_groups_too_and_mix_with_strings(tmp_path):
    rows = [{"text": "a", "page": 7}, {"text": "b", "page": "7"}, {"text": "c", "page": "x"}]
    assert read_rows(tmp_path, rows).groups.of_row.tolist() == [0, 0, 1]
    table = {"text": ["a", "b", "c"], "page": [10**12, 3, 10**12]}
    pq.write_table(pa.table(table), tmp_path / "n.parquet")
    groups = read(tmp_path / "n.parquet", columns=BY_PAGE).groups
    assert (groups.of_row.tolist(), listed(groups.ids)) == ([0, 1, 0], ["1000000000000", "3"])


@given(pages=st.lists(st.sampled_from("abc"), min_size=1, max_size=8), seed=st.integers(0, 99))
@settings(deadline=None)
def test_a_group_has_every_label_that_a_row_of_it_has(tmp_path_factory, pages, seed):
    rng = np.random.default_rng(seed)
    rows = [{"text": "t", "page": page, "labels": rng.choice(list("xyz"), rng.integers(4)).tolist()} for page in pages]
    data = read_rows(tmp_path_factory.mktemp("groups"), rows)
    for number, page in enumerate(listed(data.groups.ids)):
        assert [pages[i] for i in np.flatnonzero(data.groups.of_row == number)] == [page] * pages.count(page)
        mine = [row["labels"] for row in rows if row["page"] == page]
        wanted = {label: max(labels.count(label) for labels in mine) for label in {name for m in mine for name in m}}
        assert names_of(data.groups.Y, data.labels)[number] == wanted


@pytest.mark.parametrize(("suffix", "packed"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
def test_the_rows_of_a_group_may_be_called_anything(suffix, packed, tmp_path):
    path = tmp_path / f"pages.jsonl{suffix}"
    path.write_bytes(
        packed(b'{"id": "p", "texts": ["a", "b"], "labels": ["x", "x"]}\n{"texts": ["c"], "labels": []}\n')
    )
    data = read(path, columns=Columns(rows="texts"))
    assert listed(data.texts) == ["a", "b", "c"]
    assert data.groups.of_row.tolist() == [0, 0, 1]
    assert names_of(data.groups.Y, data.labels) == [{"x": 2}, {}]
    assert listed(data.groups.ids) == ["p", ""]


def test_parquet_holds_the_rows_of_groups_as_lists_of_strings(tmp_path):
    for rows in ([["a", "b"], []], pa.array([["a", "b"], []], pa.list_(pa.dictionary(pa.int8(), pa.string())))):
        pq.write_table(pa.table({"texts": rows, "labels": [["x"], ["y"]]}), tmp_path / "pages.parquet")
        data = read(tmp_path / "pages.parquet", columns=Columns(rows="texts"))
        assert listed(data.texts) == ["a", "b"]
        assert data.groups.Y.shape == (2, 2)


@pytest.mark.parametrize("name", AS)
@pytest.mark.parametrize(
    ("changes", "columns", "words"),
    [
        ({"page": ""}, BY_PAGE, "has no group: 'page'"),
        ({}, Columns(group="pge"), "no column 'pge'"),
        ({}, Columns(rows="texts"), "no column 'texts'"),
    ],
)
def test_malformed_groups_are_refused(name, changes, columns, words, tmp_path):
    with pytest.raises(InputError, match=words) as caught:
        read_rows(tmp_path, [ROWS[0], ROWS[1] | changes], name, columns)
    assert name in str(caught.value)


@pytest.mark.parametrize("name", AS)
@quick
@given(mutate=mutations())
def test_mutations_of_rows_in_groups_are_read_or_refused_in_a_sentence(tmp_path_factory, name, mutate):
    path = tmp_path_factory.mktemp("mutated") / name
    path.write_bytes(mutate(AS[name](ROWS)))
    outcome(path, columns=BY_PAGE)


@pytest.mark.parametrize(
    ("groups", "labels"),
    [
        (["b", "a", "b"], {"a": ["y"], "b": ["x", "x"]}),
        ([1, 0, 1], [["y"], ["x", "x"]]),
        ([1, 0, 1], {0: ["y"], 1: ["x", "x"]}),
    ],
)
def test_callers_give_names_or_numbers_of_groups(groups, labels):
    of_row, counts, index = grouped_labels(groups, labels)
    assert list(of_row) == [1, 0, 1]
    assert names_of(counts, index) == [{"y": 1}, {"x": 2}]


def test_a_matrix_of_counts_stays_unchanged():
    counts = sparse.csr_array([[2.0, 0.0]])
    groups, same, index = grouped_labels([0], counts)
    assert same is counts
    assert (groups, list(index)) == ([0], ["0", "1"])


@pytest.mark.parametrize(
    ("groups", "labels", "words"),
    [
        (["a", "c"], {"a": ["x"]}, "row 1 is in the group 'c'"),
        ([0], ["x"], "labels of group 0 are not a list"),
        ([0], [[1.5]], "group 0 has a label that is not a name"),
        ([0], None, "list of names for each group"),
    ],
)
def test_group_labels_of_a_wrong_type_are_an_error(groups, labels, words):
    with pytest.raises(LabelwoodError, match=words):
        grouped_labels(groups, labels)


def groups_of(of_row, names, group_ids=None, **parts):
    _, Y, labels = grouped_labels(of_row, names)
    groups = Groups(np.array(of_row), Y, None if group_ids is None else strings(group_ids))
    return Dataset(labels=labels, groups=groups, **parts)


def test_a_group_with_labels_but_no_rows_is_named():
    with pytest.raises(LabelwoodError, match=r"group 2 \('news'\) has labels but no rows"):
        check_groups(groups_of([0], [["x"], ["x"]], ["home", "news"], texts=["a"]))
    assert check_groups(groups_of([0], [["x"], []], texts=["a"])).Y.shape == (2, 1)


def test_labels_that_only_the_catalogue_has_get_a_column():
    data = groups_of([0], [["x"]], texts=["a"])
    data.labels.add(["y"])
    assert check_groups(data).Y.shape == (1, 2)


def test_rows_are_named_after_their_group():
    data = groups_of([0, 1, 0], [["x"], ["x"]], ["home", ""], texts=["a", "b", "c"])
    rows = rows_with_labels(data, [[1], [0], [1]])
    assert listed(rows.ids) == ["home#0", "1#0", "home#1"]
    assert rows.groups is None
    assert rows.Y.toarray().tolist() == [[1], [0], [1]]
    named = groups_of([0, 1, 0], [["x"], ["x"]], texts=["a", "b", "c"], ids=strings(["p", "q", ""]))
    assert listed(rows_with_labels(named, [[1], [0], [1]]).ids) == ["0#p", "1#q", "0#1"]


@given(data=grouped())
@settings(deadline=None)
def test_rows_of_any_groups_get_distinct_ids(data):
    assume(all(np.bincount(data.groups.of_row, minlength=data.groups.Y.shape[0])))
    rows = rows_with_labels(data, sparse.csr_array((len(data), data.n_labels), dtype=np.float32))
    assert len(set(listed(rows.ids))) == len(data)
    assert listed(rows.texts) == listed(data.texts)


VALUED = Dataset.from_texts(["a", "b", "c"], [["x", "y"], [], ["y"]])
SURE = sparse.csr_array(([0.25, 0.0, 1.0], VALUED.Y.indices, VALUED.Y.indptr), shape=VALUED.Y.shape)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.csv", "rows.tsv.xz", "rows.parquet"])
def test_numbers_beside_labels_are_written_and_ignored_by_readers(name, tmp_path):
    assert write(VALUED, tmp_path / name, values={"sureness": SURE}) == [tmp_path / name]
    assert_same(read(tmp_path / name), VALUED)


def test_numbers_stand_in_the_order_of_labels(tmp_path):
    write(VALUED, tmp_path / "rows.jsonl", values={"sureness": SURE})
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert rows[0] == {"text": "a", "labels": ["x", "y"], "sureness": [0.25, 0.0]}
    assert [row["sureness"] for row in rows[1:]] == [[], [1.0]]
    write(VALUED, tmp_path / "rows.csv", values={"sureness": SURE})
    assert (tmp_path / "rows.csv").read_text().splitlines()[1] == '"a","x;y","0.25;0"'


def test_formats_that_cannot_hold_them_are_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ParameterError, match=r"fasttext cannot hold numbers.*jsonl"):
        write(VALUED, tmp_path / "rows.fasttext", values={"sureness": SURE})
    assert list(tmp_path.iterdir()) == []
