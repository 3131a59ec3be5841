"""svmlight, with several labels separated by commas: ``l1,l2 f:v f:v … # comment``, no header. Ids are taken as they
are; files that count features from one simply leave feature 0 unused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from labelwood.data.dataset import Dataset
from labelwood.data.formats.sparse_lines import sparse_pieces, write_lines
from labelwood.data.reading import Reading
from labelwood.data.source import Source
from labelwood.errors import LabelwoodError

NAME = "svmlight"
_ROW = re.compile(rb"\s*(#[^\n]*\n\s*)*([-+.,\d]+[ \t]+)?(qid:\d+[ \t]+)?\d+:[-+.\deEnaif]+([ \t\r\n]|$)")


def detect(source: Source) -> bool:
    """Whether the name says so, or the first row looks like labels and ``index:value`` pairs."""
    return source.name.endswith((".svm", ".svmlight", ".libsvm")) or _ROW.match(source.head) is not None


def pieces(reading: Reading) -> Iterator[Dataset]:
    """Rows in blocks; labels are named after their ids unless a catalogue names them."""
    for piece in sparse_pieces(reading, None, with_labels=True, svmlight=True):
        if reading.catalogue is not None and piece.Y.shape[1] > len(reading.index):
            raise reading.source.error(
                f"label {piece.Y.shape[1] - 1} is out of range: {reading.catalogue} names {len(reading.index)} labels"
            )
        reading.index.add(str(label) for label in range(len(reading.index), piece.Y.shape[1]))
        yield replace(piece, labels=reading.index)


def write(data: Dataset, path: Path) -> None:
    """Writes features and label ids."""
    if data.sparse is None:
        raise LabelwoodError("svmlight needs sparse features, which this data does not have")
    write_lines(path, None, data.Y, data.sparse)
