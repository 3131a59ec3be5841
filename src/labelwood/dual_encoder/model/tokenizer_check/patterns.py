"""Decides which regular expressions a tokenizer may use: those whose time is proportional to the text."""

from __future__ import annotations

import re

_LONGEST = 200
_MOST_REPEATS = 100
# The patterns of well-known tokenizers: GPT-2, Llama 3, Qwen 2 and similar ones. None backtracks far.
_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
KNOWN = frozenset(
    {
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        rf"(?i:'s|'t|'re|'ve|'m|'ll|'d)|{_WORD}|\p{{N}}{{1,3}}|{_REST}",
        rf"(?i:'s|'t|'re|'ve|'m|'ll|'d)|{_WORD}|\p{{N}}|{_REST}",
    }
)
_ATOM = re.compile(
    r"\\p\{\^?\w{1,30}\}|\\P\{\w{1,30}\}|\\[sSdDwWnrt]|\\[^\w\s]|\[(?:\\.|[^\[\]\\&])+\]|[^\\\[\](){}|?*+^$]"
)
_REPEAT = re.compile(r"\{(\d{1,3})(,(\d{0,3}))?\}|[+*?]")


def is_safe(pattern: str) -> bool:
    """Whether the expression is known, or so simple that it cannot backtrack: only its end may repeat.

    Example:
        >>> is_safe(" {2,}"), is_safe(r"[\\n\\r\\t]"), is_safe("(a+)+$"), is_safe("a+b")
        (True, True, False, False)
    """
    if pattern in KNOWN:
        return True
    return 0 < len(pattern) <= _LONGEST and all(map(_is_simple, _alternatives(pattern)))


def _alternatives(pattern: str) -> list[str]:
    """The parts between bars; if a bar is no separator, the parts are not simple and are refused later."""
    return re.split(r"(?<!\\)\|(?![^\[]*\])", pattern)


def _is_simple(part: str) -> bool:
    """Whether the part is a sequence of characters and classes, of which only the last may repeat variably."""
    at = 0
    while at < len(part):
        atom = _ATOM.match(part, at)
        if atom is None:
            return False
        at = atom.end()
        repeat = _REPEAT.match(part, at)
        if repeat is not None:
            at = repeat.end()
            is_fixed = repeat[1] is not None and repeat[2] is None
            if (not is_fixed and at < len(part)) or not _is_bounded(repeat):
                return False
    return bool(part)


def _is_bounded(repeat: re.Match[str]) -> bool:
    """Whether it repeats at least once, so that no empty text matches, and not too often."""
    if repeat[1] is None:
        return repeat[0] == "+"
    return 1 <= int(repeat[1]) <= _MOST_REPEATS and (not repeat[3] or int(repeat[1]) <= int(repeat[3]) <= _MOST_REPEATS)
