"""CSV and TSV with a header line: a text column and a label column, read by Arrow in parallel."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from labelwood import _native
from labelwood.data.dataset import Dataset
from labelwood.data.label_files import write_label_texts
from labelwood.data.publishing import binary_output
from labelwood.data.reading import Columns, Reading
from labelwood.data.records import RowError, check_columns, to_dataset, to_table
from labelwood.data.source import Source, plain_name
from labelwood.data.unknown import distinct_columns, with_columns
from labelwood.errors import InputError, LabelwoodError

NAME = "csv"
HOLDS = frozenset({"texts", "line_breaks", "ids", "label_texts"})
FIELDS: str | None = "text"
RESERVED = frozenset({"id", "text", "labels", "rows"})
_BLOCK = 16 << 20
_MAX_BYTES = 2**31 - 1  # bytes that Arrow takes at a time
_PREAMBLE = re.compile(rb"(?:\xef\xbb\xbf)?(?:sep=([,;|:\t])\r?\n)?")  # a byte order mark, and Excel's line "sep=;"


class _Header(NamedTuple):
    columns: list[str]
    delimiter: str
    n_before: int  # bytes before the header
    is_after_mark: bool  # whether a line before the header names the delimiter


def detect(source: Source) -> bool:
    """Whether the name ends in .csv or .tsv."""
    return source.name.endswith((".csv", ".tsv"))


def pieces(reading: Reading) -> Iterator[Dataset]:
    """Yields the rows in blocks; every wanted column is read as text."""
    source = reading.source
    header = _header(source, reading.columns)
    _refuse_blanks(source, header.columns, reading.columns)
    wanted = check_columns(source, header.columns, reading.columns, line=1)
    if reading.keep_unknown:
        wanted = distinct_columns(reading, header.columns)
    row = 0
    for table in _tables(source, header, wanted):
        try:
            rows = to_dataset(table, reading)
            yield with_columns(rows, table, reading) if reading.keep_unknown else rows
        except RowError as e:
            raise source.error(f"row {row + e.row + 1} below the header: {e.message}") from None
        row += len(table)
    if row == 0:
        yield to_dataset(pa.table({name: pa.array([], pa.large_string()) for name in wanted}), reading)


def write(data: Dataset, path: Path, values: Mapping[str, Any] | None = None) -> None:
    """Writes id, text, labels and a column for each of `values`; label names must not contain the separator."""
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
    """Raises if a name in an Arrow array would be read back changed from a string of joined names.

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


def _header(source: Source, columns: Columns) -> _Header:
    """The header, with the delimiter that gives most of the wanted columns: some programs write semicolons."""
    preamble = _PREAMBLE.match(source.head)
    n_before = 0 if preamble is None else preamble.end()
    named = None if preamble is None or preamble[1] is None else preamble[1].decode("latin-1")
    usual = _delimiter(source.name)
    marks = [named] if named else [usual, *(mark for mark in (",", ";", "\t") if mark != usual)]
    # The head may end inside a character, but that is after the header.
    text = source.head[n_before:].decode("utf-8", "replace")
    try:
        headers = [_Header(_first_row(text, mark), mark, n_before, named is not None) for mark in marks]
    except csv.Error as e:
        raise source.error(f"the header is not CSV ({e}); write it like: text,labels", 1) from None
    wanted = set(columns.wanted)
    best = max(headers, key=lambda header: (len(wanted.intersection(header.columns)), len(header.columns)))
    if not best.columns:
        raise source.error("is empty; the first line must name the columns, for example: text,labels", 1)
    return best


def _first_row(text: str, delimiter: str) -> list[str]:
    return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])


def _refuse_blanks(source: Source, header: list[str], columns: Columns) -> None:
    for name in header:
        if name.strip() != name and name.strip() in columns.wanted and name.strip() not in header:
            raise source.error(f"the column {name!r} has blanks around its name; write {name.strip()!r}", 1)


def _tables(source: Source, header: _Header, wanted: list[str]) -> Iterator[Any]:
    """Yields the wanted columns, some megabytes at a time."""
    done = 0
    # Arrow loses a line feed in quotes if one of its blocks ends between a carriage return and this line feed.
    if source.plain_path is not None and b"\r" not in source.head:
        try:
            for table in _plain_tables(source.plain_path, header, wanted):
                yield table
                done += len(table)
        except (pa.ArrowException, OSError):
            pass  # the slower way below reads a long row, and names a wrong one
        else:
            return
    for table in _tables_of_pieces(source, header, wanted):
        if len(table) > done:
            yield table.slice(done)
        done = max(0, done - len(table))


def _plain_tables(path: Path, header: _Header, wanted: list[str]) -> Iterator[Any]:
    """Yields tables that Arrow reads from the file itself.

    Arrow's threads read ahead and may outlive the iterator. They must not read from a Python stream while Python ends.
    """
    read_options = pcsv.ReadOptions(skip_rows=int(header.is_after_mark), block_size=_BLOCK)
    with pa.OSFile(str(path)) as file:
        for batch in pcsv.open_csv(file, read_options, *_options(header, wanted)):
            yield pa.Table.from_batches([batch])


def _tables_of_pieces(source: Source, header: _Header, wanted: list[str]) -> Iterator[Any]:
    n_rows = 0
    for number, rows in enumerate(_whole_rows(source, header)):
        n_headers = int(number == 0)
        held = pa.allocate_buffer(len(rows))  # Arrow's threads must not hold bytes of Python either
        memoryview(held).cast("B")[:] = rows
        read_options = pcsv.ReadOptions(
            column_names=header.columns, skip_rows_after_names=n_headers, block_size=min(len(rows) + 1, _MAX_BYTES)
        )
        try:
            table = pcsv.read_csv(pa.BufferReader(held), read_options, *_options(header, wanted))
        except pa.ArrowException as e:
            raise _row_error(source, e, header, rows, n_rows - n_headers) from None
        n_rows += len(table)
        yield table


def _options(header: _Header, wanted: list[str]) -> tuple[Any, Any]:
    return (
        pcsv.ParseOptions(delimiter=header.delimiter, newlines_in_values=True),
        pcsv.ConvertOptions(
            column_types=dict.fromkeys(wanted, pa.large_string()), include_columns=wanted, strings_can_be_null=False
        ),
    )


def _whole_rows(source: Source, header: _Header) -> Iterator[memoryview]:
    """Yields the file in pieces of whole rows. Not every line end ends a row: some are within quotes."""
    with source.open() as stream:
        rest = stream.read(_BLOCK)[header.n_before :]
        while more := stream.read(max(_BLOCK, len(rest))):
            rows = rest + more
            end = _native.csv_rows_end(rows, header.delimiter)
            rest = rows[end:]
            if len(rest) > source.limits.max_line:
                raise source.error(f"a row {source.limits.long_line}")
            if end:
                yield memoryview(rows)[:end]
    if rest:
        yield memoryview(rest if rest.endswith((b"\n", b"\r")) else rest + b"\n")


def _row_error(source: Source, error: Exception, header: _Header, rows: memoryview, n_before: int) -> InputError:
    """The error for the first malformed row among `rows`; `n_before` rows stand between them and the header."""
    reason = str(error).split("\n", maxsplit=1)[0].removeprefix("CSV parse error: ")[:200]
    if "UTF8" in reason or "UTF-8" in reason:
        return source.error("is not UTF-8 text; convert the file to UTF-8", source.undecodable_line())
    usual_limit = csv.field_size_limit(len(rows))
    text = io.StringIO(str(rows, "utf-8", "replace"), newline="")
    try:
        found = (row for row in csv.reader(text, delimiter=header.delimiter) if row)
        for number, row in enumerate(found, n_before + 1):
            if len(row) != len(header.columns):
                n = len(header.columns)
                reason = f"row {number} below the header: has {len(row)} columns and not {n}"
                break
    except csv.Error:
        pass  # keep Arrow's reason
    finally:
        csv.field_size_limit(usual_limit)
    return source.error(f"is not well-formed CSV ({reason}); quote fields that hold delimiters")
