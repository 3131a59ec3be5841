"""Parquet with a text column and a label column (a list, or a delimited string)."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from labelwood.data.dataset import Dataset
from labelwood.data.label_files import write_label_texts
from labelwood.data.publishing import binary_output
from labelwood.data.reading import Reading
from labelwood.data.records import RowError, check_columns, to_dataset, to_table
from labelwood.data.source import Source
from labelwood.data.unknown import distinct_columns, with_columns

NAME = "parquet"
HOLDS = frozenset({"texts", "line_breaks", "ids", "label_texts"})
FIELDS: str | None = "columns"
RESERVED = frozenset({"id", "text", "labels", "rows"})
_MAGIC = b"PAR1"
_ROWS = 1 << 16
_DECODED_BYTES = 64 << 20  # decoded at a time
_HIGH_RATIO = 16  # a column that compresses this well may be one long string that is repeated
_FEW_BYTES = 64  # strings that take fewer bytes per value are taken for repeated ones


def detect(source: Source) -> bool:
    """Whether the content begins with Parquet's magic bytes."""
    return source.head.startswith(_MAGIC)


def pieces(reading: Reading) -> Iterator[Dataset]:
    """Yields the rows in batches; only the wanted columns are decoded."""
    source = reading.source
    row = 0
    try:
        for table in _tables(source, reading):
            rows = to_dataset(table, reading)
            yield with_columns(rows, table, reading) if reading.keep_unknown else rows
            row += len(table)
    except RowError as e:
        raise source.error(f"row {row + e.row + 1}: {e.message}") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as e:
        reason = str(e).split("\n", maxsplit=1)[0][:200]
        raise source.error(f"is not a sound Parquet file ({reason}); write or fetch it again") from None


def _tables(source: Source, reading: Reading) -> Iterator[Any]:
    """Yields the wanted columns piece by piece; a table without rows if the file has none."""
    with source.seekable() as stream:
        size = stream.seek(0, io.SEEK_END)
        metadata = pq.read_metadata(stream)
        schema = metadata.schema.to_arrow_schema()
        wanted = check_columns(source, schema.names, reading.columns)
        if reading.keep_unknown:
            wanted = distinct_columns(reading, schema.names)
        decoded = _check_size(source, 8 * sum(chunk.num_values for _, chunk in _chunks(metadata, wanted)), size)
        with pq.ParquetFile(stream, metadata=metadata, read_dictionary=_dictionary_columns(metadata, wanted)) as file:
            for batch in file.iter_batches(_rows_at_a_time(metadata, wanted), columns=wanted):
                table = pa.Table.from_batches([batch])
                n_bytes = sum(_decoded_size(column) for column in batch.columns)
                decoded = _check_size(source, decoded + n_bytes, size)
                step = max(1, len(table) * _DECODED_BYTES // max(n_bytes, _DECODED_BYTES))
                for start in range(0, len(table), step):
                    part = table.slice(start, step)
                    part.validate(full=True)
                    # Kept fields are written again with their original types.
                    yield (
                        part.cast(pa.schema([schema.field(name) for name in wanted])) if reading.keep_unknown else part
                    )
            if metadata.num_rows == 0:
                yield file.schema_arrow.empty_table().select(wanted)


def _chunks(metadata: Any, wanted: list[str]) -> Iterator[tuple[str, Any]]:
    """Yields the chunks of the wanted columns with their paths in the schema; a chunk's own path may be wrong."""
    paths = [metadata.schema.column(number).path for number in range(metadata.num_columns)]
    for group in range(metadata.num_row_groups):
        for number, path in enumerate(paths):
            if path.split(".")[0] in wanted:
                yield path, metadata.row_group(group).column(number)


def _rows_at_a_time(metadata: Any, wanted: list[str]) -> int:
    """The rows of a batch, fewer if rows are large; a repeated string counts only as its number."""
    n_bytes = sum(max(8 * chunk.num_values, chunk.total_uncompressed_size) for _, chunk in _chunks(metadata, wanted))
    return int(max(1, min(_ROWS, metadata.num_rows * _DECODED_BYTES // max(n_bytes, 1))))


def _check_size(source: Source, n_bytes: int, size: int) -> int:
    if (excess := source.limits.excess(n_bytes, size)) is not None:
        raise source.error(excess)
    return n_bytes


def _dictionary_columns(metadata: Any, wanted: list[str]) -> list[str]:
    """Columns whose strings the file seems to repeat. They stay dictionaries until their decoded size is checked."""
    few = {
        path
        for path, chunk in _chunks(metadata, wanted)
        if chunk.physical_type == "BYTE_ARRAY"
        and (
            chunk.total_uncompressed_size < _FEW_BYTES * chunk.num_values
            or chunk.total_uncompressed_size > _HIGH_RATIO * chunk.total_compressed_size
        )
    }
    return sorted(few)


def _decoded_size(values: Any) -> int:
    """The bytes that dictionaries of strings would take once decoded."""
    if pa.types.is_struct(values.type):
        return sum(_decoded_size(field) for field in values.flatten())
    if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        return _decoded_size(pc.list_flatten(values))
    if not pa.types.is_dictionary(values.type):
        return 0
    lengths = pc.binary_length(values.dictionary).take(values.indices)
    return pc.sum(lengths).as_py() or 0


def write(data: Dataset, path: Path, values: Mapping[str, Any] | None = None) -> None:
    """Writes id, text and labels (a list of names), or groups with their rows."""
    table = to_table(data, values, lambda fields: fields.columns[0])
    write_label_texts(data, path)
    with binary_output(path) as out:
        pq.write_table(table, out, compression="zstd")
