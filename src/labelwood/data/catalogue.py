"""The files beside the data that describe labels: names and texts, by line number or by id."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NamedTuple

import pyarrow as pa

from labelwood.data.source import Source
from labelwood.labels.index import LabelIndex

BESIDE = ("labels.jsonl", "label_names.txt")
_NAME_KEYS = ("name", "id", "uid")
_TEXT_KEYS = ("text", "title")


class Catalogue(NamedTuple):
    """Labels in the order of the file that describes them."""

    index: LabelIndex
    texts: Any  # Arrow large_string array, or None
    source: Source


def find_catalogue(source: Source) -> Catalogue | None:
    """Reads the catalogue that lies beside a file, if there is one."""
    beside = source.sibling(*BESIDE)
    return None if beside is None or beside.path == source.path else read_catalogue(beside)


def read_catalogue(source: Source) -> Catalogue:
    """Reads JSON lines with ``id`` (or ``name``) and ``text``, or plain lines with one name each.

    Where ids are whole numbers they must equal the line's number from zero, and the text becomes the name.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "labels.jsonl"
        >>> _ = path.write_text('{"id": "n1", "text": "animal"}')
        >>> list(read_catalogue(Source(path)).index)
        ['n1']
    """
    is_json = source.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    names, texts = _json_lines(source) if is_json else (_plain_lines(source), None)
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        raise source.error(f"the label {repeated!r} is described twice; give every label one line")
    return Catalogue(LabelIndex(names), None if texts is None else pa.array(texts, pa.large_string()), source)


def _plain_lines(source: Source) -> list[str]:
    names = decode_lines(source)
    for line, name in enumerate(names, 1):
        if not name.strip():
            raise source.error("the label name is empty; every line names one label", line)
    return _made_unique(names)


def _json_lines(source: Source) -> tuple[list[str], list[str]]:
    names: list[str] = []
    texts: list[str] = []
    numbered = True
    for line, raw in enumerate(decode_lines(source), 1):
        if not raw.strip():
            raise source.error("the line is empty; every line describes one label", line)
        entry = _entry(source, raw, line)
        text = next((entry[key] for key in _TEXT_KEYS if isinstance(entry.get(key), str)), "")
        name = next((entry[key] for key in _NAME_KEYS if entry.get(key) not in (None, "")), None)
        if name is None:
            raise source.error('the label has no "id"; write it as {"id": "name", "text": "…"}', line)
        if isinstance(name, int) and name != line - 1:
            raise source.error(f"the label's id is {name} but its line is number {line - 1} from zero", line)
        numbered &= isinstance(name, int)
        names.append(str(name))
        texts.append(text)
    # A number says nothing to a person; the text does.
    return (_made_unique([t or n for t, n in zip(texts, names, strict=True)]) if numbered else names), texts


def _entry(source: Source, raw: str, line: int) -> dict[str, Any]:
    try:
        entry = json.loads(raw)
    except ValueError as e:
        raise source.error(f"is not JSON ({e}); write one object a line", line) from None
    if not isinstance(entry, dict):
        raise source.error("is not a JSON object; write one object a line", line)
    return entry


def _made_unique(names: list[str]) -> list[str]:
    counts = Counter(names)
    return [name if counts[name] == 1 else f"{name} [{i}]" for i, name in enumerate(names)]


def decode_lines(source: Source) -> list[str]:
    """The lines of a UTF-8 text file; an undecodable one is named."""
    lines: list[str] = []
    for data, first_line in source.blocks():
        try:
            text = data.decode()
        except UnicodeDecodeError as e:
            line = first_line + data.count(b"\n", 0, e.start)
            raise source.error("is not UTF-8 text; convert the file to UTF-8", line) from None
        # Only line feeds end a line: str.splitlines would also cut at U+2028 and others that occur in texts.
        lines += [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    return lines
