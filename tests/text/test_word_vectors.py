"""Word vectors: the wanted rows of a file as others write it, and one sentence for each way it can be wrong."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.data.samples import COMPRESS, SUFFIXES

from labelwood.data import source
from labelwood.errors import InputError, LabelwoodError, ParameterError
from labelwood.text import TextVectorizer, word_vectors

WORDS = st.text(min_size=1, max_size=4).filter(lambda word: not set(word) & set(" \t\r\n") and word[0] != "\ufeff")
VALUES = st.floats(width=32, allow_nan=False, allow_infinity=False)


def read(folder, content, terms, name="words.vec"):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return word_vectors(folder / name, terms)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    words=st.lists(WORDS, min_size=1, max_size=6),
    width=st.integers(2, 4),
    data=st.data(),
    header=st.booleans(),
    marks=st.tuples(st.sampled_from([" ", "\t"]), st.sampled_from(["\n", " \n", "\r\n", "\t\r\n"])),
)
def test_any_file_gives_the_first_vector_of_each_wanted_word(tmp_path_factory, words, width, data, *, header, marks):
    mark, end = marks
    rows = [data.draw(st.lists(VALUES, min_size=width, max_size=width)) for _ in words]
    lines = [mark.join([word, *map(repr, row)]) for word, row in zip(words, rows, strict=True)]
    content = end.join([f"{len(words)}{mark}{width}"] * header + lines)
    terms = data.draw(st.lists(st.sampled_from(words) | WORDS, max_size=8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "_BLOCK", data.draw(st.sampled_from([1, 30, 1 << 20])))
        vectors, found = read(tmp_path_factory.mktemp("any"), content, terms)
    wanted = [rows[words.index(term)] if term in words else [0.0] * width for term in terms]
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, np.array(wanted, np.float32).reshape(len(terms), width))
    assert found.dtype == np.bool_
    assert found.tolist() == [term in words for term in terms]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_compressed_files_are_read(suffix, tmp_path):
    content = b"2 2\nelm 1 2 \noak 3 4 \n"
    content = COMPRESS[suffix](content) if suffix else content
    vectors, found = read(tmp_path, content, ["oak", "yew", "oak"], f"words.vec{suffix}")
    assert vectors.tolist() == [[3, 4], [0, 0], [3, 4]]
    assert found.tolist() == [True, False, True]


@pytest.mark.parametrize(
    "content",
    [
        "elm 1 2\noak 3 4",
        "\ufeffelm 1 2\noak 3 4\n",
        "\n\nelm 1 2\n\n \noak 3 4\n\n",
        "elm\t1\t2\noak 3\t4\n",
        "2 2\nelm +1 2e0\noak 3. .4e1\n",
        "3 2\nelm 1 2\noak 3 4\noak not finite\n",
        "elm 1 2\n. . . 5 6\noak 3 4\nto a@b.c 7 8\n",
        "elm 1 2\n1998 5 6\noak 3 4\n",
        "elm 1 2\n__ not numbers\noak 3 4\n",
    ],
)
def test_every_dress_in_which_such_files_come(content, tmp_path):
    vectors, found = read(tmp_path, content, ["oak", "elm"])
    assert vectors.tolist() == [[3, 4], [1, 2]]
    assert found.all()


def test_words_with_spaces_are_found(tmp_path):
    vectors, _ = read(tmp_path, "elm 1 2\n. . . 5 6\nto a@b.c 7 8\n", [". . .", "to a@b.c", "to", "."])
    assert vectors.tolist() == [[5, 6], [7, 8], [0, 0], [0, 0]]


def test_only_single_spaces_and_tabs_separate(tmp_path):
    words = ["a\u00a0b", "\u2028", "\x85", "\u3000", "\x1c"]
    vectors, found = read(tmp_path, "".join(f"{word} {i} 1\n" for i, word in enumerate(words)), words)
    assert vectors[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert found.all()


def test_the_terms_of_a_vectorizer(tmp_path):
    terms = TextVectorizer().fit(["the oak and the elm"]).get_feature_names_out()
    vectors, found = read(tmp_path, "oak 1 2\nthe 3 4\n", terms)
    assert vectors.tolist() == [[0, 0], [0, 0], [1, 2], [3, 4]]
    assert found.tolist() == [False, False, True, True]


def test_no_terms_and_terms_that_no_file_has(tmp_path):
    vectors, found = read(tmp_path, "oak 1 2\n", [])
    assert (vectors.shape, found.shape) == ((0, 2), (0,))
    assert not read(tmp_path, "oak 1 2\n", ["", "\ud800", "oak "])[1].any()


GOOD = b"oak 1 2\nelm 3 4\n\n"


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"yew 1", "has 1 values where line 1 has 2; mend"),
        (b"yew", "has 0 values where line 1 has 2; mend"),
        (b"yew 1 2 3", "has 3 values where line 1 has 2; mend"),
        (b"yew  1 2", "has 3 values where line 1 has 2; mend"),
        (b"yew 1  2", "values where line 1 has 2; mend"),
        (b" 1 2", "has no word before its values; mend"),
        (b"yew 1 x", "the value 'x' is not a finite"),
        (b"yew 1 nan", "the value 'nan' is not a finite"),
        (b"yew -inf 1", "the value '-inf' is not a finite"),
        (b"yew 1 1e39", "the value '1e39' is not a finite"),
        (b"yew 1_0 1", "the value '1_0' is not a finite"),
        (b"yew 0x1 1", "the value '0x1' is not a finite"),
        (b"yew 1 \xff", "is not a finite"),
        (b"yew 1 \xef\xbc\x91", "is not a finite"),
        (b"yew 1 " + b"9" * 10_000, "is not a finite"),
        (b"\xff\xfe 1 2", "is not UTF-8 text; convert"),
        (b"y\xc3 1 2", "is not UTF-8 text; convert"),
    ],
)
def test_the_line_at_fault_is_named(line, words, size, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_BLOCK", size)
    for end in (b"", b" \n", b"\r\nash 5 6\n"):
        with pytest.raises(InputError, match=r"words.vec, line 4: ") as caught:
            read(tmp_path, GOOD + line + end, ["yew"])
        assert words in str(caught.value)
        assert len(str(caught.value)) < 300 + len(str(tmp_path))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ": is empty; write"),
        ("\n \n", ": is empty; write"),
        ("0 2\n", ": holds no vectors; write"),
        ("oak\n", ", line 1: there are no values; write"),
        ("3 0\noak\n", ", line 1: there are no values; write"),
        ("1 3\noak 1 2\n", ", line 2: has 2 values where the header says 3; mend"),
        ("1 1\noak 1 2\n", ", line 2: has 2 values where the header says 1; mend"),
        ("1 999999999999999999\noak 1 2\n", ", line 2: has 2 values where the header says 999999999999999999; mend"),
        ("3 2\noak 1 2\nelm 1 2\n", ", line 1: the header says 3 words and 2 follow; fetch"),
        ("1 2\noak 1 2\nelm 1 2\n", ", line 1: the header says 1 words and 2 follow; fetch"),
    ],
)
def test_what_is_wrong_with_the_whole_file_is_said(content, words, tmp_path):
    with pytest.raises(InputError) as caught:
        read(tmp_path, content, ["oak"])
    assert words in str(caught.value)


def test_lines_of_other_words_are_checked_for_their_number_of_values(tmp_path):
    assert read(tmp_path, "oak 1 2\nyew x nan\n", ["oak"])[1].all()
    for line in (b"yew 1", b"yew 1 2 3", b"\xff 1 2", b" 1 2"):
        with pytest.raises(InputError, match="line 2"):
            read(tmp_path, b"oak 1 2\n" + line, ["oak"])


@pytest.mark.parametrize("suffix", sorted(COMPRESS))
def test_files_that_cannot_be_read_are_named(suffix, tmp_path):
    whole = COMPRESS[suffix](GOOD * 1000)
    with pytest.raises(InputError, match="compression is broken"):
        read(tmp_path, whole[: len(whole) // 2], ["oak"])
    with pytest.raises(InputError, match="no such file"):
        word_vectors(tmp_path / "none.vec", ["oak"])
    with pytest.raises(InputError, match="is a folder"):
        word_vectors(tmp_path, ["oak"])


@settings(max_examples=100, deadline=None)
@given(
    content=st.binary(max_size=40)
    | st.lists(st.sampled_from([b"oak", b"1", b" ", b"\t", b"\n", b"nan", b"\xff", b"\0"])).map(b"".join)
)
def test_any_bytes_end_with_vectors_or_with_one_sentence(tmp_path_factory, content):
    try:
        vectors, found = read(tmp_path_factory.mktemp("bytes"), content, ["oak", "1"])
    except LabelwoodError as e:
        assert str(e)
        return
    assert np.isfinite(vectors).all()
    assert found.shape == (2,)


@pytest.mark.parametrize(
    ("terms", "words"), [("oak", "single string"), (["oak", 3], "term 1 is of type int"), ([None], "term 0")]
)
def test_terms_must_be_strings(terms, words, tmp_path):
    with pytest.raises(ParameterError, match=words):
        read(tmp_path, "oak 1 2\n", terms)


def test_the_file_is_never_held_whole(tmp_path):
    line = " ".join(["0.12345"] * 200)
    (tmp_path / "words.vec").write_text("".join(f"word{i} {line}\n" for i in range(20_000)))
    size = (tmp_path / "words.vec").stat().st_size
    assert size > 30_000_000
    tracemalloc.start()
    try:
        _, found = word_vectors(tmp_path / "words.vec", ["word19999"])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.all()
    assert peak < size * 0.75


def test_texts_become_features_without_loading_arrow():
    code = "import sys, labelwood.text; print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
