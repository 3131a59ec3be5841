"""Strict JSON for the files of a model: nothing in it can mean different things to two readers."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

from labelwood.store.damage import quoted

MAX_BYTES = 32 << 20  # large data belongs in arrays and names, so more JSON than this is an attack or an accident
MAX_VALUES = 1 << 18  # a value of a few bytes of text takes about a hundred bytes in memory
MAX_DEPTH = 64


def loads(data: bytes, *, max_bytes: int | None = None, max_values: int | None = None) -> Any:
    """Parses JSON; raises `ValueError` for repeated keys, numbers that are not finite, and deep nesting.

    The default limits are those of the files of a model.

    Example:
        >>> loads(b'{"a": 1, "a": 2}')
        Traceback (most recent call last):
        ...
        ValueError: the key 'a' occurs twice
    """
    check_size(data, max_bytes=max_bytes, max_values=max_values)
    try:
        value = json.loads(data.decode(), object_pairs_hook=_unique_keys, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _check_depth(value)
    if b"\\u" in data:  # only an escape can hold half of a surrogate pair
        _check_surrogates(value)
    return value


def check_size(data: bytes, *, max_bytes: int | None = None, max_values: int | None = None) -> None:
    """Raises `ValueError` for JSON that would take much time or memory to read.

    Example:
        >>> check_size(b"[" * (MAX_VALUES + 1))
        Traceback (most recent call last):
        ...
        ValueError: its JSON has 262145 values or more and the limit is 262144
    """
    max_bytes = MAX_BYTES if max_bytes is None else max_bytes
    max_values = MAX_VALUES if max_values is None else max_values
    if len(data) > max_bytes:
        raise ValueError(f"its JSON has {len(data)} bytes and the limit is {max_bytes}")
    n_values = sum(map(data.count, (b",", b"[", b"{")))  # at most one value begins after each, so this is a bound
    if n_values > max_values:
        raise ValueError(f"its JSON has {n_values} values or more and the limit is {max_values}")


def dumps(value: Any) -> bytes:
    """JSON with the same bytes for equal values: sorted keys, ASCII, a newline at the end.

    Example:
        >>> dumps({"b": 1, "a": []})
        b'{\\n "a": [],\\n "b": 1\\n}\\n'
    """
    return json.dumps(value, sort_keys=True, indent=1, allow_nan=False).encode() + b"\n"


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {quoted(key)} occurs twice")
        found[key] = value
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"the number {quoted(text)} is not finite")
    return number


def _check_depth(value: Any) -> None:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError("it is nested too deeply")
        below = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list)]
        level = [item for items in below for item in items]


def _check_surrogates(value: Any) -> None:
    """Raises for half of a surrogate pair, because it cannot be printed or stored."""
    json.dumps(value, ensure_ascii=False).encode()
