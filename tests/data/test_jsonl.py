"""JSON lines: Arrow's parser and Python's agree for all types of values."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.data.samples import COMPRESS, TEXTS, assert_same, listed, names_of

from labelwood.data import Columns, read, read_batches, source
from labelwood.data.formats import jsonl
from labelwood.data.joining import concat
from labelwood.errors import InputError

NAMES = st.text(min_size=1, max_size=5).filter(str.strip)
LABELS = st.sampled_from(
    [
        st.lists(NAMES, max_size=3),
        st.lists(st.integers(0, 30), max_size=3),
        st.integers(0, 30),
        st.lists(st.text("abc", min_size=1), max_size=3).map(";".join),
    ]
)
IDS = st.sampled_from([st.integers(-(2**62), 2**62), st.text(max_size=3)])


@st.composite
def records(draw):
    """Rows in which each column has one type; labels and ids may be null or missing."""
    labels, ids = draw(LABELS), draw(IDS)
    optional = {"labels": labels | st.none(), "id": ids | st.none(), "other": st.none() | st.integers() | st.text()}
    rows = st.fixed_dictionaries({"text": TEXTS}, optional=optional)
    return draw(st.lists(rows, min_size=1, max_size=8))


def lines_of(rows, ascii_only=False):
    return "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows).encode()


def read_lines(folder, data, **options):
    (folder / "rows.jsonl").write_bytes(data)
    return read(folder / "rows.jsonl", **options)


@settings(max_examples=120, deadline=None)
@given(rows=records(), ascii_only=st.booleans())
@example(rows=[{"text": "target_ind"}], ascii_only=False)  # a key of another format
def test_arrow_and_python_parse_the_same(tmp_path_factory, rows, ascii_only):
    folder = tmp_path_factory.mktemp("ways")
    data = lines_of(rows, ascii_only)
    either = read_lines(folder, data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "_fast_table", lambda *_: None)
        slow = read_lines(folder, data)
    assert_same(either, slow)
    assert listed(either.texts) == [row["text"] for row in rows]
    if any("labels" in row for row in rows):
        assert [set(row) for row in names_of(either.Y, either.labels)] == [names(row.get("labels")) for row in rows]


def names(labels):
    if labels is None:
        return set()
    if isinstance(labels, str):
        return set(labels.split(";")) - {""}
    return {str(label) for label in (labels if isinstance(labels, list) else [labels])}


@settings(max_examples=40, deadline=None)
@given(rows=records(), size=st.integers(1, 200))
def test_block_borders_change_nothing(tmp_path_factory, rows, size):
    folder = tmp_path_factory.mktemp("borders")
    whole = read_lines(folder, lines_of(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "_BLOCK", size)
        pieces = read_lines(folder, lines_of(rows))
        batches = concat(read_batches(folder / "rows.jsonl"))
    for got in (pieces, batches):
        if got.ids is None and whole.ids is not None:  # every block had only null ids
            assert set(listed(whole.ids)) == {""}
        else:
            assert listed(got.ids) == listed(whole.ids)
        assert listed(got.texts) == listed(whole.texts)
        assert (got.Y is None) == (whole.Y is None)
        if got.Y is not None:
            assert names_of(got.Y, got.labels) == names_of(whole.Y, whole.labels)


def test_arrow_parses_plain_records(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl, "_slow_table", lambda *_: pytest.fail("slow"))
    for labels in (["a", "b"], [1, 2], 3, "a;b"):
        read_lines(tmp_path, lines_of([{"id": 1, "text": "x", "labels": labels, "more": {"deep": [1, None]}}] * 3))


@pytest.mark.parametrize("column", ["labels", "id"])
def test_a_column_that_begins_late_is_not_lost(column, tmp_path):
    rows = [{"text": f"row {i}"} for i in range(100)]
    rows[99][column] = "late"
    got = read_lines(tmp_path, lines_of(rows))
    assert got.Y.nnz == 1 if column == "labels" else got.ids[99].as_py() == "late"


def test_the_id_of_a_groups_row_that_begins_late_is_not_lost(tmp_path):
    rows = [{"id": i, "rows": [{"text": "x"}], "labels": ["a"]} for i in range(100)]
    rows[99]["rows"] = [{"text": "y", "id": "late"}]
    assert read_lines(tmp_path, lines_of(rows)).ids[99].as_py() == "late"


def test_types_may_change_between_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_BLOCK", 1)
    rows = [{"text": "a", "id": 1}, {"text": "b", "labels": ["x"], "id": "p"}, {"text": "c", "labels": 7}]
    got = read_lines(tmp_path, lines_of([row for row in rows for _ in range(5)]))
    assert listed(got.ids) == ["1"] * 5 + ["p"] * 5 + [""] * 5
    assert [set(row) for row in names_of(got.Y, got.labels)] == [set()] * 5 + [{"x"}] * 5 + [{"7"}] * 5


def test_ids_may_be_numbers_and_strings_in_one_file(tmp_path):
    got = read_lines(tmp_path, lines_of([{"text": "a", "id": 1}, {"text": "b", "id": "x"}, {"text": "c"}]))
    assert listed(got.ids) == ["1", "x", ""]


def test_empty_lines_a_byte_order_mark_and_carriage_returns_are_skipped(tmp_path):
    data = b'\xef\xbb\xbf\r\n{"text": "a"}\r\n\n  \t\n{"text": "b"}\r\n\t\n{"text": "c"}'
    assert listed(read_lines(tmp_path, data).texts) == ["a", "b", "c"]


def test_named_columns_and_dense_features(tmp_path):
    rows = [
        {"t": "a", "s": "b", "y": "p|q", "v": [1, 2]},
        {"t": "", "s": "c", "y": "", "v": [0.5, 3]},
        {"t": "d", "v": [1, 1]},
    ]
    columns = Columns(text=("t", "s"), labels="y", dense="v", label_separator="|")
    got = read_lines(tmp_path, lines_of(rows), columns=columns)
    assert listed(got.texts) == ["a b", "c", "d"]
    assert got.dense.tolist() == [[1, 2], [0.5, 3], [1, 1]]
    assert [set(row) for row in names_of(got.Y, got.labels)] == [{"p", "q"}, set(), set()]


def test_rows_that_all_lack_one_of_several_texts_are_kept(tmp_path):
    got = read_lines(tmp_path, lines_of([{"t": "", "s": ""}, {"t": "x"}, {"s": "y"}]), columns=Columns(text=("t", "s")))
    assert listed(got.texts) == ["", "x", "y"]


def test_repeated_labels_count_in_groups_and_not_in_rows(tmp_path):
    rows = read_lines(tmp_path, lines_of([{"text": "a", "labels": ["x", "x", "y"]}]))
    assert rows.Y.toarray().tolist() == [[1, 1]]
    groups = read_lines(
        tmp_path, lines_of([{"rows": ["a", "b"], "labels": ["x", "x", "y"]}, {"rows": [], "labels": []}])
    )
    assert groups.groups.Y.toarray().tolist() == [[2, 1], [0, 0]]
    assert groups.groups.of_row.tolist() == [0, 0]
    assert listed(groups.texts) == ["a", "b"]
    assert groups.Y is None


def test_a_huge_line(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_BLOCK", 1 << 16)
    long = "word " * 400_000
    assert listed(read_lines(tmp_path, lines_of([{"text": "a"}, {"text": long}, {"text": "b"}])).texts) == [
        "a",
        long,
        "b",
    ]


GOOD = b'{"text": "a", "labels": ["x"]}\n\n'


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{oops}", "is not JSON"),
        (b"[1]", "is not a JSON object"),
        (b"17", "is not a JSON object"),
        (b'{"text": "b"} {"text": "c"}', "is not JSON"),
        (b'{"text": "\xff"}', "is not UTF-8"),
        (b'{"text": "\\ud800"}', "'text' is"),
        (b'{"text": 5}', "'text' is 5"),
        (b'{"text": ["b"]}', "'text' is"),
        (b'{"text": null}', "has no text"),
        (b'{"labels": ["y"]}', "has no text"),
        (b'{"text": "b", "labels": [1]}', "'labels' is"),
        (b'{"text": "b", "labels": ["y", null]}', "label that is null"),
        (b'{"text": "b", "labels": [""]}', "label without a name"),
        (b'{"text": "b", "labels": {"y": 1}}', "'labels' is"),
        (b'{"text": "b", "labels": [' + b"9" * 30 + b"]}", "'labels' is"),
        (b'{"text": "b", "labels": ' + b"[" * 100_000, "is not JSON"),
    ],
)
def test_the_line_at_fault_is_named(line, words, tmp_path, monkeypatch):
    for block in (1 << 20, 40):
        monkeypatch.setattr(source, "_BLOCK", block)
        if block == 40 and b'"labels": [1]' in line:
            continue  # names in one block and numbers in the next are fine
        with pytest.raises(InputError, match=r"rows.jsonl, line 5: ") as caught:
            read_lines(tmp_path, GOOD * 2 + line + b"\n" + GOOD)
        if block > 40:
            assert words in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "line", "words"),
    [
        ([{"text": "a", "labels": [1]}, {"text": "a", "labels": [-1]}], 2, "negative"),
        ([{"text": "a", "labels": [1.5]}], 1, "write names or whole numbers"),
        ([{"text": "a", "labels": True}], 1, "write them as a list"),
        ([{"rows": ["a"]}, {"text": "b"}], 2, "has no 'rows'"),
        ([{"rows": [{"text": "a"}, {"text": None}]}], 1, "has no text"),
        ([{"rows": [{"text": "a"}, None]}], 1, "is null"),
        ([{"rows": "a"}], 1, "not a list of rows"),
        ([{"rows": [1, 2]}], 1, "not texts"),
    ],
)
def test_values_that_cannot_be_used_are_named(rows, line, words, tmp_path):
    with pytest.raises(InputError, match=f"line {line}: .*{words}"):
        read_lines(tmp_path, lines_of(rows))


def test_rows_and_groups_do_not_mix_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_BLOCK", 10)
    for rows in ([{"text": "a"}, {"rows": ["b"]}], [{"rows": ["b"]}, {"text": "a"}]):
        with pytest.raises(InputError, match=r"line 2: is a (row|group), but"):
            read_lines(tmp_path, lines_of(rows))


@pytest.mark.parametrize("block", [10, 1 << 20])
@pytest.mark.parametrize(
    ("vector", "words"),
    [
        ("[1]", "has 1 dense features"),
        ("[1, NaN]", "finite"),
        ("[1, 1e39]", "finite"),
        ("null", "has 0 dense|null"),
        ("[1, null]", "finite"),
    ],
)
def test_dense_features_are_checked(vector, words, block, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_BLOCK", block)
    data = b'{"v": [1.0, 2.0]}\n{"v": %s}\n' % vector.encode()
    with pytest.raises(InputError, match=f"line 2: .*{words}"):
        read_lines(tmp_path, data, columns=Columns(dense="v"))


def test_dense_features_that_are_missing_or_not_numbers_are_named(tmp_path):
    for row in ({"text": "a"}, {"text": "a", "v": "x"}, {"text": "a", "v": ["x"]}):
        with pytest.raises(InputError, match=r"line 1: .*'v'"):
            read_lines(tmp_path, lines_of([row]), columns=Columns(dense="v"))


@pytest.mark.parametrize("suffix", sorted(COMPRESS))
def test_truncated_compression_is_named(suffix, tmp_path):
    whole = COMPRESS[suffix](GOOD * 1000)
    for name in ("rows.jsonl", "rows.csv", "rows.parquet", "rows.svm", "train_texts.txt", "X.trn.npz"):
        (tmp_path / f"{name}{suffix}").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(InputError, match="compression is broken"):
            read(tmp_path / f"{name}{suffix}")
