"""fastText's format for supervised learning: one row per line; labels are words that begin with ``__label__``.

White space (space, tab, vertical tab, form feed, carriage return, NUL) only separates words, as in fastText; other
blanks, such as a no-break space, are part of a word. So a text is read as its words with one space between them, and a
text that is written and read again has single spaces, also instead of line breaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from labelwood import _native
from labelwood.data.catalogue import check_utf8
from labelwood.data.dataset import Dataset, ones
from labelwood.data.distinct import distinct
from labelwood.data.label_files import write_label_texts
from labelwood.data.publishing import binary_output
from labelwood.data.reading import Reading
from labelwood.data.source import Block, Source
from labelwood.errors import LabelwoodError

NAME = "fasttext"
HOLDS = frozenset({"texts", "line_breaks", "label_texts"})
FIELDS: str | None = None
RESERVED = frozenset[str]()
_PREFIX = "__label__"
_TO_SPACES = bytes.maketrans(b"\t\v\f\r\0", b"     ")
_WHITE_SPACE = " \t\n\v\f\r\0"
_ROWS = 1 << 14  # rows written at a time


def detect(source: Source) -> bool:
    """Whether the name ends in .fasttext, the first line with words has a label, or an early line starts with one.

    JSON lines may mention a label in their texts; they are not taken for fastText.
    """
    head = _normalise_spaces(source.head.removeprefix(b"\xef\xbb\xbf"))
    first, prefix = head.lstrip(b" \n").split(b"\n", 1)[0], _PREFIX.encode()
    if source.name.endswith(".fasttext") or head.startswith(prefix) or b"\n" + prefix in head:
        return True
    return b" " + prefix in first and not first.startswith(b"{")


def pieces(reading: Reading) -> Iterator[Dataset]:
    """Yields the rows in blocks of lines; an empty line is a row with neither labels nor text."""
    source = reading.source
    for data, first_line in source.blocks():
        check_utf8(source, Block(data, first_line))
        texts, text_ends, names, name_ends, row_ends = _native.part_marked_lines(data, _PREFIX.encode())
        nameless = np.flatnonzero(np.diff(name_ends) == 0)
        if len(nameless):
            row = int(np.searchsorted(row_ends, nameless[0], side="right")) - 1
            raise source.error(f"has a label without a name; write the name right after {_PREFIX}", first_line + row)
        numbers, different = distinct(_strings(name_ends, names))
        ids = reading.index.add(reading.label_names(different.to_pylist()))[numbers]
        Y = ones(row_ends, ids.astype(np.int32), len(reading.index))
        Y.sum_duplicates()
        Y.data[:] = 1
        yield Dataset(texts=_strings(text_ends, texts), Y=Y, labels=reading.index)


def _strings(ends: NDArray[np.int64], data: NDArray[np.uint8]) -> Any:
    return pa.LargeStringArray.from_buffers(len(ends) - 1, pa.py_buffer(ends), pa.py_buffer(data))


def write(data: Dataset, path: Path) -> None:
    """Writes the labels of each row, then its text; raises if readers would get other labels or other words."""
    if data.texts is None or data.groups is not None:
        raise LabelwoodError("fasttext needs a text for each row, and no groups of rows, which this data does not have")
    write_label_texts(data, path)
    with binary_output(path) as out:
        for start in range(0, len(data), _ROWS):
            lines = list(_lines(data, start, min(start + _ROWS, len(data))))
            if start == 0 and lines[0].startswith((b"\xef\xbb\xbf", b"BZh")):
                out.write(b" ")  # otherwise readers would take the first bytes for a byte order mark or for bzip2
            out.writelines(lines)


def _normalise_spaces(data: bytes) -> bytes:
    """The same lines with one space between words, and none before or after them."""
    data = data.translate(_TO_SPACES)
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    return data.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def _split_labels(line: str) -> tuple[list[str], str]:
    """The names of the labels in a line with single spaces, and its text."""
    before, *parts = f" {line}".split(f" {_PREFIX}")
    if not parts:
        return [], line
    names, texts = [], [before[1:]]
    for part in parts:
        name, _, text = part.partition(" ")
        names.append(name)
        texts.append(text)
    return names, " ".join(filter(None, texts))


def _lines(data: Dataset, start: int, end: int) -> Iterator[bytes]:
    texts = data.texts.slice(start, end - start).to_pylist()
    for row, (labels, text) in enumerate(zip(_labels(data, start, end), texts, strict=True), start):
        words = _normalise_spaces(text.encode().replace(b"\n", b" "))
        if names := _split_labels(words.decode())[0]:
            word = f"{_PREFIX}{names[0]}"[:60]
            raise LabelwoodError(
                f"the text of row {row} holds the word {word!r}, which fasttext takes for a label; "
                "remove it or write jsonl instead"
            )
        yield b" ".join([*labels, words] if words else labels) + b"\n"


def _labels(data: Dataset, start: int, end: int) -> Iterator[list[bytes]]:
    """Yields the words that stand for the labels of each row."""
    if data.Y is None or data.labels is None:
        yield from ([] for _ in range(start, end))
        return
    ends = data.Y.indptr[start : end + 1]
    ids = data.Y.indices[ends[0] : ends[-1]]
    used, places = np.unique(ids, return_inverse=True)
    names = data.labels.to_arrow().take(pa.array(used)).to_pylist()
    if (unfit := next((name for name in names if not name or any(c in name for c in _WHITE_SPACE)), None)) is not None:
        raise LabelwoodError(
            f"the label {unfit[:60]!r} is empty or holds white space, which separates labels in fasttext; "
            "rename it or write jsonl instead"
        )
    words = [(_PREFIX + name).encode() for name in names]
    for first, last in pairwise((ends - ends[0]).tolist()):
        yield [words[place] for place in places[first:last].tolist()]
