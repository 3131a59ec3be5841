"""Reading: finds the files, tells the format, joins the pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from labelwood.data.catalogue import find_catalogue, label_lines, read_catalogue
from labelwood.data.dataset import Dataset
from labelwood.data.formats import FORMATS
from labelwood.data.groups import merged
from labelwood.data.joining import concat
from labelwood.data.reading import Columns, Format, Reading
from labelwood.data.source import Source, plain_name
from labelwood.errors import InputError, ParameterError
from labelwood.labels.index import LabelIndex

_PAIRS = re.compile(rb"(?:[ \t]*(?:[0-9]{1,18}[ \t]+[0-9]{1,18}[ \t]*)?\r?(?:\n|\Z))*+")  # and empty lines
_SHORT = {"train": "trn", "test": "tst"}
# Main files of a folder, in the order they are looked for; {s} is the split, {t} its short form.
_MAIN_FILES = (
    "{t}_X_Xf.txt",
    "{t}.json",
    "X.{t}.npz",
    "{s}_raw_texts.txt",
    "{s}_texts.txt",
    "{s}.jsonl",
    "{s}.parquet",
    "{s}.csv",
    "{s}.tsv",
    "{s}.svm",
    "{s}.fasttext",
    "{s}.txt",
)


def read(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    split: str = "train",
    columns: Columns | None = None,
    label_file: str | PathLike[str] | None = None,
    filter_file: str | PathLike[str] | None = None,
    on_rows: Callable[[int], object] | None = None,
    keep_unknown: bool = False,
) -> Dataset:
    """Reads a file, or the `split` of a folder, in any format of the field.

    The format is told by content and name, compressed or not. A ``labels.jsonl`` or ``label_names.txt`` beside the
    file names the labels (or `label_file`), and ``filter_labels_test.txt`` or ``filter_test.txt`` lists pairs of row
    and label that no prediction may count (or `filter_file`). `on_rows` is told how many rows have come each time.
    With `keep_unknown`, what the dataset has no part for comes along and is written again: other fields of rows and of
    labels, and the order of a row's labels.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.jsonl"
        >>> _ = path.write_text('{"text": "a dog", "labels": ["animal", "pet"]}')
        >>> read(path).describe()["labels"]
        2
    """
    reading, kind = _open(path, format, split, columns, label_file, keep_unknown=keep_unknown)
    n_described = len(reading.index)
    data = concat(_told(kind.pieces(reading), on_rows))
    if label_file is None and _describes_others(reading, n_described, data):
        reading, kind = _open(path, format, split, columns, None, look_beside=False, keep_unknown=keep_unknown)
        data = concat(kind.pieces(reading))
    if data.groups is not None and reading.columns.group is not None:
        data = replace(data, groups=merged(data.groups))  # the rows of a group may lie in several pieces
    return replace(
        data,
        label_texts=_label_texts(reading, data),
        label_file=None if reading.catalogue is None or data.labels is None else str(reading.catalogue),
        filters=_filters(reading, data, filter_file),
        label_lines=_label_lines(reading, data) if keep_unknown else None,
    )


def read_batches(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    split: str = "train",
    columns: Columns | None = None,
    label_file: str | PathLike[str] | None = None,
) -> Iterator[Dataset]:
    """The same rows piece by piece, for data larger than memory. The label index grows from piece to piece.

    Where a column names the group of each row (`Columns.group`), a group is in each piece that has rows of it.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.jsonl"
        >>> _ = path.write_text('{"text": "a dog"}')
        >>> [len(piece) for piece in read_batches(path)]
        [1]
    """
    reading, kind = _open(path, format, split, columns, label_file)
    yield from kind.pieces(reading)


def _told(pieces: Iterable[Dataset], on_rows: Callable[[int], object] | None) -> Iterator[Dataset]:
    for piece in pieces:
        yield piece
        if on_rows is not None:
            on_rows(len(piece))


def detect_format(source: Source) -> str:
    """The name of the first format that recognises the file."""
    if not source.head:
        raise source.error("is empty; give a file with at least one row")
    for name, kind in FORMATS.items():
        if kind.detect(source):
            return name
    raise source.error(f"its format is not one Labelwood knows; name it with --format (one of {', '.join(FORMATS)})")


def _open(
    path: str | PathLike[str],
    format_name: str | None,
    split: str,
    columns: Columns | None,
    label_file: str | PathLike[str] | None,
    *,
    look_beside: bool = True,
    keep_unknown: bool = False,
) -> tuple[Reading, Format]:
    source = Source(main_file(Path(path), split))
    name = format_name or detect_format(source)
    if name not in FORMATS:
        raise ParameterError(f"there is no format {name!r}; there are: {', '.join(FORMATS)}")
    reading = Reading(source, columns or Columns(), split, keep_unknown=keep_unknown)
    catalogue = None
    if label_file is not None:
        catalogue = read_catalogue(Source(label_file))
    elif look_beside:
        catalogue = find_catalogue(source)
    if catalogue is not None:
        reading.index, reading.label_texts, reading.catalogue = catalogue
    return reading, FORMATS[name]


def _describes_others(reading: Reading, n_described: int, data: Dataset) -> bool:
    """Whether the catalogue that lies beside the file has none of its labels: it belongs to other data there."""
    Y = data.Y if data.groups is None else data.groups.Y
    return reading.catalogue is not None and Y is not None and Y.nnz > 0 and int(Y.indices.min()) >= n_described > 0


def main_file(path: Path, split: str) -> Path:
    """The file that is read for a file or a folder.

    Example:
        >>> main_file(Path("train.jsonl"), "train").name
        'train.jsonl'
    """
    try:
        if not path.is_dir():
            return path
        found = [file for file in sorted(path.iterdir(), reverse=True) if file.is_file()]
    except (OSError, ValueError) as e:
        reason = getattr(e, "strerror", None) or e
        raise InputError(f"cannot be read ({reason}); check the name and its permissions", str(path)) from None
    # In reverse, so that a plain file hides its compressed twin.
    files = {plain_name(file): file for file in found}
    short = _SHORT.get(split, split)
    for name in _MAIN_FILES:
        if (main := name.format(s=split, t=short)) in files:
            return files[main]
    ending = re.compile(rf".*[_.-]({re.escape(split)}|{re.escape(short)})\.(txt|jsonl|csv|tsv|parquet|svm|fasttext)")
    matches = [file for name, file in files.items() if ending.fullmatch(name) and not name.startswith("filter")]
    if not matches:
        matches = [file for name, file in files.items() if name.endswith(".npz")]  # one that may hold several splits
    if len(matches) == 1:
        return matches[0]
    raise InputError(f"the folder holds no data of the split {split!r} that can be told; name the file", path)


def _label_texts(reading: Reading, data: Dataset) -> Any:
    return None if data.labels is None else _of_all_labels(reading.label_texts, data.labels)


def _label_lines(reading: Reading, data: Dataset) -> Any:
    if reading.catalogue is None or data.labels is None:
        return None
    return _of_all_labels(label_lines(reading.catalogue), data.labels)


def _of_all_labels(described: Any, labels: LabelIndex) -> Any:
    """Strings of the labels that are described, and empty ones for those after them."""
    if described is None:
        return None
    return pa.concat_arrays([described, pa.array([""] * (len(labels) - len(described)), pa.large_string())])


def _filters(reading: Reading, data: Dataset, given: str | PathLike[str] | None) -> NDArray[np.int64] | None:
    if given is not None:
        return read_filter(Source(given), len(data), data.n_labels)
    split = split_of_name(reading.source.name)
    if data.Y is None or split is None:
        return None
    beside = reading.source.sibling(f"filter_labels_{split}.txt", f"filter_{split}.txt")
    return None if beside is None else read_filter(beside, len(data), data.n_labels)


def split_of_name(name: str) -> str | None:
    """The split that a file's name tells.

    Example:
        >>> split_of_name("eurlex_tst.txt"), split_of_name("rows.txt")
        ('test', None)
    """
    words = re.split(r"[_.-]", name)
    return next((long for long, short in _SHORT.items() if long in words or short in words), None)


def read_filter(source: Source, n_rows: int, n_labels: int) -> NDArray[np.int64]:
    """Pairs "row label", one a line, that no prediction may count."""
    pairs: list[NDArray[np.int64]] = []
    for data, first_line in source.blocks():
        if _PAIRS.fullmatch(data) is None:
            raise _bad_pair(source, data, first_line, n_rows, n_labels)
        numbers = np.array(data.split(), np.int64).reshape(-1, 2)
        if not (numbers < (n_rows, n_labels)).all():
            raise _bad_pair(source, data, first_line, n_rows, n_labels)
        pairs.append(numbers)
    return np.concatenate([*pairs, np.empty((0, 2), np.int64)])


def _bad_pair(source: Source, data: bytes, first_line: int, n_rows: int, n_labels: int) -> InputError:
    for i, line in enumerate(data.split(b"\n")):
        words = line.split()
        whole = _PAIRS.fullmatch(line) is not None
        if not whole or (words and not (int(words[0]) < n_rows and int(words[1]) < n_labels)):
            return source.error(
                f"is not a row below {n_rows} and a label below {n_labels}; write the pair as: 0 17",
                first_line + i,
            )
    return source.error("does not hold pairs of row and label; write one pair a line")
