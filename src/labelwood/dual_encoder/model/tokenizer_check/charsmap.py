"""Checks the table of replaced characters in SentencePiece's tokenizers: a trie in one array, and replacement texts.

Each unit of the array is a 32-bit number: the byte that leads to it, where its own units start, and whether a text ends
there. The library follows these numbers without checking the end of the array.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LARGEST = 1 << 20  # bytes; the table of XLM-RoBERTa has 310 thousand
_DEEPEST = 64  # bytes that are replaced at once
_LONGEST = 64  # characters that replace one; the longest replacement in Unicode has 18
# UTF-8: whether a byte continues a character, and how many bytes follow a first byte.
_CONTINUES, _AWAITED = np.zeros(256, np.bool_), np.full(256, -1, np.int64)
_CONTINUES[0x80:0xC0] = True
_AWAITED[:0x80], _AWAITED[0xC2:0xE0], _AWAITED[0xE0:0xF0], _AWAITED[0xF0:0xF5] = 0, 1, 2, 3


def longest_replacement(text: str) -> int:
    """The most characters that replace one; raises `ValueError` if the table points outside itself.

    Example:
        >>> longest_replacement("AAAAAA==")
        Traceback (most recent call last):
        ...
        ValueError: its table of characters is damaged
    """
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("its table of characters is not base64") from None
    size = int.from_bytes(raw[:4], "little")
    if not 4 <= len(raw) <= _LARGEST or size > len(raw) - 4 or size % 4 or not size:
        raise ValueError("its table of characters is damaged")
    units = np.frombuffer(raw, "<u4", size // 4, offset=4).astype(np.int64)
    return _longest(_values(units), raw[4 + size :])


def _values(units: NDArray[np.int64]) -> NDArray[np.int64]:
    """The starts of replacement texts for all leaves that whole characters can reach."""
    found: list[NDArray[np.int64]] = []
    places = np.flatnonzero((units & 0x800000FF) == np.maximum(units & 0xFF, 1))  # no byte leads to the others
    letters = units[places] & 0xFF
    # The next units start at a base; a unit's place is its base XOR its byte.
    parents = np.minimum(places ^ letters, len(units) - 1)
    bases = places ^ _offsets(units[places])
    ends = (units[places] >> 8 & 1).astype(np.bool_)
    # For each reached base: how many bytes the character still lacks there.
    reached = np.zeros((len(units), 4), np.bool_)
    new = np.zeros_like(reached)
    _check_bases(_offsets(units[:1]), units)
    new[_offsets(units[:1]), 0] = True
    for _ in range(_DEEPEST):
        reached |= new
        following = np.zeros_like(reached)
        for lacking in range(4):
            after = _AWAITED[letters] if lacking == 0 else np.where(_CONTINUES[letters], lacking - 1, -1)
            led = new[parents, lacking] & (after >= 0)
            _check_bases(bases[led], units)
            if (after[led & ends] > 0).any():
                raise ValueError("its table of characters ends within a character")
            found.append(units[bases[led & ends]] & 0x7FFFFFFF)
            following[bases[led], after[led]] = True
        new = following & ~reached
        if not new.any():
            return np.unique(np.concatenate(found))
    raise ValueError(f"its table of characters replaces more than {_DEEPEST} bytes at once")


def _offsets(units: NDArray[np.int64]) -> NDArray[np.int64]:
    return (units >> 10) << ((units & 0x200) >> 6)


def _check_bases(bases: NDArray[np.int64], units: NDArray[np.int64]) -> None:
    """Raises an error unless the units of all possible next bytes are in the array."""
    if len(bases) and int((bases | 255).max()) >= len(units):
        raise ValueError("its table of characters leads out of itself")


def _longest(starts: NDArray[np.int64], texts: bytes) -> int:
    """The most characters of the texts at `starts`; each ends at a zero byte or at the end."""
    try:
        texts.decode()
    except UnicodeDecodeError:
        raise ValueError("its table of characters is not UTF-8") from None
    whole: NDArray[Any] = np.frombuffer(texts + b"\0", np.uint8)
    if len(starts) and int(starts.max()) > len(texts):
        raise ValueError("its table of characters leads out of itself")
    is_first = ~_CONTINUES[whole]
    if not is_first[starts].all():
        raise ValueError("its table of characters starts within a character")
    ends = np.flatnonzero(whole == 0)
    n_before = np.concatenate([[0], np.cumsum(is_first)])
    lengths = n_before[ends[np.searchsorted(ends, starts)]] - n_before[starts]
    if len(lengths) and int(lengths.max()) > _LONGEST:
        raise ValueError("its table of characters has a replacement of more than 64 characters")
    return max(1, int(lengths.max(initial=1)))
