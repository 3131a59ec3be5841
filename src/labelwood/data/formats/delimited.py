"""CSV and TSV with a header line: a text column and a label column, read by Arrow in parallel."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from labelwood.data.catalogue import check_utf8
from labelwood.data.dataset import Dataset
from labelwood.data.label_files import write_label_texts
from labelwood.data.publishing import binary_output
from labelwood.data.reading import Columns, Reading
from labelwood.data.records import RowError, check_columns, to_dataset, to_table
from labelwood.data.source import Source, plain_name
from labelwood.data.unknown import all_columns, with_columns
from labelwood.errors import InputError, LabelwoodError

NAME = "csv"
HOLDS = frozenset({"texts", "line_breaks", "ids", "label_texts"})
FIELDS: str | None = "text"
RESERVED = frozenset({"id", "text", "labels", "rows"})
_BLOCK = 4 << 20
_TOO_LONG = ("straddl", "Empty CSV file or block")  # what Arrow says of a row, or a header, longer than a block
_BOM = b"\xef\xbb\xbf"


def detect(source: Source) -> bool:
    """Whether the name ends in .csv or .tsv."""
    return source.name.endswith((".csv", ".tsv"))


def pieces(reading: Reading) -> Iterator[Dataset]:
    """Rows in blocks; every wanted column is read as text."""
    source = reading.source
    header = _header(source)
    wanted = check_columns(source, header, reading.columns, line=1)
    if reading.keep_unknown:
        wanted = all_columns(reading, header)
    row = 0
    for batch in _batches(source, wanted):
        try:
            table = pa.Table.from_batches([batch])
            rows = to_dataset(table, reading)
            yield with_columns(rows, table, reading) if reading.keep_unknown else rows
        except RowError as e:
            raise source.error(f"row {row + e.row + 1} below the header: {e.message}") from None
        row += len(batch)
    if row == 0:
        yield to_dataset(pa.table({name: pa.array([], pa.large_string()) for name in wanted}), reading)


def write(data: Dataset, path: Path, values: Mapping[str, Any] | None = None) -> None:
    """Writes id, text and labels, and `values` as a list beside them; label names must not hold the separator."""
    if data.groups is not None:
        raise LabelwoodError("the data is groups of rows, which csv cannot hold; write jsonl or parquet instead")
    table = to_table(data, values, lambda fields: fields.text_columns[0])
    separator = Columns().label_separator
    if data.Y is not None and data.labels is not None:
        check_names(data.labels.to_arrow(), separator)
        for name in ("labels", *(values or ())):
            lists = table[name].cast(pa.large_list(pa.large_string()))
            joined = pc.binary_join(lists, pa.scalar(separator, pa.large_string()))
            table = table.set_column(table.column_names.index(name), name, joined)
    write_label_texts(data, path)
    with binary_output(path) as out:
        pcsv.write_csv(table, out, pcsv.WriteOptions(delimiter=_delimiter(plain_name(path))))


def check_names(names: Any, separator: str = Columns().label_separator) -> None:
    """Raises where names (an Arrow array) would not come back from a string that the separator joins.

    Example:
        >>> check_names(pa.array(["animal"]))
    """
    splits = pc.match_substring(names, separator)
    changes = pc.not_equal(pc.utf8_trim_whitespace(names), names)
    unfit = names.filter(pc.or_(splits, changes))
    if len(unfit):
        raise LabelwoodError(
            f"the label {unfit[0].as_py()!r} holds a {separator!r}, which separates labels in csv, or a space at its "
            "end; write jsonl instead"
        )


def _delimiter(name: str) -> str:
    return "\t" if name.endswith(".tsv") else ","


def _delimiter_of(source: Source) -> str:
    """What separates the columns of the header: some programs write semicolons or tabs into .csv files."""
    header = source.head.split(b"\n", 1)[0].decode("utf-8", "replace")
    if source.name.endswith(".tsv") or "," in header:
        return _delimiter(source.name)
    return next((mark for mark in (";", "\t") if mark in header), ",")


def _header(source: Source) -> list[str]:
    # Only the header must be whole; the head may end inside a character.
    text = source.head.removeprefix(_BOM).decode("utf-8", "replace")
    try:
        header = next(csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter_of(source)), [])
    except csv.Error as e:
        raise source.error(f"the header is not CSV ({e}); write it like: text,labels", 1) from None
    if not header:
        raise source.error("is empty; the first line must name the columns, for example: text,labels", 1)
    return header


def _batches(source: Source, wanted: list[str]) -> Iterator[Any]:
    """Arrow's batches; from a row on that is longer than its blocks, Python's, which look at one row at a time."""
    done = 0
    try:
        for batch in _open(source, wanted):
            yield batch
            done += len(batch)
    except pa.ArrowException as e:
        if not any(sign in str(e) for sign in _TOO_LONG):
            raise _refusal(source, e) from None
        yield from _long_rows(source, wanted, done)


def _long_rows(source: Source, wanted: list[str], done: int) -> Iterator[Any]:
    """The rows after the first `done`."""
    usual_limit = csv.field_size_limit(source.limits.max_line)
    rows = (row for row in csv.reader(_lines(source), delimiter=_delimiter_of(source), strict=True) if row)
    try:
        header = next(rows)
        places = [header.index(name) for name in wanted]
        held: list[list[str]] = []
        n_held = 0
        for number, row in enumerate(rows, 1):
            if len(row) != len(header):
                raise source.error(
                    f"row {number} below the header: has {len(row)} columns and not {len(header)}; mend it"
                )
            if number <= done:
                continue
            held.append([row[place] for place in places])
            n_held += sum(map(len, row))
            if n_held > _BLOCK:
                yield _batch(held, wanted)
                held, n_held = [], 0
        if held:
            yield _batch(held, wanted)
    except csv.Error as e:
        reason = source.limits.long_line if "field limit" in str(e) else f"is not well-formed CSV ({e}); mend it"
        raise source.error(f"a row {reason}") from None
    finally:
        csv.field_size_limit(usual_limit)


def _lines(source: Source) -> Iterator[str]:
    for block in source.blocks():
        yield from io.StringIO(check_utf8(source, block), newline="")


def _batch(rows: list[list[str]], wanted: list[str]) -> Any:
    columns = zip(*rows, strict=True)
    return pa.record_batch([pa.array(column, pa.large_string()) for column in columns], names=wanted)


def _open(source: Source, wanted: list[str]) -> Iterator[Any]:
    if source.is_all_head and len(source.head.strip(b"\r\n").splitlines()) == 1:
        return  # a header alone, which Arrow refuses
    with source.open() as stream:
        yield from pcsv.open_csv(
            stream,
            read_options=pcsv.ReadOptions(block_size=_BLOCK),
            parse_options=pcsv.ParseOptions(delimiter=_delimiter_of(source), newlines_in_values=True),
            convert_options=pcsv.ConvertOptions(
                column_types=dict.fromkeys(wanted, pa.large_string()),
                include_columns=wanted,
                strings_can_be_null=False,
            ),
        )


def _refusal(source: Source, error: Exception) -> InputError:
    reason = str(error).split("\n", maxsplit=1)[0].removeprefix("CSV parse error: ")
    if "UTF8" in reason or "UTF-8" in reason:
        return source.error("is not UTF-8 text; convert the file to UTF-8", source.undecodable_line())
    return source.error(f"is not well-formed CSV ({reason[:200]}); quote fields that hold delimiters")
