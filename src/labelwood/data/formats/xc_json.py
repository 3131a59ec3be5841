"""The Extreme Classification Repository's raw texts: ``trn.json``, ``tst.json``, with labels in ``lbl.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from labelwood.data.catalogue import read_catalogue
from labelwood.data.dataset import Dataset
from labelwood.data.formats import jsonl
from labelwood.data.reading import Columns, Reading
from labelwood.data.source import Source
from labelwood.errors import LabelwoodError

NAME = "xc-json"
_COLUMNS = Columns(text=("title", "content"), labels="target_ind", id="uid")


def detect(source: Source) -> bool:
    """Whether the first records have ``target_ind``."""
    return jsonl.detect(source) and b'"target_ind"' in source.head


def pieces(reading: Reading) -> Iterator[Dataset]:
    """A row's text is its title and content; labels are line numbers of ``lbl.json``."""
    labels = reading.source.sibling("lbl.json")
    if labels is None:
        raise reading.source.error("the labels' file lbl.json is not beside it; put it there")
    catalogue = read_catalogue(labels)
    reading.index, reading.label_texts, reading.catalogue = catalogue.index, catalogue.texts, labels
    reading.columns = replace(_COLUMNS, text=reading.columns.text if reading.columns.text != ("text",) else _COLUMNS.text)
    yield from jsonl.pieces(reading)


def write(data: Dataset, path: Path) -> None:
    """Writes rows to `path` and the labels to ``lbl.json`` beside it, compressed alike."""
    from labelwood.data.write import text_output

    if data.texts is None or data.Y is None or data.labels is None:
        raise LabelwoodError("xc-json needs texts and labels, which this data does not have")
    with text_output(path) as out:
        for i in range(len(data)):
            ids = [int(j) for j in data.Y.indices[data.Y.indptr[i] : data.Y.indptr[i + 1]]]
            uid = str(i) if data.ids is None else data.ids[i].as_py()
            record = {"uid": uid, "title": "", "content": data.texts[i].as_py()}
            record |= {"target_ind": ids, "target_rel": [1.0] * len(ids)}
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
    suffix = path.name.partition(".json")[2]
    with text_output(path.with_name("lbl.json" + suffix)) as out:
        for j, name in enumerate(data.labels):
            text = name if data.label_texts is None else data.label_texts[j].as_py()
            out.write(json.dumps({"uid": name, "title": text, "content": ""}, ensure_ascii=False) + "\n")
