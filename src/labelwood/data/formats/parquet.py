"""Parquet with a text column and a label column (a list, or a delimited string)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from labelwood.data.dataset import Dataset
from labelwood.data.reading import Reading
from labelwood.data.records import RowError, to_dataset
from labelwood.data.source import Source
from labelwood.errors import LabelwoodError

NAME = "parquet"
_MAGIC = b"PAR1"
_ROWS = 1 << 16


def detect(source: Source) -> bool:
    """Whether the content begins with Parquet's mark."""
    return source.head.startswith(_MAGIC)


def pieces(reading: Reading) -> Iterator[Dataset]:
    """Rows in batches; only the wanted columns are decoded."""
    source, columns = reading.source, reading.columns
    wanted = [*columns.text, columns.labels, columns.id, columns.rows, columns.dense]
    row = 0
    try:
        file = pq.ParquetFile(_seekable(source))
        present = [name for name in wanted if name in file.schema_arrow.names]
        if not present:
            there = ", ".join(file.schema_arrow.names)
            raise source.error(f"has none of the columns {', '.join(map(repr, columns.text))} (it has: {there}); name the text column")
        for batch in file.iter_batches(_ROWS, columns=present):
            table = pa.Table.from_batches([batch])
            table.validate(full=True)
            yield to_dataset(table, reading)
            row += len(table)
    except RowError as e:
        raise source.error(f"row {row + e.row + 1}: {e.message}") from None
    except (pa.ArrowException, OSError) as e:
        reason = str(e).split("\n", maxsplit=1)[0][:200]
        raise source.error(f"is not a sound Parquet file ({reason}); write or fetch it again") from None


def write(data: Dataset, path: Path) -> None:
    """Writes id, text and labels (a list of names)."""
    from labelwood.data.write import binary_output, write_label_texts

    if data.texts is None:
        raise LabelwoodError("the data has no texts, which parquet needs; write it as xc or pecos")
    columns: dict[str, Any] = {}
    if data.ids is not None:
        columns["id"] = data.ids
    columns["text"] = data.texts
    if data.Y is not None and data.labels is not None:
        names = data.labels.to_arrow().take(pa.array(data.Y.indices))
        columns["labels"] = pa.LargeListArray.from_arrays(pa.array(data.Y.indptr, pa.int64()), names)
    with binary_output(path) as out:
        pq.write_table(pa.table(columns), out, compression="zstd")
    write_label_texts(data, path)


def _seekable(source: Source) -> Any:
    """Parquet is read from its end; a plain file is opened in place, anything else is held in memory."""
    return io.BytesIO(source.read()) if source.is_stdin or source.name != source.path.name else source.path
