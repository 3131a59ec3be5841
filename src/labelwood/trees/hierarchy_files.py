"""Links between concepts from files of two columns and from JSON lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any

from labelwood.data.catalogue import decode_lines, read_catalogue
from labelwood.data.source import Source

Link = tuple[str, str, int]  # child, parent ("" for none), line

_HEADER = ["child", "parent"]


def read_links(source: Source) -> Iterator[Link]:
    """The links of a file, of whichever of the two kinds it is.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "labels.jsonl"
        >>> _ = path.write_text('{"id": "dog", "parents": ["animal", "pet"]}')
        >>> list(read_links(Source(path)))
        [('dog', '', 1), ('dog', 'animal', 1), ('dog', 'pet', 1)]
    """
    lines = decode_lines(source)
    if lines and lines[0].lstrip().startswith("{"):
        return _json_links(source, lines)
    return _column_links(source, lines)


def _column_links(source: Source, lines: list[str]) -> Iterator[Link]:
    separator = "\t" if lines and "\t" in lines[0] else ","
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in _cells(line, separator)]
        if number == 1 and [cell.lower() for cell in cells] == _HEADER:
            continue
        if len(cells) != 2:
            kind = "tab" if separator == "\t" else "comma"
            message = f"has {len(cells)} column(s) where a child and its parent belong, separated by a {kind}"
            raise source.error(f"{message}; write two", number)
        if not cells[0]:
            raise source.error("the child's name is empty; write it before the parent's", number)
        yield cells[0], cells[1], number


def _cells(line: str, separator: str) -> list[str]:
    if separator == "\t":  # quotes mean nothing between tabs
        return line.split(separator)
    return next(csv.reader([line]))


def _json_links(source: Source, lines: list[str]) -> Iterator[Link]:
    names = list(read_catalogue(source).labels)  # checks the lines, and knows which key names a label
    entries = [json.loads(line) for line in lines]
    name_of = {str(entry["id"]): name for entry, name in zip(entries, names, strict=True) if "id" in entry}
    for number, (entry, name) in enumerate(zip(entries, names, strict=True), 1):
        yield name, "", number
        for parent in _parents(source, entry, number):
            yield name, name_of.get(parent, parent), number


def _parents(source: Source, entry: dict[str, Any], line: int) -> list[str]:
    parents = entry.get("parents", entry.get("parent"))
    if parents is None:
        return []
    several = parents if isinstance(parents, list) else [parents]
    if not all(isinstance(parent, str | int) and not isinstance(parent, bool) for parent in several):
        raise source.error('"parents" is not a list of ids; write it as ["a", "b"]', line)
    return [str(parent) for parent in several]
