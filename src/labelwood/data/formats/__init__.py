"""The formats, one file each. Detection tries them in this order: unmistakable names and marks come first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from labelwood.data.formats import (
    arrays,
    attentionxml,
    delimited,
    fasttext,
    jsonl,
    parquet,
    pecos,
    plain_text,
    svmlight,
    xc_json,
    xc_split,
    xc_text,
)
from labelwood.data.reading import Format, TableFormat

TABLES: dict[str, TableFormat] = {module.NAME: module for module in (jsonl, delimited, parquet)}

COMPANIONS: dict[str, Callable[[Path], list[Path]]] = {  # the other files of a dataset, from its main file
    module.NAME: module.companions for module in (attentionxml, pecos, xc_split)
}

FORMATS: dict[str, Format] = {
    module.NAME: module
    for module in (
        parquet,
        pecos,
        arrays,
        delimited,
        attentionxml,
        fasttext,
        xc_json,
        jsonl,
        xc_text,
        xc_split,
        svmlight,
        plain_text,
    )
}
