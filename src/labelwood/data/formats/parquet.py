"""Parquet with a text column and a label column (a list, or a delimited string)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from labelwood.data.dataset import Dataset
from labelwood.data.label_files import write_label_texts
from labelwood.data.publishing import binary_output
from labelwood.data.reading import Reading
from labelwood.data.records import RowError, check_columns, to_dataset, to_table
from labelwood.data.source import Source
from labelwood.data.unknown import all_columns, with_columns

NAME = "parquet"
HOLDS = frozenset({"texts", "line_breaks", "ids", "label_texts"})
FIELDS: str | None = "columns"
RESERVED = frozenset({"id", "text", "labels", "rows"})
_MAGIC = b"PAR1"
_ROWS = 1 << 16


def detect(source: Source) -> bool:
    """Whether the content begins with Parquet's mark."""
    return source.head.startswith(_MAGIC)


def pieces(reading: Reading) -> Iterator[Dataset]:
    """Rows in batches; only the wanted columns are decoded."""
    source = reading.source
    row = 0
    try:
        with source.seekable() as stream, pq.ParquetFile(stream) as file:
            wanted = check_columns(source, file.schema_arrow.names, reading.columns)
            if reading.keep_unknown:
                wanted = all_columns(source, file.schema_arrow.names)
            for batch in file.iter_batches(_ROWS, columns=wanted):
                table = pa.Table.from_batches([batch])
                table.validate(full=True)
                rows = to_dataset(table, reading)
                yield with_columns(rows, table, reading.columns) if reading.keep_unknown else rows
                row += len(table)
            if row == 0:
                yield to_dataset(file.schema_arrow.empty_table().select(wanted), reading)
    except RowError as e:
        raise source.error(f"row {row + e.row + 1}: {e.message}") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as e:
        reason = str(e).split("\n", maxsplit=1)[0][:200]
        raise source.error(f"is not a sound Parquet file ({reason}); write or fetch it again") from None


def write(data: Dataset, path: Path, values: Mapping[str, Any] | None = None) -> None:
    """Writes id, text and labels (a list of names); or groups with their rows."""
    table = to_table(data, values, lambda fields: fields.columns[0])
    write_label_texts(data, path)
    with binary_output(path) as out:
        pq.write_table(table, out, compression="zstd")
