"""Writes the other fields of rows, kept with `keep_unknown`: which of them a format can hold, and as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import IO, Any

from labelwood.data.dataset import Dataset
from labelwood.data.fields import Fields


def lost_fields(data: Dataset, how: str | None, reserved: Collection[str]) -> list[str]:
    """The names of fields that a format cannot hold, and of those whose name the format uses itself (`reserved`).

    `how` says how the format holds fields: as "json", as typed "columns", as "text", or not at all (None).

    Example:
        >>> data = Dataset(texts=["a dog"], fields=Fields.of_json(['"year": 1899, "who": ["me"]']))
        >>> lost_fields(data, "text", {"year"})
        ['year', 'who']
    """
    groups = data.groups
    parts = [
        (data.fields, data.ids),
        (None if groups is None else groups.fields, None if groups is None else groups.ids),
    ]
    return [
        name for fields, ids in parts if fields is not None for name in _unsupported_fields(fields, ids, how, reserved)
    ]


def _unsupported_fields(fields: Fields, ids: Any, how: str | None, reserved: Collection[str]) -> list[str]:
    if how is None:
        return [*fields.names(), *fields.repeated]
    unfit = set({"json": fields.json_texts, "columns": fields.columns, "text": fields.text_columns}[how][1])
    id_names = {"id"} if ids is None else set[str]()  # without ids no "id" is written; a "uid" always is
    lost = [name for name in fields.names() if name in unfit or (name in reserved and name not in id_names)]
    return [*lost, *fields.repeated]


def without_fields(data: Dataset, names: Collection[str]) -> Dataset:
    """The same dataset without these fields of rows and groups.

    Example:
        >>> data = Dataset(texts=["a dog"], fields=Fields.of_json(['"year": 1899, "who": "me"']))
        >>> without_fields(data, ["who"]).fields.names()
        ['year']
    """
    if not names:
        return data
    groups = data.groups
    if groups is not None and groups.fields is not None:
        groups = replace(groups, fields=groups.fields.without(names))
    return replace(data, fields=None if data.fields is None else data.fields.without(names), groups=groups)


def write_json_lines(table: Any, out: IO[str], fields: Fields | None = None, of_rows: Fields | None = None) -> None:
    """Writes each row of an Arrow table as a JSON object with its fields. `of_rows` are the fields of groups' rows."""
    more, inner = _field_texts(fields), _field_texts(of_rows)
    for batch in table.to_batches(max_chunksize=1 << 14):
        out.writelines(_json_object(row, next(more, _NO_FIELDS), inner) + "\n" for row in batch.to_pylist())


_NO_FIELDS = ("", False)


def _field_texts(fields: Fields | None) -> Iterator[tuple[str, bool]]:
    """For each row, the JSON text of its fields, and whether its id was a number."""
    if fields is None:
        return iter(())
    texts = fields.json_texts[0]
    return zip(texts or [""] * len(fields), fields.has_whole_id(), strict=True)


def _json_object(row: dict[str, Any], more: tuple[str, bool], inner: Iterator[tuple[str, bool]]) -> str:
    text, whole_id = more
    name = "uid" if "uid" in row else "id"
    if whole_id and isinstance(row.get(name), str):
        row[name] = int(row[name])
    rows = row.get("rows")
    if rows is None:
        written = json.dumps(row, ensure_ascii=False)
    else:
        parts = {key: json.dumps(value, ensure_ascii=False) for key, value in row.items()}
        parts["rows"] = f"[{', '.join(_json_object(each, next(inner, _NO_FIELDS), inner) for each in rows)}]"
        written = f"{{{', '.join(f'{json.dumps(key)}: {value}' for key, value in parts.items())}}}"
    return written if not text else f"{written[:-1]}{', ' * (len(written) > 2)}{text}}}"
