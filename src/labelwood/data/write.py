"""Writing datasets: every file appears whole or not at all."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from os import PathLike
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

import numpy as np
import pyarrow as pa

from labelwood.data.catalogue import BESIDE, read_catalogue
from labelwood.data.dataset import Dataset
from labelwood.data.reading import TableFormat
from labelwood.data.source import Source, beside_path, compressed, plain_name
from labelwood.errors import InputError, LabelwoodError, ParameterError
from labelwood.labels.index import LabelIndex

_written: ContextVar[list[Path] | None] = ContextVar("written", default=None)  # files of the dataset being written

_FORMAT_OF_SUFFIX = {
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".json": "xc-json",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".fasttext": "fasttext",
    ".npz": "arrays",
    ".txt": "xc",
}


def write(
    data: Dataset,
    path: str | PathLike[str],
    *,
    format: str | None = None,
    values: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Writes a dataset and returns the files that it took.

    The format follows from the name unless it is given; .gz, .xz, .bz2 and .zst compress. `values` are columns with a
    number for each label of each row, which jsonl, csv and parquet can hold: sparse matrices with the entries of Y.

    Example:
        >>> import tempfile, labelwood as lw
        >>> path = tempfile.mkdtemp() + "/pets.jsonl.gz"
        >>> _ = lw.write(lw.Dataset.from_texts(["a dog"], [["animal"]]), path)
        >>> lw.read(path).Y.toarray().tolist()
        [[1.0]]
    """
    from labelwood.data.formats import FORMATS

    target = Path(path)
    name = format or format_of_name(target)
    if name not in FORMATS:
        raise ParameterError(f"there is no format {name!r}; there are: {', '.join(FORMATS)}")
    if data.sparse is not None and not np.isfinite(data.sparse.data).all():
        raise LabelwoodError("the features hold NaN or infinity, which no reader accepts; replace those values first")
    written: list[Path] = []
    token = _written.set(written)
    try:
        if values:
            table_format(target, name).write(data, target, values)
        else:
            FORMATS[name].write(data, target)
    finally:
        _written.reset(token)
    return written


def format_of_name(path: Path) -> str:
    """The format a file's name asks for.

    Example:
        >>> format_of_name(Path("train.csv.gz")), format_of_name(Path("trn_X_Xf.txt"))
        ('csv', 'xc-split')
    """
    name = plain_name(path)
    if "_X_Xf" in name:
        return "xc-split"
    if name.endswith("texts.txt"):
        return "attentionxml"
    if name.startswith("X.") and name.endswith(".npz"):
        return "pecos"
    found = _FORMAT_OF_SUFFIX.get(Path(name).suffix)
    if found is None:
        raise ParameterError(f"the name {path.name!r} does not tell the format; name it with --to or format=")
    return found


def table_format(path: Path, name: str | None = None) -> TableFormat:
    """The format of a name, which must be one that can hold numbers beside labels.

    Example:
        >>> table_format(Path("rows.parquet")).NAME
        'parquet'
    """
    from labelwood.data.formats import TABLES

    name = name or format_of_name(path)
    if name not in TABLES:
        raise ParameterError(
            f"the format {name} cannot hold numbers beside labels; name the file *.jsonl, *.csv or *.parquet"
        )
    return TABLES[name]


def check_output(path: Path) -> None:
    """Raises where a file cannot be written, before the work is done that it is to hold.

    Example:
        >>> check_output(Path("/nowhere/rows.jsonl"))
        Traceback (most recent call last):
        ...
        labelwood.errors.InputError: /nowhere/rows.jsonl: cannot be written: there is no such folder; make it first
    """
    try:
        if path.exists() and not path.is_file():
            raise InputError("cannot be written: it is a folder or a device; name a file", path)
        if not path.parent.is_dir():
            raise InputError("cannot be written: there is no such folder; make it first", path)
    except OSError as e:
        raise _unwritable(path, e) from None


@contextlib.contextmanager
def binary_output(path: Path) -> Iterator[IO[bytes]]:
    """A stream into a new file beside `path`, compressed as its suffix asks, renamed to it once all is written."""
    check_output(path)
    # Named before it is made: Ctrl-C between the two leaves nothing, and after them the name is known.
    temporary = path.with_name(f".{path.name}.{token_hex(4)}")
    try:
        with temporary.open("xb") as raw, compressed(path, raw) as stream:
            yield stream
        _sync(temporary)
        temporary.replace(path)
        if (written := _written.get()) is not None:
            written.append(path)
    except OSError as e:
        raise _unwritable(path, e) from None
    finally:
        with contextlib.suppress(OSError):  # it need not be there, and its name may be too long to be anywhere
            temporary.unlink()


@contextlib.contextmanager
def text_output(path: Path) -> Iterator[IO[str]]:
    """The same for UTF-8 text."""
    with binary_output(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="\n", write_through=False)
        try:
            yield text
        finally:
            text.detach()


def write_json_lines(table: Any, out: IO[str]) -> None:
    """Writes each row of an Arrow table as one JSON object."""
    for batch in table.to_batches(max_chunksize=1 << 14):
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())


def write_label_texts(data: Dataset, path: Path) -> None:
    """Writes ``labels.jsonl`` beside `path` where labels have texts that say more than their names."""
    if data.labels is None or data.label_texts is None:
        return
    with text_output(path.with_name("labels.jsonl")) as out:
        write_json_lines(pa.table({"id": data.labels.to_arrow(), "text": data.label_texts}), out)


def write_label_names(data: Dataset, path: Path) -> None:
    """The same for formats that hold labels as numbers, and also where labels have names of their own.

    Files in one folder share it, so it is never replaced by one that would change the meaning of their numbers.
    """
    if data.labels is None:
        return
    there = beside_path(path, *BESIDE)
    refuse_other_labels(data.labels, there)
    if data.label_texts is not None:
        write_label_texts(data, path)
    elif there is None and data.labels != LabelIndex.numbered(len(data.labels)):
        with text_output(path.with_name("labels.jsonl")) as out:
            write_json_lines(pa.table({"id": data.labels.to_arrow()}), out)


def refuse_other_labels(labels: LabelIndex, there: Path | None) -> None:
    """Raises where a file that numbers other labels would come to describe these, or be lost."""
    if there is not None and read_catalogue(Source(there)).labels != labels:
        raise LabelwoodError(
            f"{there} names other labels than this data; write to another folder, or read the data with that file "
            "as its label file"
        )


def _unwritable(path: Path, error: OSError) -> InputError:
    reason = error.strerror or error
    return InputError(f"cannot be written ({reason}); check the folder, its permissions and the space left", path)


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
