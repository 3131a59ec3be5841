"""CSV and TSV with a header line: a text column and a label column, read by Arrow in parallel."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv

from labelwood.data.dataset import Dataset
from labelwood.data.reading import Reading
from labelwood.data.records import RowError, to_dataset
from labelwood.data.source import Source
from labelwood.errors import LabelwoodError

NAME = "csv"
_BLOCK = 4 << 20


def detect(source: Source) -> bool:
    """Whether the name ends in .csv or .tsv."""
    return source.name.endswith((".csv", ".tsv"))


def pieces(reading: Reading) -> Iterator[Dataset]:
    """Rows in blocks; every wanted column is read as text."""
    source = reading.source
    header = _header(source)
    wanted = [*reading.columns.text, reading.columns.labels, reading.columns.id]
    with source.open() as stream:
        row = 0
        for batch in _batches(source, stream, {name: pa.large_string() for name in wanted}, header):
            table = pa.Table.from_batches([batch])
            try:
                yield to_dataset(table, reading)
            except RowError as e:
                raise source.error(f"row {row + e.row + 1} below the header: {e.message}") from None
            row += len(table)


def write(data: Dataset, path: Path) -> None:
    """Writes id, text and labels; label names must not hold the separator."""
    from labelwood.data.write import text_output, write_label_texts

    if data.texts is None:
        raise LabelwoodError("the data has no texts, which csv needs; write it as xc or pecos")
    names = [] if data.labels is None else list(data.labels)
    unfit = next((name for name in names if ";" in name), None)
    if unfit is not None:
        raise LabelwoodError(f"the label {unfit!r} holds a ';', which separates labels in csv; write jsonl instead")
    with text_output(path) as out:
        writer = csv.writer(out, delimiter=_delimiter(path.name), lineterminator="\n")
        writer.writerow(["id"] * (data.ids is not None) + ["text"] + ["labels"] * (data.Y is not None))
        for i in range(len(data)):
            row = [] if data.ids is None else [data.ids[i].as_py()]
            row.append(data.texts[i].as_py())
            if data.Y is not None:
                row.append(";".join(names[j] for j in data.Y.indices[data.Y.indptr[i] : data.Y.indptr[i + 1]]))
            writer.writerow(row)
    write_label_texts(data, path)


def _delimiter(name: str) -> str:
    return "\t" if ".tsv" in name else ","


def _header(source: Source) -> list[str]:
    try:
        line = source.head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "strict" if len(source.head) < 1 << 16 else "ignore")
    except UnicodeDecodeError as e:
        line_number = 1 + source.head.count(b"\n", 0, e.start)
        raise source.error("is not UTF-8 text; convert the file to UTF-8", line_number) from None
    header = next(csv.reader(io.StringIO(line), delimiter=_delimiter(source.name)), [])
    if not header:
        raise source.error("is empty; the first line must name the columns, for example: text,labels", 1)
    repeated = next((name for name in header if header.count(name) > 1), None)
    if repeated is not None:
        raise source.error(f"the header names the column {repeated!r} twice; give every column its own name", 1)
    return header


def _batches(source: Source, stream: Any, types: dict[str, Any], header: list[str]) -> Iterator[Any]:
    wanted = [name for name in types if name in header]
    if not wanted:
        raise source.error(
            f"the header names none of the columns {', '.join(map(repr, types))} (it has: {', '.join(header)}); "
            "name the text column",
            1,
        )
    try:
        yield from pcsv.open_csv(
            stream,
            read_options=pcsv.ReadOptions(block_size=_BLOCK),
            parse_options=pcsv.ParseOptions(delimiter=_delimiter(source.name), newlines_in_values=True),
            convert_options=pcsv.ConvertOptions(column_types=types, include_columns=wanted, strings_can_be_null=False),
        )
    except pa.ArrowInvalid as e:
        reason = str(e).split("\n", maxsplit=1)[0].removeprefix("CSV parse error: ")
        if "UTF8" in reason or "UTF-8" in reason:
            reason = "is not UTF-8 text; convert the file to UTF-8"
            raise source.error(reason) from None
        raise source.error(f"is not well-formed CSV ({reason[:200]}); quote fields that hold delimiters") from None
    except OSError as e:
        raise source.error(f"its compression is broken ({e}); fetch or compress the file again") from None


