"""The first text format of the Extreme Classification Repository: a header ``rows features labels``, then one row per
line, ``l1,l2 f:v f:v …``; a line that begins with a space has no labels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from labelwood.data.dataset import Dataset
from labelwood.data.formats.sparse_lines import Header, assign_label_ids, sparse_pieces, write_lines
from labelwood.data.label_files import write_label_names
from labelwood.data.reading import Reading
from labelwood.data.source import Source
from labelwood.errors import LabelwoodError

NAME = "xc"
HOLDS = frozenset({"sparse", "label_texts"})
FIELDS: str | None = None
RESERVED = frozenset[str]()
_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*-?\d+[ \t]+-?\d+[ \t]+-?\d+[ \t\r]*(\n|$)")


def detect(source: Source) -> bool:
    """Whether the first line has three whole numbers."""
    return _HEADER.match(source.head) is not None


def pieces(reading: Reading) -> Iterator[Dataset]:
    """Yields the rows in blocks of lines, parsed by native code in parallel."""
    header = Header.of(reading.source, "rows features labels")
    assign_label_ids(reading, header.numbers[2], line=1)
    yield from sparse_pieces(reading, header, with_labels=True)


def write(data: Dataset, path: Path) -> None:
    """Writes features and label ids; names go to ``labels.jsonl`` beside it unless they are the ids."""
    if data.sparse is None or data.Y is None:
        raise LabelwoodError(
            "xc needs sparse features and labels, which this data does not have; write texts as jsonl, csv or parquet"
        )
    write_label_names(data, path)
    write_lines(path, f"{len(data)} {data.sparse.shape[1]} {data.n_labels}", data.Y, data.sparse)
