"""Writes files of answers piece by piece, as JSON lines, CSV or Parquet; the name of the file decides."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from labelwood.data.publishing import binary_output, check_main_name, check_output
from labelwood.data.source import plain_name
from labelwood.errors import ParameterError

Record = dict[str, Any]  # {"id": …, "labels": [{"label": …, "score": …}, …]}
Write = Callable[[Iterable[Record]], None]
_SEPARATOR = ";"  # the default of `labelwood.Columns`


def check_answers(path: Path, *, label_texts: bool, overwrite: bool) -> None:
    """Raises if answers cannot be written to a file; to be called before the predictions are made.

    Example:
        >>> check_answers(Path("answers.xlsx"), label_texts=False, overwrite=False)
        Traceback (most recent call last):
        ...
        labelwood.errors.ParameterError: answers.xlsx: answers are *.jsonl, *.csv, *.tsv or *.parquet; name the file so
    """
    check_main_name(path)
    if _format_of_name(path) in {"csv", "tsv"} and label_texts:
        raise ParameterError(
            f"{path}: CSV cannot hold the texts of labels; leave out --label-texts, or name it *.jsonl"
        )
    check_output(path, overwrite=overwrite)


@contextlib.contextmanager
def answers_to(path: Path, names: Any, *, label_texts: bool = False, overwrite: bool = False) -> Iterator[Write]:
    """Yields a function that writes answers piece by piece; the file appears once all are written.

    `names` are the names of all labels, because CSV cannot hold every name.

    Example:
        >>> import tempfile
        >>> from labelwood.labels import LabelIndex
        >>> path = Path(tempfile.mkdtemp()) / "answers.csv"
        >>> with answers_to(path, LabelIndex(["animal"])) as write:
        ...     write([{"id": 0, "labels": [{"label": "animal", "score": 0.5}]}])
        >>> path.read_text().splitlines()
        ['"id","labels","scores"', '"0","animal","0.5"']
    """
    from labelwood.data.formats.delimited import check_names

    kind = _format_of_name(path)
    if kind in {"csv", "tsv"}:
        check_names(names.to_arrow())
    with binary_output(path, overwrite=overwrite) as out:
        if kind == "jsonl":
            yield lambda records: out.writelines(f"{line}\n".encode() for line in json_lines(records))
        elif kind == "parquet":
            with _parquet(out, label_texts) as write:
                yield write
        else:
            with _delimited(out, "," if kind == "csv" else "\t") as write:
                yield write


def json_lines(records: Iterable[Record]) -> Iterator[str]:
    """Each answer as a JSON object.

    Example:
        >>> list(json_lines([{"id": 0, "labels": []}]))
        ['{"id": 0, "labels": []}']
    """
    return (json.dumps(record, ensure_ascii=False) for record in records)


def _format_of_name(path: Path) -> str:
    suffix = Path(plain_name(path)).suffix.lower()
    if suffix not in {"", ".jsonl", ".csv", ".tsv", ".parquet"}:
        raise ParameterError(f"{path}: answers are *.jsonl, *.csv, *.tsv or *.parquet; name the file so")
    return suffix[1:] or "jsonl"


@contextlib.contextmanager
def _delimited(out: IO[bytes], delimiter: str) -> Iterator[Write]:
    import pyarrow as pa
    import pyarrow.csv as pcsv

    schema = pa.schema([(name, pa.string()) for name in ("id", "labels", "scores")])
    with pcsv.CSVWriter(out, schema, write_options=pcsv.WriteOptions(delimiter=delimiter)) as writer:

        def write(records: Iterable[Record]) -> None:
            columns: list[list[str]] = [[], [], []]
            for record in records:
                columns[0].append(str(record["id"]))
                columns[1].append(_SEPARATOR.join(entry["label"] for entry in record["labels"]))
                columns[2].append(_SEPARATOR.join(str(entry["score"]) for entry in record["labels"]))
            writer.write_batch(pa.record_batch([pa.array(column, pa.string()) for column in columns], schema))

        yield write


@contextlib.contextmanager
def _parquet(out: IO[bytes], label_texts: bool) -> Iterator[Write]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = {"id": pa.string(), "labels": pa.list_(pa.string()), "scores": pa.list_(pa.float64())}
    keys = {"labels": "label", "scores": "score"} | ({"texts": "text"} if label_texts else {})
    schema = pa.schema(fields | ({"texts": pa.list_(pa.string())} if label_texts else {}))
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:

        def write(records: Iterable[Record]) -> None:
            records = list(records)
            columns: dict[str, list[Any]] = {"id": [str(record["id"]) for record in records]}
            for name, key in keys.items():
                columns[name] = [[entry.get(key) for entry in record["labels"]] for record in records]
            writer.write_table(pa.table(columns, schema))

        yield write
