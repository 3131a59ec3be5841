"""Converts parameters and learned facts to JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np

from labelwood.errors import ModelError

MAX_DEPTH = 16


def plain(value: Any, where: str, depth: int = 0) -> Any:
    """The value as JSON has it: numpy's numbers become Python's, and tuples become lists.

    Raises `ModelError` that names the place of a value that JSON cannot hold.

    Example:
        >>> plain({"ks": (np.int64(1), 3), "lam": np.float32(0.5)}, "params")
        {'ks': [1, 3], 'lam': 0.5}
    """
    if depth > MAX_DEPTH:
        raise ModelError(f"{where} cannot be saved: it is nested more than {MAX_DEPTH} levels deep, so flatten it")
    if isinstance(value, Mapping):
        return {_key(key, where): plain(inner, f"{where}[{key!r}]", depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner, f"{where}[{i}]", depth + 1) for i, inner in enumerate(value)]
    return _scalar(value.item() if isinstance(value, np.generic) else value, where)


def _key(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise ModelError(f"{where} cannot be saved: its key {key!r} is not text, so turn it into text")
    return str(_scalar(key, where))


def _scalar(value: Any, where: str) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and isfinite(value):
        return float(value)
    if isinstance(value, str) and _encodes(value):
        return str.__str__(value)
    raise ModelError(
        f"{where} cannot be saved: it is {value!r} ({type(value).__name__}) "
        "where only None, finite numbers, text, lists and dictionaries can be"
    )


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
