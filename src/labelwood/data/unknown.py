"""Reads fields that a dataset has no part for, so that conversions can write them again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from labelwood.data import json_text
from labelwood.data.dataset import Dataset
from labelwood.data.fields import Fields
from labelwood.data.reading import Columns, Reading

_WHOLE = re.compile(r"-?[0-9]+")


def with_columns(data: Dataset, table: Any, reading: Reading) -> Dataset:
    """A dataset made from a table, with the table's other columns as fields.

    Example:
        >>> from labelwood.data.source import Source
        >>> table = pa.table({"text": ["a dog"], "year": [1899]})
        >>> with_columns(Dataset.from_texts(["a dog"]), table, Reading(Source("-"))).fields.names()
        ['year']
    """
    groups, columns = data.groups, reading.columns
    if groups is None or columns.group is not None:
        return data.with_parts(
            fields=_column_fields(table, _row_columns(columns), columns.id, data.ids, reading.repeated)
        )
    own = _column_fields(table, {columns.labels, columns.rows}, columns.id, groups.ids, reading.repeated)
    inner = pc.list_flatten(table[columns.rows].combine_chunks())
    if isinstance(inner, pa.ChunkedArray):
        inner = inner.combine_chunks()
    members = None
    if pa.types.is_struct(inner.type):
        rows = pa.Table.from_batches([pa.RecordBatch.from_struct_array(inner)])
        members = _column_fields(rows, set(columns.text), columns.id, data.ids)
    return data.with_parts(fields=members, groups=replace(groups, fields=own))


def with_json(data: Dataset, lines: Iterable[str], columns: Columns) -> Dataset:
    """A dataset made from JSON objects, with their other members as fields.

    Example:
        >>> with_json(Dataset.from_texts(["a"]), ['{"text": "a", "year": 1899}'], Columns()).fields.json_texts[0]
        ['"year": 1899']
    """
    groups = data.groups
    if groups is None or columns.group is not None:
        return data.with_parts(fields=_json_fields(lines, _row_columns(columns), columns.id, data.ids))
    lines = list(lines)
    lists = [next(value for key, value in json_text.members(line) if key == columns.rows) for line in lines]
    rows = [row if row.startswith("{") else "{}" for text in lists for row in json_text.elements(text)]
    members = _json_fields(rows, set(columns.text), columns.id, data.ids)
    own = _json_fields(lines, {columns.labels, columns.rows}, columns.id, groups.ids)
    return data.with_parts(fields=members, groups=replace(groups, fields=own))


def distinct_columns(reading: Reading, names: list[str]) -> list[str]:
    """The column names that occur once; repeated names are kept in `reading.repeated` and not read."""
    times = Counter(names)
    reading.repeated = tuple(name for name in times if times[name] > 1)
    return [name for name in names if times[name] == 1]


def _row_columns(columns: Columns) -> set[str]:
    named = (*columns.text, columns.labels, columns.dense, columns.group)
    return {name for name in named if name is not None}


def _column_fields(
    table: Any, known: set[str], id_name: str, ids: Any, repeated: tuple[str, ...] = ()
) -> Fields | None:
    """The columns without the `known` ones; an id column that could not be used is kept as a field."""
    known = known if ids is None else known | {id_name}
    whole = None
    if ids is not None and id_name in table.column_names and pa.types.is_integer(table[id_name].type):
        whole = pc.is_valid(table[id_name].combine_chunks())
        whole = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
    rest = table.select([name for name in table.column_names if name not in known])
    if not rest.num_columns and whole is None and not repeated:
        return None
    return Fields(rest, whole_ids=whole, repeated=repeated)


def _json_fields(lines: Iterable[str], known: set[str], id_name: str, ids: Any) -> Fields | None:
    known = known if ids is None else known | {id_name}
    texts: list[str] = []
    whole: list[bool] = []
    for line in lines:
        pairs = list(json_text.members(line))
        texts.append(json_text.join_members([pair for pair in pairs if pair[0] not in known]))
        whole.append(ids is not None and any(key == id_name and _WHOLE.fullmatch(value) for key, value in pairs))
    return Fields.of_json(texts, pa.array(whole, pa.bool_())) if any(texts) or any(whole) else None
