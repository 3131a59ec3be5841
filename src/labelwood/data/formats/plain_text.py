"""Plain text for prediction: one document per line, without labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from labelwood.data.catalogue import decode_block
from labelwood.data.dataset import Dataset
from labelwood.data.publishing import text_output
from labelwood.data.reading import Reading
from labelwood.data.source import Source
from labelwood.errors import LabelwoodError

NAME = "text"
HOLDS = frozenset({"texts", "line_breaks"})
FIELDS: str | None = None
RESERVED = frozenset[str]()
_FIRST_BYTES = b"\xc2", b"\xf4"  # of UTF-8 characters beyond ASCII, the byte order mark among them


def detect(source: Source) -> bool:
    """Whether standard input, or a file whose name ends in .txt, holds text that no other format claimed."""
    first = source.head[:1]
    begins_a_character = first.isascii() or _FIRST_BYTES[0] <= first <= _FIRST_BYTES[1]
    is_text = b"\0" not in source.head and begins_a_character
    return is_text and (source.is_stdin or source.name.endswith(".txt"))


def pieces(reading: Reading) -> Iterator[Dataset]:
    """Yields the rows in blocks of lines; an empty line is a row without text."""
    for block in reading.source.blocks():
        yield Dataset(texts=pa.array(decode_block(reading.source, block), pa.large_string()))


def write(data: Dataset, path: Path) -> None:
    """Writes one text per line; raises for data with labels or texts with line breaks."""
    texts = [] if data.texts is None else data.texts.to_pylist()
    if data.texts is None or data.Y is not None or any("\n" in text or text.endswith("\r") for text in texts):
        raise LabelwoodError("text holds texts of one line and no labels; write jsonl instead")
    with text_output(path) as out:
        out.writelines(f"{text}\n" for text in texts)
