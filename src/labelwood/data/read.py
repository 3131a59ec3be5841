"""Reading data: finds the files, detects the format, joins the pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from labelwood.data.catalogue import Catalogue, find_catalogue, label_lines, read_catalogue
from labelwood.data.dataset import Dataset
from labelwood.data.formats import FORMATS
from labelwood.data.groups import merge_groups
from labelwood.data.joining import concat
from labelwood.data.label_ids import NO_LABEL_FILE_HINT, LabelError, LabelIds, LabelNumbers
from labelwood.data.limits import ReadLimits
from labelwood.data.reading import Columns, Reading
from labelwood.data.source import Source, plain_name
from labelwood.errors import InputError, ParameterError
from labelwood.labels.index import LabelIndex

LabelFile: TypeAlias = str | PathLike[str] | Literal[False] | None

_NO_BOUND = 2**62  # for the labels of a filter that are checked later
_PAIRS = re.compile(
    rb"(?:[ \t]*(?:[0-9]{1,18}[ \t]+[0-9]{1,18}[ \t]*)?\r?(?:\n|\Z))*+"
)  # lines of pairs or empty lines
_SHORT = {"train": "trn", "test": "tst"}
# Main files of a folder, in order of preference; {s} is the split, {t} its short form.
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
    label_file: LabelFile = None,
    label_numbers: LabelNumbers | None = None,
    filter_file: str | PathLike[str] | None = None,
    limits: ReadLimits | None = None,
    on_rows: Callable[[int], object] | None = None,
    keep_unknown: bool = False,
) -> Dataset:
    """Reads a file, or the `split` of a folder, in any format of the field.

    The format is detected from content and name, compressed or not. `label_file` describes the labels; by default it
    is a ``labels.jsonl`` or ``label_names.txt`` beside the file, if that has the rows' labels (False: use none).
    `label_numbers` says whether whole numbers among the labels are "ids" or "lines" of the label file; it is needed
    only if the data does not show it. `filter_file` lists pairs of row and label that predictions must not contain; by
    default it is ``filter_labels_test.txt`` or ``filter_test.txt`` beside the file. `limits` bound what the files may
    cost. `on_rows` is called with the number of rows of each piece. `keep_unknown` keeps, for writing, what a dataset
    has no part for: other fields of rows and labels, and the order of a row's labels.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.jsonl"
        >>> _ = path.write_text('{"text": "a dog", "labels": ["animal", "pet"]}')
        >>> read(path).describe()["labels"]
        2
    """
    reading, pieces = _open(
        path,
        format=format,
        split=split,
        columns=columns,
        label_file=label_file,
        label_numbers=label_numbers,
        limits=limits,
        keep_unknown=keep_unknown,
    )
    data = concat(_report_rows(pieces, on_rows))
    if data.groups is not None and reading.columns.group is not None:
        data = data.with_parts(groups=merge_groups(data.groups))  # the rows of a group may lie in several pieces
    return data.with_parts(
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
    label_file: LabelFile = None,
    label_numbers: LabelNumbers | None = None,
    limits: ReadLimits | None = None,
) -> Iterator[Dataset]:
    """Yields the rows of `read` piece by piece, for data larger than memory. The label index grows with each piece.

    If a column names the group of each row (`Columns.group`), every piece with rows of a group has this group.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.jsonl"
        >>> _ = path.write_text('{"text": "a dog"}')
        >>> [len(piece) for piece in read_batches(path)]
        [1]
    """
    yield from _open(
        path,
        format=format,
        split=split,
        columns=columns,
        label_file=label_file,
        label_numbers=label_numbers,
        limits=limits,
    )[1]


def _report_rows(pieces: Iterable[Dataset], on_rows: Callable[[int], object] | None) -> Iterator[Dataset]:
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
    *,
    format: str | None,
    split: str,
    columns: Columns | None,
    label_file: LabelFile,
    label_numbers: LabelNumbers | None,
    limits: ReadLimits | None,
    keep_unknown: bool = False,
) -> tuple[Reading, Iterator[Dataset]]:
    """The state of reading, and the pieces of the data."""
    if label_numbers not in (None, *get_args(LabelNumbers)):
        raise ParameterError(f'label_numbers (--label-numbers) must be "ids" or "lines", not {label_numbers!r}')
    source = Source(main_file(Path(path), split), limits)
    source.refuse_utf16()
    name = format or detect_format(source)
    if name not in FORMATS:
        raise ParameterError(f"there is no format {name!r}; there are: {', '.join(FORMATS)}")
    catalogue, given = _catalogue(source, label_file)
    reading = Reading(source, columns or Columns(), split, label_numbers=label_numbers, keep_unknown=keep_unknown)
    if catalogue is None:
        return reading, FORMATS[name].pieces(reading)
    n_described = len(catalogue.labels)
    reading.describe_labels(catalogue, given=given)
    pieces = FORMATS[name].pieces(reading)
    first = next(pieces, None)
    if first is None:
        return reading, pieces
    if _describes_rows(reading, n_described, first):
        return reading, _check_ambiguity(reading, chain([first], pieces))
    reading = Reading(source, columns or Columns(), split, label_numbers=label_numbers, keep_unknown=keep_unknown)
    return reading, FORMATS[name].pieces(reading)


def _check_ambiguity(reading: Reading, pieces: Iterator[Dataset]) -> Iterator[Dataset]:
    yield from pieces
    if reading.label_ids is not None and (ambiguity := reading.label_ids.ambiguity) is not None:
        raise reading.source.error(ambiguity)


def _catalogue(source: Source, label_file: LabelFile) -> tuple[Catalogue | None, bool]:
    """The label file, and whether the caller named it."""
    if label_file is False:
        return None, False
    if label_file is None:
        try:
            return find_catalogue(source), False
        except InputError as e:
            raise InputError(f"{e.message}{NO_LABEL_FILE_HINT}", e.path, e.line) from None
    given = Source(label_file, source.limits)
    if not source.is_stdin and given.path.resolve() == source.path.resolve():
        raise given.error("is the data itself; name a file that describes its labels")
    return read_catalogue(given), True


def _describes_rows(reading: Reading, n_described: int, first: Dataset) -> bool:
    """Whether the label file has at least half of the labels of the first rows; raises if it has only a few of them.

    A label file beside the data that has none of them belongs to other data; one that the caller named must have some.
    """
    Y = first.Y if first.groups is None else first.groups.Y
    if reading.catalogue is None or Y is None or Y.nnz == 0:
        return True
    used = np.unique(Y.indices)
    known = int((used < n_described).sum())
    if 2 * known >= len(used) or (known and reading.catalogue_given):
        return True
    if reading.catalogue_given:
        raise reading.catalogue.error(
            f"names none of the labels that {reading.source} has, {reading.index[int(used[0])][:40]!r} for one; "
            "name the file that does"
        )
    if known:
        raise reading.catalogue.error(
            f"names only {known} of the {len(used)} labels in the first rows of {reading.source} and may be "
            "for other data; say --label-file to use it anyway, or --no-label-file"
        )
    return False


def main_file(path: Path, split: str) -> Path:
    """The file itself, or the main file of a folder's split.

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
    # In reverse order, so that a plain file takes precedence over its compressed copy.
    files = {plain_name(file): file for file in found}
    short = _SHORT.get(split, split)
    for name in _MAIN_FILES:
        if (main := name.format(s=split, t=short)) in files:
            return files[main]
    ending = re.compile(rf".*[_.-]({re.escape(split)}|{re.escape(short)})\.(txt|jsonl|csv|tsv|parquet|svm|fasttext)")
    matches = [file for name, file in files.items() if ending.fullmatch(name) and not name.startswith("filter")]
    if not matches:
        matches = [file for name, file in files.items() if name.endswith(".npz")]  # may hold several splits
    if len(matches) == 1:
        return matches[0]
    raise InputError(f"the folder holds no file that is clearly the split {split!r}; name the file", path)


def _label_texts(reading: Reading, data: Dataset) -> Any:
    return None if data.labels is None else _padded_to_labels(reading.label_texts, data.labels)


def _label_lines(reading: Reading, data: Dataset) -> Any:
    if reading.catalogue is None or data.labels is None:
        return None
    return _padded_to_labels(label_lines(reading.catalogue), data.labels)


def _padded_to_labels(strings: Any, labels: LabelIndex) -> Any:
    """The strings of the first labels, and an empty string for each label after them."""
    if strings is None:
        return None
    return pa.concat_arrays([strings, pa.array([""] * (len(labels) - len(strings)), pa.large_string())])


def _filters(reading: Reading, data: Dataset, given: str | PathLike[str] | None) -> NDArray[np.int64] | None:
    source = Source(given, reading.source.limits) if given is not None else _filter_beside(reading, data)
    if source is None:
        return None
    if data.labels is None or reading.has_numbers:
        return read_filter(source, len(data), data.n_labels)
    names = data.labels.to_arrow()
    ids = None if reading.label_ids is None else reading.label_ids.ids_of(names)
    labels = LabelIds(
        names, ids, str(reading.catalogue or reading.source), reading.label_numbers, given=reading.catalogue_given
    )
    if not labels.has_other_numbers:
        return read_filter(source, len(data), data.n_labels)
    pairs = read_filter(source, len(data), _NO_BOUND)
    try:
        return np.stack([pairs[:, 0], labels.lines(pairs[:, 1])], axis=1)
    except LabelError as e:
        raise source.error(e.message) from None


def _filter_beside(reading: Reading, data: Dataset) -> Source | None:
    split = split_of_name(reading.source.name)
    if data.Y is None or split is None:
        return None
    return reading.source.sibling(f"filter_labels_{split}.txt", f"filter_{split}.txt")


def split_of_name(name: str) -> str | None:
    """The split that the name of a file names; None if it names none.

    Example:
        >>> split_of_name("eurlex_tst.txt"), split_of_name("rows.txt")
        ('test', None)
    """
    words = re.split(r"[_.-]", name)
    return next((long for long, short in _SHORT.items() if long in words or short in words), None)


def read_filter(source: Source, n_rows: int, n_labels: int) -> NDArray[np.int64]:
    """Reads the pairs "row label" of a filter, one per line."""
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
