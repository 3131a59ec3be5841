"""Label files, the files beside the data that describe labels: names and texts, by line number or by id."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NamedTuple, cast

import pyarrow as pa

from labelwood.data.source import Block, Source
from labelwood.errors import InputError
from labelwood.labels.index import LabelIndex

LABEL_FILE_NAMES = ("labels.jsonl", "label_names.txt", "output-items.txt")
_NAME_KEYS = ("name", "id", "uid")
_ID_KEYS = ("id", "uid")
_TEXT_KEYS = ("text", "title")


class Catalogue(NamedTuple):
    """Labels in the order of the file that describes them."""

    labels: LabelIndex
    texts: Any  # Arrow large_string array, or None
    source: Source
    ids: Any = None  # Arrow large_string array; None if the labels' names are their ids


def find_catalogue(source: Source) -> Catalogue | None:
    """Reads the label file beside a data file; None if there is none."""
    beside = source.sibling(*LABEL_FILE_NAMES)
    return None if beside is None or beside.path == source.path else read_catalogue(beside)


def read_catalogue(source: Source) -> Catalogue:
    """Reads JSON lines with ``id`` (or ``name``) and ``text``, or plain lines with one name each.

    If all names are whole numbers, the texts become the names.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "labels.jsonl"
        >>> _ = path.write_text('{"id": "n1", "text": "animal"}')
        >>> list(read_catalogue(Source(path)).labels)
        ['n1']
    """
    source.refuse_utf16()
    if b"\0" in source.head:
        raise source.error("is not text; give a file with one label name per line")
    lines = decode_lines(source)
    if not (lines and lines[0].lstrip().startswith("{")):
        return Catalogue(LabelIndex(_plain_lines(source, lines)), None, source)
    names, ids, texts = _json_lines(source, lines)
    for each in (names,) if ids == names else (names, ids):
        _refuse_duplicates(source, each)
    return Catalogue(
        LabelIndex(names),
        pa.array(texts, pa.large_string()) if any(texts) else None,
        source,
        None if ids == names else pa.array(ids, pa.large_string()),
    )


def _refuse_duplicates(source: Source, names: list[str]) -> None:
    line_of: dict[str, int] = {}
    for line, name in enumerate(names, 1):
        if line_of.setdefault(name, line) != line:
            message = f"the label {name!r} is described twice, first in line {line_of[name]}; give every label one line"
            raise source.error(message, line)


def label_lines(source: Source) -> Any:
    """The unchanged lines of a label file in JSON; None if it holds plain names."""
    lines = decode_lines(source)
    return pa.array(lines, pa.large_string()) if lines and lines[0].lstrip().startswith("{") else None


def parse_label_lines(lines: list[str]) -> tuple[list[str], list[str], list[str]]:
    """The names, ids and texts in the lines of a label file; a line that cannot be read raises `InputError`."""
    return _json_lines(cast("Source", _UnnamedSource()), lines)


class _UnnamedSource:
    def error(self, message: str, line: int | None = None) -> InputError:
        return InputError(message, None, line)


def _plain_lines(source: Source, names: list[str]) -> list[str]:
    for line, name in enumerate(names, 1):
        if not name.strip():
            raise source.error("the label name is empty; every line names one label", line)
    return _unique_names(names)


def _json_lines(source: Source, lines: list[str]) -> tuple[list[str], list[str], list[str]]:
    """The names, ids and texts of the labels."""
    names: list[str] = []
    ids: list[str] = []
    texts: list[str] = []
    numbered = True
    for line, raw in enumerate(lines, 1):
        if not raw.strip():
            raise source.error("the line is empty; every line describes one label", line)
        entry = _parse_line(source, raw, line)
        if type(entry.get("labels")) is list or type(entry.get("target_ind")) is list:
            raise source.error(
                "is a row of data, not a description of a label; name a file that describes labels", line
            )
        name, label_id = _first_name(entry, _NAME_KEYS), _first_name(entry, _ID_KEYS)
        if name is None:
            raise source.error('the label has no "id"; write it as {"id": "name", "text": "…"}', line)
        numbered &= isinstance(name, int)
        names.append(str(name))
        ids.append(str(name if label_id is None else label_id))
        texts.append(next((entry[key] for key in _TEXT_KEYS if isinstance(entry.get(key), str)), ""))
    if numbered:  # a number means nothing to a person; the text does
        names = _unique_names([text or name for text, name in zip(texts, names, strict=True)])
    return names, ids, texts


def _first_name(entry: dict[str, Any], keys: tuple[str, ...]) -> str | int | None:
    """The value of the first of these keys that has one; None if that value cannot be a name."""
    for key in keys:
        value = entry.get(key)
        if value is not None and value != "":
            return value if isinstance(value, str) or type(value) is int else None
    return None


def _parse_line(source: Source, raw: str, line: int) -> dict[str, Any]:
    try:
        entry = json.loads(raw)
        if "\\u" in raw:
            json.dumps(entry, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise source.error("holds half of a surrogate pair, which is not a character; remove it", line) from None
    except (ValueError, RecursionError) as e:
        raise source.error(f"is not JSON ({e}); write one object a line", line) from None
    if not isinstance(entry, dict):
        raise source.error("is not a JSON object; write one object a line", line)
    return entry


def _unique_names(names: list[str]) -> list[str]:
    counts = Counter(names)
    return [name if counts[name] == 1 else f"{name} [{i}]" for i, name in enumerate(names)]


def decode_lines(source: Source) -> list[str]:
    """The lines of a UTF-8 text file; an error names a line that cannot be decoded."""
    return [line for block in source.blocks() for line in decode_block(source, block)]


def check_utf8(source: Source, block: Block) -> str:
    """A block of lines as text; an error names the line that is not UTF-8."""
    data, first_line = block
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        line = first_line + data.count(b"\n", 0, e.start)
        raise source.error("is not UTF-8 text; convert the file to UTF-8", line) from None


def decode_block(source: Source, block: Block) -> list[str]:
    """The lines of one block."""
    text = check_utf8(source, block)
    # Only a line feed ends a line: str.splitlines would also split at U+2028 and other characters that occur in texts.
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
