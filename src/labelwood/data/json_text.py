"""Cuts JSON text into its parts without changing them: numbers of any size, nulls and the order of keys stay."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]

_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)  # numbers of any length
_SPACE = re.compile(r"[ \t\r\n]*")


def members(text: str) -> Iterator[tuple[str, str]]:
    """The keys of an object and their values as JSON text; the object must be valid JSON.

    Example:
        >>> list(members('{"a": 1.50, "b": {"c" : null}}'))
        [('a', '1.50'), ('b', '{"c" : null}')]
    """
    place = _skip_space(text, _skip_space(text, 0) + 1)
    while text[place] != "}":
        key, place = scanstring(text, place + 1, True)
        start = _skip_space(text, _skip_space(text, place) + 1)
        end = _DECODER.raw_decode(text, start)[1]
        yield key, text[start:end]
        place = _skip_comma(text, end)


def elements(text: str) -> Iterator[str]:
    """The elements of a list as JSON text; the list must be valid JSON.

    Example:
        >>> list(elements('[1e3, "a" , []]'))
        ['1e3', '"a"', '[]']
    """
    place = _skip_space(text, _skip_space(text, 0) + 1)
    while text[place] != "]":
        end = _DECODER.raw_decode(text, place)[1]
        yield text[place:end]
        place = _skip_comma(text, end)


def join_members(pairs: Iterator[tuple[str, str]] | list[tuple[str, str]]) -> str:
    """The members of an object as JSON text, without the braces, from keys and the text of their values.

    Example:
        >>> join_members([("a", "1.50"), ("é", "[]")])
        '"a": 1.50, "é": []'
    """
    return ", ".join(f"{quote(key)}: {value}" for key, value in pairs)


def quote(key: str) -> str:
    """A key as JSON text.

    Example:
        >>> quote("é")
        '"é"'
    """
    text = json.dumps(key, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair can only be written as an escape
        return json.dumps(key)
    return text


def _skip_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return place if found is None else found.end()


def _skip_comma(text: str, place: int) -> int:
    """The place of the next member, or of the closing bracket."""
    place = _skip_space(text, place)
    return _skip_space(text, place + 1) if text[place] == "," else place
