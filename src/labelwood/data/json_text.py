"""Parts of JSON text as they are written: numbers of any size, nulls and the order of keys come back unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]

_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)  # numbers of any length
_SPACE = re.compile(r"[ \t\r\n]*")


def members(text: str) -> Iterator[tuple[str, str]]:
    """The keys of an object and their values as text; the object must be sound.

    Example:
        >>> list(members('{"a": 1.50, "b": {"c" : null}}'))
        [('a', '1.50'), ('b', '{"c" : null}')]
    """
    place = _after_space(text, _after_space(text, 0) + 1)
    while text[place] != "}":
        key, place = scanstring(text, place + 1, True)
        start = _after_space(text, _after_space(text, place) + 1)
        end = _DECODER.raw_decode(text, start)[1]
        yield key, text[start:end]
        place = _next(text, end)


def elements(text: str) -> Iterator[str]:
    """The elements of a list as text; the list must be sound.

    Example:
        >>> list(elements('[1e3, "a" , []]'))
        ['1e3', '"a"', '[]']
    """
    place = _after_space(text, _after_space(text, 0) + 1)
    while text[place] != "]":
        end = _DECODER.raw_decode(text, place)[1]
        yield text[place:end]
        place = _next(text, end)


def joined(pairs: Iterator[tuple[str, str]] | list[tuple[str, str]]) -> str:
    """An object's inside from keys and values as text.

    Example:
        >>> joined([("a", "1.50"), ("é", "[]")])
        '"a": 1.50, "é": []'
    """
    return ", ".join(f"{quoted(key)}: {value}" for key, value in pairs)


def quoted(key: str) -> str:
    """A key as text.

    Example:
        >>> quoted("é")
        '"é"'
    """
    text = json.dumps(key, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can hold
        return json.dumps(key)
    return text


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return place if found is None else found.end()


def _next(text: str, place: int) -> int:
    """The beginning of the next member, or the closing bracket."""
    place = _after_space(text, place)
    return _after_space(text, place + 1) if text[place] == "," else place
