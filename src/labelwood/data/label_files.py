"""Writes the files beside the data that describe labels. A file never loses what it says: it is kept or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from labelwood.arrays.values import MOST
from labelwood.data import json_text
from labelwood.data.catalogue import LABEL_FILE_NAMES, decode_lines, parse_label_lines, read_catalogue
from labelwood.data.dataset import Dataset
from labelwood.data.label_ids import LabelError, LabelIds
from labelwood.data.publishing import text_output
from labelwood.data.source import Source, beside_path, plain_name
from labelwood.errors import InputError, LabelwoodError
from labelwood.labels.index import LabelIndex

_NAMES = ("id", "name", "uid")  # keys that may name a label
_TEXTS = ("text", "title")


def write_label_texts(data: Dataset, path: Path) -> None:
    """Writes ``labels.jsonl`` beside `path` if labels have texts or other fields, or if there are filters.

    Filters name labels by number, so the file must then define the numbers of the labels.
    """
    if data.filters is not None:
        _write(data, path, numbered=True)
    elif data.labels is not None and (data.label_texts is not None or data.label_lines is not None):
        _write(data, path, numbered=False)


def write_label_names(data: Dataset, path: Path) -> None:
    """Writes ``labels.jsonl`` for formats that hold labels as numbers, also if labels have only names.

    All files of the folder share it, so no file replaces it that would change the meaning of their numbers.
    """
    if data.labels is None:
        return
    known = data.label_texts is not None or data.label_lines is not None
    if (
        known
        or beside_path(path, *LABEL_FILE_NAMES) is not None
        or data.labels != LabelIndex.numbered(len(data.labels))
    ):
        _write(data, path, numbered=True)


def write_label_titles(data: Dataset, path: Path) -> None:
    """Writes ``lbl.json`` of the Extreme Classification Repository beside `path`, with the compression of `path`."""
    lines = [_repository_line(line) for line in _label_lines(data)]
    suffix = path.name.removeprefix(plain_name(path))
    _write_lines(data, lines, path.with_name(f"lbl.json{suffix}"), beside_path(path, "lbl.json"), numbered=True)


def label_numbers(data: Dataset) -> NDArray[np.int64]:
    """For each label the number that stands for it in a file of numbers beside the label file.

    That is the label's id if ids are numbers, and otherwise the number of its line.
    """
    names, ids, _ = parse_label_lines(_label_lines(data))
    try:
        return LabelIds(pa.array(names, pa.large_string()), pa.array(ids, pa.large_string()), "labels.jsonl").numbers
    except LabelError as e:
        raise LabelwoodError(e.message) from None


def with_label_numbers(data: Dataset) -> Any:
    """Y with the labels' numbers as columns, for formats that hold numbers but do not say what they count."""
    numbers = label_numbers(data)
    width = int(numbers.max(initial=-1)) + 1
    if width > MOST:
        raise LabelwoodError(f"the number {width - 1} of a label is too large for this format: write jsonl instead")
    indices = numbers[data.Y.indices].astype(np.int32)
    return sparse.csr_array((data.Y.data, indices, data.Y.indptr), shape=(data.Y.shape[0], width))


def write_filters(data: Dataset, path: Path, *, by_line: bool) -> None:
    """Writes the filters to ``filter_test.txt``, or to the file of the split that the name of `path` names.

    It is an error if such a file exists and the data has no filters, because readers would apply it to this data.
    With `by_line`, labels are columns of a matrix, in the format and in its filter.
    """
    target = filter_path(path)
    if target is None:
        return
    existing = beside_path(path, f"filter_labels_{target.name.split('_')[1]}", target.name)
    if data.filters is None:
        if existing is not None and data.Y is not None:
            raise InputError(f"would be taken for the filter of {path.name}; write to another folder", existing)
        return
    pairs = data.filters if by_line else np.stack([data.filters[:, 0], label_numbers(data)[data.filters[:, 1]]], axis=1)
    with text_output(target if existing is None else existing, shared=True) as out:
        out.writelines(f"{row} {label}\n" for row, label in pairs.tolist())


def filter_path(path: Path) -> Path | None:
    """The path where readers look for the filter of a file; None if the name of the file names no split.

    Example:
        >>> filter_path(Path("data/test.jsonl.gz")).name, filter_path(Path("rows.jsonl"))
        ('filter_test.txt', None)
    """
    from labelwood.data.read import split_of_name

    split = split_of_name(plain_name(path))
    return None if split is None else path.with_name(f"filter_{split}.txt")


def _write(data: Dataset, path: Path, *, numbered: bool) -> None:
    _write_lines(
        data,
        _label_lines(data),
        path.with_name("labels.jsonl"),
        beside_path(path, *LABEL_FILE_NAMES),
        numbered=numbered,
    )


def _write_lines(data: Dataset, lines: list[str], target: Path, existing: Path | None, *, numbered: bool) -> None:
    if existing is not None:
        found, wanted = _LabelDescriptions.of_file(existing), _LabelDescriptions(data.labels, lines)
        if numbered and found.labels != wanted.labels:
            raise LabelwoodError(
                f"{existing} names other labels than this data; write to another folder, or read the data with that "
                "file as its label file"
            )
        if found.covers(wanted):
            return
        if not wanted.covers(found, with_names=True):
            raise LabelwoodError(
                f"{existing} says other things of the labels than this data, and that would be lost; write to "
                "another folder, or remove it first"
            )
        if found.lines is not None or plain_name(existing) == plain_name(target):
            target = existing
        elif list(found.labels) != list(wanted.labels)[: len(found.labels)]:
            raise LabelwoodError(
                f"{existing} numbers the labels otherwise than {target.name} would beside it; write to another folder, "
                "or remove it first"
            )
    with text_output(target) as out:
        out.writelines(f"{line}\n" for line in lines)


class _LabelDescriptions:
    """The names of labels, and what a label file says about them."""

    def __init__(self, labels: LabelIndex | None, lines: list[str] | None) -> None:
        self.labels = labels if labels is not None else LabelIndex()
        self.lines = lines

    @classmethod
    def of_file(cls, path: Path) -> _LabelDescriptions:
        source = Source(path)
        lines = decode_lines(source)
        is_json = bool(lines) and lines[0].lstrip().startswith("{")
        return cls(read_catalogue(source).labels, lines if is_json else None)

    def covers(self, other: _LabelDescriptions, *, with_names: bool = False) -> bool:
        """Whether this says everything that `other` says about its labels; bare names count only `with_names`."""
        if self.lines == other.lines and self.labels == other.labels:
            return True
        places = self.labels.ids(list(other.labels)).tolist()
        for label, place in enumerate(places):
            facts = other.facts_of(label)
            if (facts or with_names) and place < 0:
                return False
            if facts and not facts.items() <= self.facts_of(place).items():
                return False
        return True

    def facts_of(self, label: int) -> dict[str, str]:
        """The values given for one label besides its name, as JSON text in a canonical form."""
        if self.lines is None:
            return {}
        values = {
            ("text" if key in _TEXTS else key): json.dumps(json.loads(value), sort_keys=True)
            for key, value in json_text.members(self.lines[label])
            if key not in _NAMES
        }
        name = json.dumps(self.labels[label])
        return {key: value for key, value in values.items() if not (key == "text" and value in {'""', name})}


def _label_lines(data: Dataset) -> list[str]:
    """A line for each label that reads back as the same label: the line that described it, if there was one."""
    names = [] if data.labels is None else list(data.labels)
    texts = [None] * len(names) if data.label_texts is None else data.label_texts.to_pylist()
    given = [""] * len(names) if data.label_lines is None else data.label_lines.to_pylist()
    if len(given) == len(names) and any(given):
        whole = all(_is_numbered(line) for line in given if line)
        numbered = enumerate(zip(given, names, strict=True))
        as_given = [line or _new_line(i if whole else name, name, whole) for i, (line, name) in numbered]
        if _reads_back(as_given, given, names, texts):
            return as_given
        return [_line_by_name(*label) for label in zip(given, names, texts, strict=True)]
    return [_new_line(name, text, text is not None) for name, text in zip(names, texts, strict=True)]


def _reads_back(lines: list[str], given: list[str], names: list[str], texts: list[str | None]) -> bool:
    try:
        read_names, _, read_texts = parse_label_lines(lines)
    except InputError:
        return False
    return read_names == names and all(
        not line or (text or "") == read for line, text, read in zip(given, texts, read_texts, strict=True)
    )


def _is_numbered(line: str) -> bool:
    return any(key in _NAMES and value.isdecimal() for key, value in json_text.members(line))


def _new_line(name: str | int, text: str | None, with_text: bool) -> str:
    return json.dumps({"id": name, "text": text} if with_text else {"id": name}, ensure_ascii=False)


def _line_by_name(line: str, name: str, text: str | None) -> str:
    """A label's line with its name as id, because line numbers may have changed; a line of another label is dropped."""
    if not line or not _describes(line, name):
        return _new_line(name, text, text is not None)
    values = json.loads(line)
    rest = [(key, value) for key, value in json_text.members(line) if key not in (*_NAMES, *_TEXTS)]
    first = [("id", json.dumps(name, ensure_ascii=False))]
    if text is not None and any(key in values for key in _TEXTS):
        first.append(("text", json.dumps(text, ensure_ascii=False)))
    return f"{{{json_text.join_members([*first, *rest])}}}"


def _describes(line: str, name: str) -> bool:
    values = json.loads(line)
    own = [str(values[key]) for key in (*_NAMES, *_TEXTS) if key in values]
    return name in own or any(name.startswith(f"{text} [") for text in own)


def _repository_line(line: str) -> str:
    """A label's line with the keys of the repository; other keys stay."""
    pairs = list(json_text.members(line))
    values = dict(pairs)
    if "uid" in values and "title" in values:
        return line
    name = next(values[key] for key in ("name", "id", "uid") if values.get(key, "null") not in {"null", '""'})
    title = next((values[key] for key in _TEXTS if key in values), name)
    first = [("uid", name), ("title", title), ("content", values.get("content", '""'))]
    rest = [(key, value) for key, value in pairs if key not in {"uid", "content", *_TEXTS} and value != name]
    return f"{{{json_text.join_members([*first, *rest])}}}"
