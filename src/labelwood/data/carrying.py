"""Writing the fields of rows that were read along: which of them a format can hold, and JSON lines with them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import IO, Any

from labelwood.data.dataset import Dataset
from labelwood.data.fields import Fields


def lost_fields(data: Dataset, how: str | None, reserved: Collection[str]) -> list[str]:
    """Names of fields that a format cannot hold, or has of its own.

    It holds them as "json", as "columns" with types, as "text", or (None) not at all.

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
    return [name for fields, ids in parts if fields is not None for name in _lost(fields, ids, how, reserved)]


def _lost(fields: Fields, ids: Any, how: str | None, reserved: Collection[str]) -> list[str]:
    if how is None:
        return [*fields.names(), *fields.repeated]
    unfit = set({"json": fields.json_texts, "columns": fields.columns, "text": fields.text_columns}[how][1])
    id_names = {"id"} if ids is None else set[str]()  # a "uid" is always written, and counts rows that have no ids
    lost = [name for name in fields.names() if name in unfit or (name in reserved and name not in id_names)]
    return [*lost, *fields.repeated]


def without_fields(data: Dataset, names: Collection[str]) -> Dataset:
    """The same but for these fields of rows and groups.

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
    """Writes each row of an Arrow table as one JSON object, with its fields; rows of groups have their own."""
    more, inner = _more(fields), _more(of_rows)
    for batch in table.to_batches(max_chunksize=1 << 14):
        out.writelines(_object(row, next(more, _NOTHING), inner) + "\n" for row in batch.to_pylist())


_NOTHING = ("", False)


def _more(fields: Fields | None) -> Iterator[tuple[str, bool]]:
    """What is to be added to each object, and whether its id is a number."""
    if fields is None:
        return iter(())
    texts = fields.json_texts[0]
    return zip(texts or [""] * len(fields), fields.whole(), strict=True)


def _object(row: dict[str, Any], more: tuple[str, bool], inner: Iterator[tuple[str, bool]]) -> str:
    text, whole_id = more
    name = "uid" if "uid" in row else "id"
    if whole_id and isinstance(row.get(name), str):
        row[name] = int(row[name])
    rows = row.get("rows")
    if rows is None:
        written = json.dumps(row, ensure_ascii=False)
    else:
        parts = {key: json.dumps(value, ensure_ascii=False) for key, value in row.items()}
        parts["rows"] = f"[{', '.join(_object(each, next(inner, _NOTHING), inner) for each in rows)}]"
        written = f"{{{', '.join(f'{json.dumps(key)}: {value}' for key, value in parts.items())}}}"
    return written if not text else f"{written[:-1]}{', ' * (len(written) > 2)}{text}}}"
