"""The Extreme Classification Repository's raw texts: ``trn.json``, ``tst.json``, with labels in ``lbl.json``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from labelwood.data.carrying import write_json_lines
from labelwood.data.catalogue import read_catalogue
from labelwood.data.dataset import Dataset
from labelwood.data.fields import original_ids
from labelwood.data.formats import jsonl
from labelwood.data.label_files import write_label_titles
from labelwood.data.publishing import text_output
from labelwood.data.reading import Columns, Reading
from labelwood.data.source import Source
from labelwood.errors import LabelwoodError

NAME = "xc-json"
HOLDS = frozenset({"texts", "line_breaks", "ids", "label_texts", "weights"})
FIELDS: str | None = "json"
RESERVED = frozenset({"uid", "title", "content", "target_ind"})
_COLUMNS = Columns(text=("title", "content"), labels="target_ind", id="uid")
_KEY = re.compile(rb'[{,]\s*"target_ind"\s*:')  # a text may have the same words


def detect(source: Source) -> bool:
    """Whether the name is one of the repository's, or the first records have ``target_ind``."""
    return jsonl.detect(source) and (source.name in ("trn.json", "tst.json") or _KEY.search(source.head) is not None)


def pieces(reading: Reading) -> Iterator[Dataset]:
    """Yields rows whose text is title and content; labels are line numbers of ``lbl.json``, even if it has ids."""
    reading.label_numbers = reading.label_numbers or "lines"
    labels = None if reading.catalogue_given else reading.source.sibling("lbl.json")
    if labels is not None:
        reading.describe_labels(read_catalogue(labels))
    elif reading.catalogue is None:
        raise reading.source.error("the label file lbl.json is not beside it; put it there, or name a label file")
    text = reading.columns.text if reading.columns.text != Columns().text else _COLUMNS.text
    reading.columns = replace(_COLUMNS, text=text)
    yield from jsonl.pieces(reading)


def write(data: Dataset, path: Path) -> None:
    """Writes rows to `path`, and labels to ``lbl.json`` beside it with the same compression.

    Without ``target_rel``, every label has the weight one.
    """
    if data.texts is None or data.Y is None or data.labels is None:
        raise LabelwoodError("xc-json needs texts and labels, which this data does not have")
    indptr = pa.array(data.Y.indptr, pa.int64())
    rows = {
        "uid": _numbers(data) if data.ids is None else original_ids(data.ids, data.fields),
        "title": pa.repeat("", len(data)),
        "content": data.texts,
        "target_ind": pa.LargeListArray.from_arrays(indptr, pa.array(data.Y.indices)),
    }
    is_given = data.fields is not None and "target_rel" in data.fields.names()
    if not is_given and (data.Y.data != 1).any():
        rows["target_rel"] = pa.LargeListArray.from_arrays(indptr, pa.array(data.Y.data))
    write_label_titles(data, path)
    with text_output(path) as out:
        write_json_lines(pa.table(rows), out, data.fields)


def _numbers(data: Dataset) -> Any:
    return pa.array(np.arange(len(data))).cast(pa.large_string())
