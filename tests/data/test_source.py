"""Blocks of whole lines, compression, standard input and pipes."""

from __future__ import annotations

import io
import os
import sys
import threading
import types

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.data.samples import COMPRESS, SUFFIXES

from labelwood.data import read, source
from labelwood.data.source import Source
from labelwood.errors import InputError

CONTENT = b"".join(b"line %d of the file\n" % i for i in range(5000))


def stdin_of(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(data)))


def packed(suffix, data):
    return COMPRESS[suffix](data) if suffix else data


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(st.binary(max_size=9).filter(lambda b: b"\n" not in b), min_size=1, max_size=9),
    size=st.integers(1, 12),
    bom=st.booleans(),
    final=st.booleans(),
)
def test_blocks_of_any_size_hold_all_lines_with_their_numbers(tmp_path_factory, lines, size, bom, final):
    data = b"\n".join(lines) + b"\n" * final
    path = tmp_path_factory.mktemp("blocks") / "x"
    path.write_bytes(b"\xef\xbb\xbf" * bom + data)
    assume(source._compression(path.read_bytes()[:6]) is None)
    blocks = list(Source(path).blocks(size))
    without_mark = data if bom else data.removeprefix(b"\xef\xbb\xbf")
    assert b"".join(block.data for block in blocks) == without_mark
    line = 1
    for block in blocks:
        assert block.first_line == line
        assert block.data.endswith(b"\n") or block is blocks[-1]
        line += block.data.count(b"\n")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_compression_is_detected_from_content_whatever_the_name(suffix, tmp_path):
    path = tmp_path / "no_suffix"
    path.write_bytes(packed(suffix, CONTENT))
    assert Source(path).read() == CONTENT
    assert Source(path).head == CONTENT[: 1 << 16]
    with Source(path).seekable() as stream:
        stream.seek(5)
        assert stream.read(4) == b"0 of"


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_files_of_several_compressed_parts_are_read_whole(suffix, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(packed(suffix, CONTENT) + packed(suffix, CONTENT))
    assert Source(path).read() == CONTENT * 2


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_truncation_is_noticed_wherever_it_cuts(suffix, tmp_path):
    path = tmp_path / ("x" + suffix)
    whole = packed(suffix, CONTENT)
    for cut in (7, 12, len(whole) // 3, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError, match="compression is broken"):
            Source(path).read()
        with pytest.raises(InputError, match="compression is broken"):
            list(Source(path).blocks(100))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_corruption_is_noticed_by_checksums(suffix, tmp_path):
    path = tmp_path / ("x" + suffix)
    whole = bytearray(packed(suffix, CONTENT))
    whole[len(whole) // 2] ^= 0x55
    path.write_bytes(whole)
    with pytest.raises(InputError, match="compression is broken"):
        Source(path).read()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_standard_input_is_read_once_compressed_or_not(suffix, monkeypatch):
    stdin_of(monkeypatch, packed(suffix, CONTENT))
    stdin = Source("-")
    assert stdin.head == CONTENT[: 1 << 16]  # as long as the head of a file, so that formats are detected alike
    assert b"".join(block.data for block in stdin.blocks(1000)) == CONTENT
    assert not sys.stdin.buffer.closed
    with pytest.raises(InputError, match="standard input: can be read only once"):
        stdin.read()


def test_a_pipe_is_read_like_a_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    rows = b'{"text": "a", "labels": ["x"]}\n' * 9000
    writer = threading.Thread(target=pipe.write_bytes, args=(rows,))
    writer.start()
    assert len(read(pipe)) == 9000
    writer.join()


def test_a_text_that_begins_like_bzip2_is_text(tmp_path):
    (tmp_path / "x").write_bytes(b"BZhello")
    assert Source(tmp_path / "x").read() == b"BZhello"


def test_a_huge_line_is_one_block(tmp_path):
    (tmp_path / "x").write_bytes(b"a" * 300_000 + b"\nb")
    assert [len(block.data) for block in Source(tmp_path / "x").blocks(1000)] == [300_001, 1]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing", "no such file"),
        ("folder", "is a folder"),
        ("x" * 300, "cannot be read"),
        ("nul\0", "cannot be read"),
    ],
)
def test_what_cannot_be_opened_is_named(name, words, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=words):
        Source(tmp_path / name)
    with pytest.raises(InputError):
        read(tmp_path / name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named(tmp_path):
    (tmp_path / "x").write_text("secret")
    (tmp_path / "x").chmod(0)
    with pytest.raises(InputError, match="Permission denied"):
        read(tmp_path / "x")


def test_a_failing_disk_is_not_reported_as_broken_compression(tmp_path, monkeypatch):
    (tmp_path / "x").write_text("content")
    plain = Source(tmp_path / "x")

    class Failing(io.BytesIO):
        def read(self, size=-1):
            if self.tell():
                raise OSError(5, "Input/output error")
            return super().read(size)

        def seek(self, *_):
            return 0

    monkeypatch.setattr(plain, "_raw", lambda: Failing(b"content"))
    with pytest.raises(InputError, match=r"cannot be read .*Input/output"):
        plain.read()


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.csv", "text,labels\na,b\n"),
        ("rows.jsonl", '{"text": "a", "labels": ["b"]}\n'),
        ("rows.txt", "a text\n"),
        ("labels.jsonl", '{"id": "b"}\n'),
    ],
)
def test_utf16_text_is_named_as_such(name, content, coding, tmp_path):
    (tmp_path / name).write_bytes(content.encode(coding))
    path = tmp_path / ("rows.jsonl" if name == "labels.jsonl" else name)
    if name == "labels.jsonl":
        path.write_text('{"text": "a", "labels": ["b"]}\n')
    with pytest.raises(InputError, match=f"{name}: is UTF-16 text; save it as UTF-8"):
        read(path)


@pytest.mark.parametrize("text", ["Élan vital", "Яблоко", "漢字", "\ufeffa dog", "😀"])
def test_texts_in_any_script_are_recognised(tmp_path, monkeypatch, text):
    told = text.removeprefix("\ufeff")
    (tmp_path / "rows.txt").write_text(f"{text}\n", "utf-8")
    assert read(tmp_path / "rows.txt", label_file=False).texts.to_pylist() == [told]
    stdin_of(monkeypatch, f"{text}\n".encode())
    assert read("-").texts.to_pylist() == [told]
