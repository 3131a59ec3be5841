"""svmlight, with several labels separated by commas: ``l1,l2 f:v f:v … # comment``, without a header. Ids stay as they
are: a file that counts features from one leaves feature 0 unused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from labelwood.data.dataset import Dataset
from labelwood.data.formats.sparse_lines import sparse_pieces, write_lines
from labelwood.data.label_files import with_label_numbers, write_label_names
from labelwood.data.reading import Reading
from labelwood.data.source import Source
from labelwood.errors import LabelwoodError

NAME = "svmlight"
HOLDS = frozenset({"sparse", "label_texts"})
FIELDS: str | None = None
RESERVED = frozenset[str]()
_ROW = re.compile(rb"\s*(#[^\n]*\n\s*)*([-+.,\d]+[ \t]+)?(qid:\d+[ \t]+)?\d+:[-+.\deEnaif]+([ \t\r\n]|$)")


def detect(source: Source) -> bool:
    """Whether the name ends like svmlight's, or the first row looks like labels and ``index:value`` pairs."""
    return source.name.endswith((".svm", ".svmlight", ".libsvm")) or _ROW.match(source.head) is not None


def pieces(reading: Reading) -> Iterator[Dataset]:
    """Yields the rows in blocks; labels are named after their ids unless a label file names them."""
    return sparse_pieces(reading, None, with_labels=True, svmlight=True)


def write(data: Dataset, path: Path) -> None:
    """Writes features and label ids."""
    if data.sparse is None:
        raise LabelwoodError("svmlight needs sparse features, which this data does not have")
    blank = np.diff(data.sparse.indptr) == 0
    if data.Y is not None:
        blank &= np.diff(data.Y.indptr) == 0
    if blank.any():
        raise LabelwoodError(
            f"row {int(blank.argmax())} has neither features nor labels, which svmlight cannot hold; "
            "remove the row or write xc"
        )
    write_label_names(data, path)
    write_lines(path, None, None if data.Y is None else with_label_numbers(data), data.sparse)
