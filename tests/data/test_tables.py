"""CSV, TSV and Parquet."""

from __future__ import annotations

import csv
import io
import sys
import types

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.data.samples import COMPRESS, listed, names_of

from labelwood.data import Columns, read, read_batches
from labelwood.data.formats import delimited, parquet
from labelwood.data.joining import concat
from labelwood.errors import InputError


def read_csv(folder, text, name="rows.csv", **options):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(folder / name, **options)


def read_parquet(folder, table, **options):
    pq.write_table(pa.table(table), folder / "rows.parquet")
    return read(folder / "rows.parquet", **options)


def labels_of(data):
    return [sorted(row) for row in names_of(data.Y, data.labels)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_csv_with_quotes_marks_and_any_line_end(end, tmp_path):
    lines = ["\ufefftext,labels,extra", '"a, ""b""",x; y;;x,1', ",,", '"two\nlines",z,NA', "NA,NA,null"]
    data = read_csv(tmp_path, end.join(lines))
    assert listed(data.texts) == ['a, "b"', "", "two\nlines", "NA"]
    assert labels_of(data) == [["x", "y"], [], ["z"], ["NA"]]


def test_tsv_named_columns_and_separator(tmp_path):
    columns = Columns(text=("title", "body"), labels="tags", id="key", label_separator=" / ")
    data = read_csv(tmp_path, "key\ttitle\tbody\ttags\nk\ta,b\tc\tx / y\n", "rows.tsv", columns=columns)
    assert (listed(data.texts), listed(data.ids), labels_of(data)) == (["a,b c"], ["k"], [["x", "y"]])


@pytest.mark.parametrize("text", ["text,labels", "text,labels\n", "text,labels\r\n\r\n"])
def test_a_csv_header_alone_gives_no_rows(text, tmp_path):
    data = read_csv(tmp_path, text)
    assert len(data) == 0
    assert data.Y.shape == (0, 0)


def test_csv_blocks_are_joined_and_long_rows_read(tmp_path, monkeypatch):
    rows = [("word " * (3000 if i == 70 else 3), f"l{i % 5}") for i in range(100)]
    text = "text,labels\n" + "".join(f"{text},{label}\n" for text, label in rows)
    monkeypatch.setattr(delimited, "_BLOCK", 512)
    data = read_csv(tmp_path, text)
    assert listed(data.texts) == [text for text, _ in rows]
    assert labels_of(data) == [[label] for _, label in rows]
    assert len(list(read_batches(tmp_path / "rows.csv"))) > 1


def test_rows_after_a_long_one_are_the_same_rows(tmp_path, monkeypatch):
    odd = ['a "b", c', "line 1\nline 2\r\n", "a\u2028b\x0bc", "", "日本語", "nul\0", "x" * 2000, " \t"]
    rows = [{"text": odd[i % len(odd)] + str(i), "labels": f"l{i}"} for i in range(60)]
    out = io.StringIO()
    writer = csv.DictWriter(out, ["text", "labels"], lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    monkeypatch.setattr(delimited, "_BLOCK", 512)
    data = read_csv(tmp_path, "\ufeff" + out.getvalue() + "\r\n\r\n")
    assert listed(data.texts) == [row["text"] for row in rows]
    assert labels_of(data) == [[row["labels"]] for row in rows]
    with pytest.raises(InputError, match="row 61 below the header: has 1 columns and not 2"):
        read_csv(tmp_path, out.getvalue() + "alone\r\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title,labels\na,b\n", "line 1: has no column 'text' (it has: title, labels)"),
        ("text,text\na,b\n", "line 1: has the column 'text' twice"),
        ("\n\n", "line 1: is empty"),
        ("text,labels\na,b\nc\n", "is not well-formed CSV"),
        (b"text,labels\na,b\n\xff,c\n", "line 3: is not UTF-8"),
        (b"text,labels\n" + b"a,b\n" * 30000 + b"\xff,c\n", "line 30002: is not UTF-8"),
        ('text,"lab\na,b\n', "has no column|well-formed"),
    ],
)
def test_unsound_csv_is_refused(text, words, tmp_path):
    with pytest.raises(InputError) as caught:
        read_csv(tmp_path, text)
    assert any(part in str(caught.value) for part in words.split("|"))


@pytest.mark.parametrize(
    "text",
    [
        "sep=;\r\ntext;labels\r\na, b;x\r\n",  # Excel's way to name the delimiter
        "\ufeffsep=;\ntext;labels\na, b;x\n",
        "text;labels;notes (short, long)\na, b;x;\n",  # the names of columns show the delimiter
        "text\tlabels\tnotes; and more, perhaps\na, b\tx\t\n",
    ],
)
def test_the_delimiter_is_detected_from_the_first_lines(text, tmp_path):
    data = read_csv(tmp_path, text)
    assert (listed(data.texts), labels_of(data)) == (["a, b"], [["x"]])


def test_blanks_around_the_name_of_a_column_are_an_error(tmp_path):
    with pytest.raises(InputError, match="line 1: the column ' labels' has blanks around its name; write 'labels'"):
        read_csv(tmp_path, "text, labels\na,x\n")


def test_a_missing_named_column_is_an_error_even_if_another_exists(tmp_path):
    for columns in (Columns(text=("text", "abstrct")), Columns(labels="tags"), Columns(id="key"), Columns(dense="v")):
        with pytest.raises(InputError, match="has no column"):
            read_csv(tmp_path, "text,labels\na,b\n", columns=columns)
        with pytest.raises(InputError, match="has no column"):
            read_parquet(tmp_path, {"text": ["a"], "labels": [["b"]]}, columns=columns)


@pytest.mark.parametrize(
    "labels",
    [
        pa.array([["x", "y"], None, []]),
        pa.array([["x", "y"], None, []], pa.large_list(pa.large_string())),
        pa.array(["x;y", None, ""]),
        pa.array(["x;y", None, ""]).dictionary_encode(),
        pa.array([["x", "y"], None, []], pa.list_(pa.string_view())),
    ],
)
def test_parquet_labels_of_any_type(labels, tmp_path):
    data = read_parquet(
        tmp_path, {"id": [1, None, 3], "text": pa.array(["a", "b", "c"]).dictionary_encode(), "labels": labels}
    )
    assert labels_of(data) == [["x", "y"], [], []]
    assert listed(data.ids) == ["1", "", "3"]


def test_parquet_numbers_of_labels_and_dense_vectors(tmp_path):
    (tmp_path / "label_names.txt").write_text("zero\none\n")
    vectors = pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float64(), 2))
    data = read_parquet(tmp_path, {"v": vectors, "labels": pa.array([1, None], pa.uint8())}, columns=Columns(dense="v"))
    assert labels_of(data) == [["one"], []]
    assert data.dense.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(InputError, match="row 2: label 2 is out of range"):
        read_parquet(tmp_path, {"text": ["a", "b"], "labels": [[0], [2]]})
    with pytest.raises(InputError, match=r"row 1: label .* is negative"):
        read_parquet(tmp_path, {"text": ["a"], "labels": pa.array([2**64 - 1], pa.uint64())})


def test_parquet_batches_are_joined_and_rows_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "_ROWS", 7)
    data = read_parquet(tmp_path, {"text": [str(i) for i in range(50)], "labels": [[f"l{i % 3}"] for i in range(50)]})
    assert listed(data.texts) == [str(i) for i in range(50)]
    assert labels_of(data) == [[f"l{i % 3}"] for i in range(50)]
    with pytest.raises(InputError, match="row 31: has no text"):
        read_parquet(tmp_path, {"text": [None if i == 30 else "a" for i in range(50)]})


def test_parquet_without_rows(tmp_path):
    data = read_parquet(tmp_path, {"text": pa.array([], pa.string()), "labels": pa.array([], pa.list_(pa.string()))})
    assert (len(data), data.Y.shape) == (0, (0, 0))


def test_unsound_parquet_is_refused(tmp_path):
    read_parquet(tmp_path, {"text": ["a"] * 100})
    whole = (tmp_path / "rows.parquet").read_bytes()
    for damaged in (whole[:4], whole[:-1], whole[: len(whole) // 2], whole[:8] + b"\xff" * 40 + whole[48:]):
        (tmp_path / "rows.parquet").write_bytes(damaged)
        with pytest.raises(InputError, match=r"rows.parquet: is not a sound Parquet file"):
            read(tmp_path / "rows.parquet")
    with pytest.raises(InputError, match="twice"):
        pq.write_table(pa.Table.from_arrays([pa.array(["a"])] * 2, ["text", "text"]), tmp_path / "rows.parquet")
        read(tmp_path / "rows.parquet")


@pytest.mark.parametrize(("suffix", "form"), [("", None), *((suffix, "csv") for suffix in COMPRESS)])
def test_standard_input(suffix, form, tmp_path, monkeypatch):
    def given(data):
        monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(data)))

    if form:
        given(COMPRESS[suffix](b"text,labels\na,x\n"))
        assert labels_of(read("-", format=form)) == [["x"]]
        return
    read_parquet(tmp_path, {"text": ["a"], "labels": [["x"]]})
    for data in (
        (tmp_path / "rows.parquet").read_bytes(),
        b'{"text": "a", "labels": ["x"]}',
        b'{"text": "a", "labels": ["x"]}\n' * 1,
    ):
        given(data)
        assert labels_of(read("-")) == [["x"]]
        given(data)
        assert labels_of(concat(read_batches("-"))) == [["x"]]
    given(b"1 1 1\n0 0:1\n")
    assert labels_of(read("-")) == [["0"]]
    given(b"0 0:1\n")
    assert labels_of(read("-")) == [["0"]]
    given(b"1 10000 20000\n17 0:1\n")  # a header longer than the magic bytes of compressions
    assert labels_of(read("-")) == [["17"]]
    given(b"a longer text __label__x\n")
    assert labels_of(read("-")) == [["x"]]
    given(b"")
    with pytest.raises(InputError, match="standard input: is empty"):
        read("-")


def test_semicolons_or_tabs_may_separate_columns(tmp_path):
    for mark in (";", "\t"):
        path = tmp_path / "a.csv"
        path.write_text(f'text{mark}labels\na dog{mark}"x;y"\n')
        data = read(path)
        assert data.texts.to_pylist() == ["a dog"]
        assert list(data.labels) == ["x", "y"]


def test_a_path_that_a_chunk_says_wrong_is_not_relied_on(tmp_path):
    """The schema says which column a chunk is of; the chunk says it again."""
    pq.write_table(pa.table({"text": ["a dog"] * 50, "labels": [["animal"]] * 50}), tmp_path / "rows.parquet")
    content = (tmp_path / "rows.parquet").read_bytes()
    at = content.rindex(b"list", 0, content.rindex(b"ARROW:schema"))
    (tmp_path / "rows.parquet").write_bytes(content[:at] + b":ist" + content[at + 4 :])
    chunk = pq.read_metadata(tmp_path / "rows.parquet").row_group(0).column(1)
    assert chunk.path_in_schema == "labels.:ist.element"
    data = read(tmp_path / "rows.parquet")
    assert labels_of(data) == [["animal"]] * 50
