"""The files beside the data that describe labels: made, left as they are, or refused, and never reduced."""

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
from labelwood.data.catalogue import BESIDE, decode_lines, described, read_catalogue
from labelwood.data.dataset import Dataset
from labelwood.data.label_ids import LabelError, LabelIds
from labelwood.data.publishing import text_output
from labelwood.data.source import Source, beside_path, plain_name
from labelwood.errors import InputError, LabelwoodError
from labelwood.labels.index import LabelIndex

_NAMES = ("id", "name", "uid")  # keys that may name a label
_TEXTS = ("text", "title")


def write_label_texts(data: Dataset, path: Path) -> None:
    """Writes ``labels.jsonl`` beside `path` where more is known of labels than their names.

    Where filters count labels by number, it also holds the numbers.
    """
    if data.filters is not None:
        _write(data, path, numbered=True)
    elif data.labels is not None and (data.label_texts is not None or data.label_lines is not None):
        _write(data, path, numbered=False)


def write_label_names(data: Dataset, path: Path) -> None:
    """The same for formats that hold labels as numbers, and also where labels have names of their own.

    Files in one folder share it, so it is never replaced by one that would change the meaning of their numbers.
    """
    if data.labels is None:
        return
    known = data.label_texts is not None or data.label_lines is not None
    if known or beside_path(path, *BESIDE) is not None or data.labels != LabelIndex.numbered(len(data.labels)):
        _write(data, path, numbered=True)


def write_label_titles(data: Dataset, path: Path) -> None:
    """Writes ``lbl.json`` beside `path`, as the Extreme Classification Repository has it, compressed alike."""
    lines = [_titled(line) for line in _lines(data)]
    suffix = path.name.removeprefix(plain_name(path))
    _write_lines(data, lines, path.with_name(f"lbl.json{suffix}"), beside_path(path, "lbl.json"), numbered=True)


def label_numbers(data: Dataset) -> NDArray[np.int64]:
    """For each label the number by which a file that counts labels is read back beside their descriptions.

    That is the label's own where these are numbers, and else that of its line.
    """
    names, ids, _ = described(_lines(data))
    try:
        return LabelIds(pa.array(names, pa.large_string()), pa.array(ids, pa.large_string()), "labels.jsonl").numbers
    except LabelError as e:
        raise LabelwoodError(e.message) from None


def with_label_numbers(data: Dataset) -> Any:
    """Rows × numbers of labels, for formats that hold these and do not say what they count."""
    numbers = label_numbers(data)
    width = int(numbers.max(initial=-1)) + 1
    if width > MOST:
        raise LabelwoodError(f"the number {width - 1} of a label is too large for this format: write jsonl instead")
    indices = numbers[data.Y.indices].astype(np.int32)
    return sparse.csr_array((data.Y.data, indices, data.Y.indptr), shape=(data.Y.shape[0], width))


def write_filters(data: Dataset, path: Path, *, by_line: bool) -> None:
    """Writes the pairs that may not count to ``filter_test.txt``, or whichever split the name of `path` tells.

    Other pairs there would come to count for this data, so they are an error. `by_line` says that the format's labels
    are columns of a matrix, and so are the filter's.
    """
    target = filter_path(path)
    if target is None:
        return
    there = beside_path(path, f"filter_labels_{target.name.split('_')[1]}", target.name)
    if data.filters is None:
        if there is not None and data.Y is not None:
            raise InputError(f"would be taken for the filter of {path.name}; write to another folder", there)
        return
    pairs = data.filters if by_line else np.stack([data.filters[:, 0], label_numbers(data)[data.filters[:, 1]]], axis=1)
    with text_output(target if there is None else there, shared=True) as out:
        out.writelines(f"{row} {label}\n" for row, label in pairs.tolist())


def filter_path(path: Path) -> Path | None:
    """Where the filter of a file is looked for.

    Example:
        >>> filter_path(Path("data/test.jsonl.gz")).name, filter_path(Path("rows.jsonl"))
        ('filter_test.txt', None)
    """
    from labelwood.data.read import split_of_name

    split = split_of_name(plain_name(path))
    return None if split is None else path.with_name(f"filter_{split}.txt")


def _write(data: Dataset, path: Path, *, numbered: bool) -> None:
    _write_lines(data, _lines(data), path.with_name("labels.jsonl"), beside_path(path, *BESIDE), numbered=numbered)


def _write_lines(data: Dataset, lines: list[str], target: Path, there: Path | None, *, numbered: bool) -> None:
    if there is not None:
        found, wanted = _Described.of_file(there), _Described(data.labels, lines)
        if numbered and found.labels != wanted.labels:
            raise LabelwoodError(
                f"{there} names other labels than this data; write to another folder, or read the data with that file "
                "as its label file"
            )
        if found.says_all_of(wanted):
            return
        if not wanted.says_all_of(found, names_too=True):
            raise LabelwoodError(
                f"{there} says other things of the labels than this data, and what it says would be lost; write to "
                "another folder, or remove it first"
            )
        if found.lines is not None or plain_name(there) == plain_name(target):
            target = there
        elif list(found.labels) != list(wanted.labels)[: len(found.labels)]:
            raise LabelwoodError(
                f"{there} numbers the labels otherwise than {target.name} would beside it; write to another folder, or "
                "remove it first"
            )
    with text_output(target) as out:
        out.writelines(f"{line}\n" for line in lines)


class _Described:
    """What is said of labels."""

    def __init__(self, labels: LabelIndex | None, lines: list[str] | None) -> None:
        self.labels = labels if labels is not None else LabelIndex()
        self.lines = lines

    @classmethod
    def of_file(cls, path: Path) -> _Described:
        source = Source(path)
        lines = decode_lines(source)
        is_json = bool(lines) and lines[0].lstrip().startswith("{")
        return cls(read_catalogue(source).labels, lines if is_json else None)

    def says_all_of(self, other: _Described, *, names_too: bool = False) -> bool:
        """Whether this has all that the other one says of its labels; a name alone says nothing, but `names_too`."""
        if self.lines == other.lines and self.labels == other.labels:
            return True
        places = self.labels.ids(list(other.labels)).tolist()
        for label, place in enumerate(places):
            said = other.about(label)
            if (said or names_too) and place < 0:
                return False
            if said and not said.items() <= self.about(place).items():
                return False
        return True

    def about(self, label: int) -> dict[str, str]:
        """What is said of one label beside its name: values as JSON text with one way to write each."""
        if self.lines is None:
            return {}
        values = {
            ("text" if key in _TEXTS else key): json.dumps(json.loads(value), sort_keys=True)
            for key, value in json_text.members(self.lines[label])
            if key not in _NAMES
        }
        name = json.dumps(self.labels[label])
        return {key: value for key, value in values.items() if not (key == "text" and value in {'""', name})}


def _lines(data: Dataset) -> list[str]:
    """A line for each label: the one that described it where there was one, and such as read the same."""
    names = [] if data.labels is None else list(data.labels)
    texts = [None] * len(names) if data.label_texts is None else data.label_texts.to_pylist()
    given = [""] * len(names) if data.label_lines is None else data.label_lines.to_pylist()
    if len(given) == len(names) and any(given):
        whole = all(_is_numbered(line) for line in given if line)
        numbered = enumerate(zip(given, names, strict=True))
        as_given = [line or _fresh(i if whole else name, name, whole) for i, (line, name) in numbered]
        if _read_as(as_given, given, names, texts):
            return as_given
        return [_renamed(*label) for label in zip(given, names, texts, strict=True)]
    return [_fresh(name, text, text is not None) for name, text in zip(names, texts, strict=True)]


def _read_as(lines: list[str], given: list[str], names: list[str], texts: list[str | None]) -> bool:
    try:
        found, _, told = described(lines)
    except InputError:
        return False
    return found == names and all(
        not line or (text or "") == said for line, text, said in zip(given, texts, told, strict=True)
    )


def _is_numbered(line: str) -> bool:
    return any(key in _NAMES and value.isdecimal() for key, value in json_text.members(line))


def _fresh(name: str | int, text: str | None, with_text: bool) -> str:
    return json.dumps({"id": name, "text": text} if with_text else {"id": name}, ensure_ascii=False)


def _renamed(line: str, name: str, text: str | None) -> str:
    """A label's line with its name for an id, as numbers may no longer be those of lines; another label's is let go."""
    if not line or not _belongs(line, name):
        return _fresh(name, text, text is not None)
    said = json.loads(line)
    rest = [(key, value) for key, value in json_text.members(line) if key not in (*_NAMES, *_TEXTS)]
    first = [("id", json.dumps(name, ensure_ascii=False))]
    if text is not None and any(key in said for key in _TEXTS):
        first.append(("text", json.dumps(text, ensure_ascii=False)))
    return f"{{{json_text.joined([*first, *rest])}}}"


def _belongs(line: str, name: str) -> bool:
    said = json.loads(line)
    own = [str(said[key]) for key in (*_NAMES, *_TEXTS) if key in said]
    return name in own or any(name.startswith(f"{text} [") for text in own)


def _titled(line: str) -> str:
    """A label's line with the repository's names for its keys; other keys stay as they are."""
    pairs = list(json_text.members(line))
    said = dict(pairs)
    if "uid" in said and "title" in said:
        return line
    name = next(said[key] for key in ("name", "id", "uid") if said.get(key, "null") not in {"null", '""'})
    title = next((said[key] for key in _TEXTS if key in said), name)
    first = [("uid", name), ("title", title), ("content", said.get("content", '""'))]
    rest = [(key, value) for key, value in pairs if key not in {"uid", "content", *_TEXTS} and value != name]
    return f"{{{json_text.joined([*first, *rest])}}}"
