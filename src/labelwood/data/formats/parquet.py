"""Parquet with a text column and a label column (a list, or a delimited string)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from labelwood.data.dataset import Dataset
from labelwood.data.reading import Reading
from labelwood.data.records import RowError, check_columns, to_dataset, to_table
from labelwood.data.source import Source

NAME = "parquet"
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
            for batch in file.iter_batches(_ROWS, columns=wanted):
                table = pa.Table.from_batches([batch])
                table.validate(full=True)
                yield to_dataset(table, reading)
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
    from labelwood.data.write import binary_output, write_label_texts

    table = to_table(data, values)
    with binary_output(path) as out:
        pq.write_table(table, out, compression="zstd")
    write_label_texts(data, path)
