"""fastText's format: labels anywhere in a line, words split as fastText does, and detection from content."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.samples import COMPRESS, SUFFIXES, assert_same, listed, names_of

from labelwood.data import Dataset, read, read_batches, source, write
from labelwood.data.joining import concat
from labelwood.data.read import detect_format
from labelwood.data.source import Source
from labelwood.errors import InputError, LabelwoodError

WHITE_SPACE = [" ", "\t", "\v", "\f", "\r", "\0", "  \t"]
WORDS = st.sampled_from(
    [
        "a",
        "dog",
        "__label__x",
        "__label__y",
        "__label__é日",
        "x__label__y",
        "__label",
        "__label_x",
        "_",
        "a\u00a0b",
        "\x85",
    ]
)


def read_lines(folder, content, name="train.txt", **options):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(folder / name, **options)


def labels_of(data):
    return [sorted(row) for row in names_of(data.Y, data.labels)]


def test_labels_may_stand_anywhere(tmp_path):
    data = read_lines(
        tmp_path,
        "__label__pet __label__animal a dog\n"
        "a __label__plant red rose __label__garden\n"
        "\n"
        "only text\n"
        "__label__plant\n"
        "oak __label__plant __label__plant",
    )
    assert listed(data.texts) == ["a dog", "a red rose", "", "only text", "", "oak"]
    assert labels_of(data) == [["animal", "pet"], ["garden", "plant"], [], [], ["plant"], ["plant"]]
    assert set(data.Y.data) == {1.0}
    assert list(data.labels) == ["pet", "animal", "plant", "garden"]


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.lists(st.tuples(WORDS, st.sampled_from(WHITE_SPACE)), max_size=6), min_size=1, max_size=6),
    lead=st.sampled_from(["", " ", "\r\t"]),
    bom=st.booleans(),
    size=st.sampled_from([1, 20, 1 << 20]),
)
def test_a_row_is_its_labels_and_its_other_words(tmp_path_factory, rows, lead, bom, size):
    folder = tmp_path_factory.mktemp("words")
    lines = "".join(lead + "".join(word + white for word, white in row) + "\n" for row in rows)
    (folder / "rows.fasttext").write_bytes(b"\xef\xbb\xbf" * bom + lines.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "_BLOCK", size)
        data = read(folder / "rows.fasttext")
        assert_same(concat(read_batches(folder / "rows.fasttext")), data)
    words = [[word for word, _ in row] for row in rows]
    assert listed(data.texts) == [" ".join(w for w in row if not w.startswith("__label__")) for row in words]
    names = [{w.removeprefix("__label__") for w in row if w.startswith("__label__")} for row in words]
    assert [set(row) for row in names_of(data.Y, data.labels)] == names


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "content",
    [
        "__label__x a\n",
        "\ufeff__label__x a\n",
        "\n \n\t__label__x a\n",
        "12:30 a meeting __label__x\n",
        "1 2 __label__x\n",
        "a text without labels\n__label__x a\n",
        "{braces} without labels\n__label__x a\n",
        "__label__x\n{",
    ],
)
def test_fasttext_is_detected_from_content(content, suffix, tmp_path):
    data = content.encode()
    (tmp_path / f"train.txt{suffix}").write_bytes(COMPRESS[suffix](data) if suffix else data)
    assert detect_format(Source(tmp_path / f"train.txt{suffix}")) == "fasttext"
    assert list(read(tmp_path / f"train.txt{suffix}").labels) == ["x"]


@pytest.mark.parametrize(
    ("name", "content", "wanted"),
    [
        ("a.txt", "a text\nwith x__label__y in it\n", "text"),
        ("a.txt", "a text\nthat says __label__x later\n", "text"),
        ("a.jsonl", '{"text": "a __label__x b"}\n', "jsonl"),
        ("a.csv", "text,labels\n__label__x a,b\n", "csv"),
        ("train_texts.txt", "__label__x a\n", "attentionxml"),
        ("a.txt", "1 1 1\n0 0:1\n", "xc"),
        ("a.fasttext", '{"text"\n', "fasttext"),
    ],
)
def test_other_formats_are_not_detected_as_fasttext(name, content, wanted, tmp_path):
    (tmp_path / name).write_text(content)
    assert detect_format(Source(tmp_path / name)) == wanted


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"a __label__ b", "a label without a name"),
        (b"__label__", "a label without a name"),
        (b"__label__x \xff", "is not UTF-8"),
        (b"__label__\xc3 a", "is not UTF-8"),
        (b"a \xe2\x00\x82\xac", "is not UTF-8"),
    ],
)
def test_the_line_at_fault_is_named(line, words, size, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_BLOCK", size)
    for end in (b"", b"\n", b"\r\n__label__y b\n"):
        with pytest.raises(InputError, match=rf"train.txt, line 4: .*{words}"):
            read_lines(tmp_path, b"__label__x a\n\nb\n" + line + end)


def test_a_label_file_beside_fasttext_data_describes_its_labels(tmp_path):
    (tmp_path / "labels.jsonl").write_text('{"id": "y", "text": "the y"}\n{"id": "x", "text": "the x"}\n')
    data = read_lines(tmp_path, "__label__x a\n__label__z b\n")
    assert list(data.labels) == ["y", "x", "z"]
    assert listed(data.label_texts) == ["the y", "the x", ""]


def test_long_lines_of_labels_and_of_white_space_are_read(tmp_path):
    data = read_lines(tmp_path, " ".join(f"__label__{i}" for i in range(200_000)) + " " * 500_000 + "a\n")
    assert data.Y.nnz == 200_000
    assert listed(data.texts) == ["a"]


def test_labels_are_written_before_the_words_of_a_text(tmp_path):
    data = Dataset.from_texts([" a\n dog\t", "", "rose \r\n", "\x0b"], [["pet", "animal"], ["x"], [], []])
    write(data, tmp_path / "a.fasttext")
    assert (tmp_path / "a.fasttext").read_bytes() == b"__label__pet __label__animal a dog\n__label__x\nrose\n\n"


def test_texts_without_labels_are_written(tmp_path):
    write(Dataset.from_texts(["one", "two"]), tmp_path / "a.fasttext")
    assert (tmp_path / "a.fasttext").read_text() == "one\ntwo\n"
    assert read(tmp_path / "a.fasttext").Y.nnz == 0


@pytest.mark.parametrize("text", ["\ufefftext", "BZh91AY", "{text}", "1 2 3"])
def test_the_first_text_is_not_read_as_a_byte_order_mark_or_bzip2(text, tmp_path):
    data = Dataset.from_texts([text, "b"], [[], ["x"]])
    for name, options in (("a.fasttext", {}), ("a.txt", {"format": "fasttext"})):
        write(data, tmp_path / name, **options)
        assert_same(read(tmp_path / name), data)


def test_many_rows_are_written_in_their_order(tmp_path):
    n_rows = 40_000
    data = Dataset.from_texts([f"row {i}" for i in range(n_rows)], [[f"l{i % 7}"] * (i % 3) for i in range(n_rows)])
    write(data, tmp_path / "a.fasttext")
    assert_same(read(tmp_path / "a.fasttext"), data)


def test_only_labels_that_rows_have_must_be_writable(tmp_path):
    data = Dataset.from_texts(["a", "b"], [["fine"], ["not fine"]])
    write(data.take([0]), tmp_path / "a.fasttext")
    with pytest.raises(LabelwoodError, match=r"the label 'not fine' .* white space.*; rename it or write jsonl"):
        write(data, tmp_path / "a.fasttext", overwrite=True)
    assert (tmp_path / "a.fasttext").read_text() == "__label__fine a\n"


@pytest.mark.parametrize("text", ["__label__x", "a __label__x b", "a\n__label__x", "a\0__label__x", "a __label__"])
def test_a_word_that_would_come_back_as_a_label_is_refused(text, tmp_path):
    with pytest.raises(
        LabelwoodError, match=r"the text of row 1 holds the word '__label__x?'.*; remove it or write jsonl"
    ):
        write(Dataset.from_texts(["a", text], [["y"], []]), tmp_path / "a.fasttext")
    assert not list(tmp_path.iterdir())
