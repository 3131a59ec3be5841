"""The Extreme Classification Repository's split format: ``trn_X_Xf.txt`` (features) beside ``trn_X_Y.txt`` (labels)
and, if present, ``lbl_X_Xf.txt`` (label features); each with a header ``rows columns``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from labelwood.data.dataset import Dataset
from labelwood.data.formats.sparse_lines import (
    Header,
    assign_label_ids,
    sparse_pieces,
    whole_matrix,
    write_lines,
)
from labelwood.data.label_files import write_label_names
from labelwood.data.reading import Reading
from labelwood.data.source import Source, plain_name
from labelwood.errors import LabelwoodError

NAME = "xc-split"
HOLDS = frozenset({"sparse", "label_texts", "label_features", "weights"})
FIELDS: str | None = None
RESERVED = frozenset[str]()
_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*-?\d+[ \t]+-?\d+[ \t\r]*(\n|$)")


def detect(source: Source) -> bool:
    """Whether the name is that of a feature file, or the first line has two whole numbers."""
    return source.name.endswith("_X_Xf.txt") or (
        source.name.endswith(".txt") and _HEADER.match(source.head) is not None
    )


def pieces(reading: Reading) -> Iterator[Dataset]:
    """Yields the feature rows in blocks. The labels are read first and whole, because they are small."""
    source = reading.source
    header = Header.of(source, "rows columns")
    Y = _labels(reading, header)
    label_features = source.sibling("lbl_X_Xf.txt") if Y is not None else None
    about_labels = None if label_features is None else whole_matrix(label_features)
    if about_labels is not None and label_features is not None and about_labels.shape[0] != len(reading.index):
        raise label_features.error(
            f"has {about_labels.shape[0]} rows where there are {len(reading.index)} labels; they must belong together",
            1,
        )
    row = 0
    for piece in sparse_pieces(reading, header, with_labels=False):
        part = None if Y is None else Y[row : row + len(piece)]
        row += len(piece)
        yield replace(piece, Y=part, labels=None if Y is None else reading.index, label_features=about_labels)


def write(data: Dataset, path: Path) -> None:
    """Writes features to `path`, and labels to the file with ``_X_Y`` instead of ``_X_Xf`` in its name."""
    if data.sparse is None:
        raise LabelwoodError("xc-split needs sparse features, which this data does not have")
    if "_X_Xf" not in path.name:
        raise LabelwoodError(f"xc-split writes files named like trn_X_Xf.txt, not {path.name}")
    if data.Y is not None:
        write_label_names(data, path)
        write_lines(companions(path)[0], f"{len(data)} {data.n_labels}", None, data.Y)
    if data.label_features is not None:
        n_labels, n_features = data.label_features.shape
        suffix = path.name.removeprefix(plain_name(path))
        target = path.with_name(f"lbl_X_Xf.txt{suffix}")
        write_lines(target, f"{n_labels} {n_features}", None, data.label_features, shared=True)
    write_lines(path, f"{len(data)} {data.sparse.shape[1]}", None, data.sparse)


def companions(path: Path) -> list[Path]:
    """The file of the labels."""
    return [path.with_name(path.name.replace("_X_Xf", "_X_Y"))] if "_X_Xf" in path.name else []


def _labels(reading: Reading, header: Header) -> Any:
    source = reading.source
    beside = source.sibling(source.name.replace("_X_Xf", "_X_Y")) if "_X_Xf" in source.name else None
    if beside is None:
        return None
    Y = whole_matrix(beside)
    if Y.shape[0] != header.n_rows:
        raise beside.error(f"has {Y.shape[0]} rows where {source} has {header.n_rows}; they must belong together", 1)
    assign_label_ids(reading, Y.shape[1], beside, line=1)
    Y.data[:] = Y.data != 0
    Y.eliminate_zeros()
    return Y.astype(np.float32)
