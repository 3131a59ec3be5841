"""JSON lines: one record, or one group of rows, per line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json as pj

from labelwood.data.carrying import write_json_lines
from labelwood.data.dataset import Dataset
from labelwood.data.label_files import write_label_texts
from labelwood.data.publishing import text_output
from labelwood.data.reading import Columns, Reading
from labelwood.data.records import RowError, to_dataset, to_table
from labelwood.data.source import Block, Source
from labelwood.data.unknown import with_json

NAME = "jsonl"
HOLDS = frozenset({"texts", "line_breaks", "ids", "label_texts"})
FIELDS: str | None = "json"
RESERVED = frozenset({"id", "text", "labels", "rows"})
_ARROW_ERRORS = (pa.ArrowException, OverflowError, UnicodeEncodeError)  # for values that cannot become an Arrow column


def detect(source: Source) -> bool:
    """Whether the content begins with a JSON object."""
    return source.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def pieces(reading: Reading) -> Iterator[Dataset]:
    """Arrow parses each block of lines in parallel, with the types of its first lines.

    If Arrow fails, Python's own parser reads the block: it accepts mixed types, or names the line at fault.
    """
    for block in reading.source.blocks():
        lines = _record_lines(block)
        if not lines:
            continue
        table = _fast_table(block, lines, reading.columns)
        if table is None:
            table = _slow_table(block, reading)
        try:
            rows = to_dataset(table, reading)
        except RowError as e:
            raise reading.source.error(e.message, _line_of(block, e.row)) from None
        yield with_json(rows, _record_texts(block, reading.source), reading.columns) if reading.keep_unknown else rows


def write(data: Dataset, path: Path, values: Mapping[str, Any] | None = None) -> None:
    """Writes rows or groups with the names of their labels, and ``labels.jsonl`` beside them if labels have texts."""
    table, groups = to_table(data, values), data.groups
    write_label_texts(data, path)
    with text_output(path) as out:
        if groups is None:
            write_json_lines(table, out, data.fields)
        else:
            write_json_lines(table, out, groups.fields, of_rows=data.fields)


def _record_texts(block: Block, source: Source) -> Iterator[str]:
    """Yields the lines with records as text; raises for a line that Arrow accepts but Python's parser does not."""
    for number, line in enumerate(block.data.split(b"\n"), block.first_line):
        if line.strip():
            _parse_record(line, source, number)
            yield line.decode()


def _record_lines(block: Block) -> int:
    """How many lines hold a record."""
    lines = block.data.count(b"\n") + (not block.data.endswith(b"\n"))
    if b"\n\n" in block.data or b"\n\r" in block.data or block.data[:1].isspace() or b" \n" in block.data:
        lines = sum(1 for line in block.data.split(b"\n") if line.strip())
    return lines


def _line_of(block: Block, row: int) -> int:
    """The line number of the block's row-th record."""
    filled = (i for i, line in enumerate(block.data.split(b"\n")) if line.strip())
    return block.first_line + next(i for n, i in enumerate(filled) if n == row)


def _fast_table(block: Block, n_records: int, columns: Columns) -> Any:
    schema = _schema(block, columns)
    if schema is None:
        return None
    try:
        table = pj.read_json(
            pa.BufferReader(block.data),
            read_options=pj.ReadOptions(block_size=max(1 << 20, len(block.data) // 4)),
            parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
        table.validate(full=True)
    except MemoryError:
        raise
    except pa.ArrowException:
        return None
    return table if len(table) == n_records else None


def _schema(block: Block, columns: Columns) -> Any:
    """The types of the wanted columns, from the first records of the block; None if these do not show them."""
    samples: dict[str, list[Any]] = {}
    for line in block.data[: 1 << 18].split(b"\n")[:50]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(record, dict):
            return None
        for name, value in record.items():
            samples.setdefault(name, []).append(value)
    fields = []
    for name in columns.wanted:
        if name in samples:
            kind = _type_of(samples[name])
            if kind is None or (name == columns.rows and _is_partial(kind, columns)):
                return None
            fields.append(pa.field(name, kind))
        elif _may_occur(name, block):
            return None
    return pa.schema(fields) if fields else None


def _may_occur(name: str, block: Block) -> bool:
    """Whether a later record may have the column; without a type for it, Arrow would leave it out."""
    return any(json.dumps(name, ensure_ascii=ascii_only).encode() in block.data for ascii_only in (True, False))


def _is_partial(rows: Any, columns: Columns) -> bool:
    """Whether the rows of the first groups are records that lack a wanted column; later groups may have it."""
    if not pa.types.is_list(rows) or not pa.types.is_struct(rows.value_type):
        return False
    there = {field.name for field in rows.value_type}
    return not there.issuperset({*columns.text, columns.id})


def _type_of(values: list[Any]) -> Any:
    try:
        kind = pa.infer_type(values, from_pandas=False)
    except _ARROW_ERRORS:
        return None
    return None if _has_null(kind) else kind


def _has_null(kind: Any) -> bool:
    if pa.types.is_list(kind):
        return _has_null(kind.value_type)
    if pa.types.is_struct(kind):
        return any(_has_null(field.type) for field in kind)
    return bool(pa.types.is_null(kind))


def _slow_table(block: Block, reading: Reading) -> Any:
    wanted = reading.columns.wanted
    records: list[dict[str, Any]] = []
    for i, line in enumerate(block.data.split(b"\n")):
        if line.strip():
            record = _parse_record(line, reading.source, block.first_line + i)
            records.append({name: record[name] for name in wanted if name in record})
    names = [name for name in wanted if any(name in record for record in records)]
    return pa.table({name: _array(records, name, block, reading) for name in names}) if names else _no_columns(records)


def _no_columns(records: list[dict[str, Any]]) -> Any:
    return pa.table({"": pa.nulls(len(records))})


def _parse_record(line: bytes, source: Source, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line.decode())
    except UnicodeDecodeError:
        raise source.error("is not UTF-8 text; convert the file to UTF-8", number) from None
    except (ValueError, RecursionError) as e:
        raise source.error(f"is not JSON ({e}); write one object a line", number) from None
    if not isinstance(record, dict):
        raise source.error('is not a JSON object; write one like {"text": "…", "labels": ["…"]} a line', number)
    return record


def _array(records: list[dict[str, Any]], name: str, block: Block, reading: Reading) -> Any:
    values = [record.get(name) for record in records]
    if name in {reading.columns.id, reading.columns.group}:  # numbers and strings may mix
        values = [str(value) if isinstance(value, int) else value for value in values]
    try:
        return pa.array(values)
    except MemoryError:
        raise
    except _ARROW_ERRORS:
        kind = _first_kind(values)
        row = next((i for i, value in enumerate(values) if value is not None and not _fits(value, kind)), 0)
        shown = json.dumps(values[row])[:40]
        raise reading.source.error(
            f"{name!r} is {shown}, which is not a valid text or number, or has another type than in other lines; "
            "give all of them one type",
            _line_of(block, row),
        ) from None


def _first_kind(values: list[Any]) -> Any:
    return next((kind for v in values if v is not None and (kind := _type_of([v])) is not None), None)


def _fits(value: Any, kind: Any) -> bool:
    try:
        pa.array([value], kind)
    except _ARROW_ERRORS:
        return False
    return True
