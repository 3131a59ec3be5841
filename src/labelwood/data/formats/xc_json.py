"""The Extreme Classification Repository's raw texts: ``trn.json``, ``tst.json``, with labels in ``lbl.json``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from labelwood.data.catalogue import read_catalogue
from labelwood.data.dataset import Dataset
from labelwood.data.formats import jsonl
from labelwood.data.reading import Columns, Reading
from labelwood.data.source import Source, beside_path, plain_name
from labelwood.errors import LabelwoodError

NAME = "xc-json"
_COLUMNS = Columns(text=("title", "content"), labels="target_ind", id="uid")
_KEY = re.compile(rb'[{,]\s*"target_ind"\s*:')  # a text may have the same words


def detect(source: Source) -> bool:
    """Whether the name is one of the repository's, or the first records have ``target_ind``."""
    return jsonl.detect(source) and (source.name in ("trn.json", "tst.json") or _KEY.search(source.head) is not None)


def pieces(reading: Reading) -> Iterator[Dataset]:
    """A row's text is its title and content; labels are line numbers of ``lbl.json``, whatever ids it has."""
    reading.label_numbers = reading.label_numbers or "lines"
    labels = None if reading.catalogue_given else reading.source.sibling("lbl.json")
    if labels is not None:
        reading.describe_labels(read_catalogue(labels))
    elif reading.catalogue is None:
        raise reading.source.error("the labels' file lbl.json is not beside it; put it there, or name a label file")
    text = reading.columns.text if reading.columns.text != Columns().text else _COLUMNS.text
    reading.columns = replace(_COLUMNS, text=text)
    yield from jsonl.pieces(reading)


def write(data: Dataset, path: Path) -> None:
    """Writes rows to `path` and the labels to ``lbl.json`` beside it, compressed alike."""
    from labelwood.data.write import refuse_other_labels, text_output, write_json_lines

    if data.texts is None or data.Y is None or data.labels is None:
        raise LabelwoodError("xc-json needs texts and labels, which this data does not have")
    indptr = pa.array(data.Y.indptr, pa.int64())
    rows = {
        "uid": pa.array(np.arange(len(data))).cast(pa.large_string()) if data.ids is None else data.ids,
        "title": pa.repeat("", len(data)),
        "content": data.texts,
        "target_ind": pa.LargeListArray.from_arrays(indptr, pa.array(data.Y.indices)),
        "target_rel": pa.LargeListArray.from_arrays(indptr, pa.array(data.Y.data)),
    }
    refuse_other_labels(data.labels, beside_path(path, "lbl.json"))
    with text_output(path) as out:
        write_json_lines(pa.table(rows), out)
    names = data.labels.to_arrow()
    titles = names if data.label_texts is None else data.label_texts
    labels = {"uid": names, "title": titles, "content": pa.repeat("", len(names))}
    suffix = path.name.removeprefix(plain_name(path))
    with text_output(path.with_name(f"lbl.json{suffix}")) as out:
        write_json_lines(pa.table(labels), out)
