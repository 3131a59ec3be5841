"""Checks vocabularies of tokenizers: token numbers must be small enough, and searches must take limited time."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

HIGHEST_ID = 10_000_000  # real vocabularies are smaller
LONGEST_TOKEN = 1024  # characters
_LONGEST_PIECE = 128  # characters of a Unigram token, compared at each place of a text; XLM-RoBERTa and T5 have 16
_LONGEST_WORD = 200  # characters of a word in WordPiece, whose time grows faster than their square
_LONGEST_AFFIX = 16  # characters that are added to parts of words, such as ## or </w>
_MOST_CHARACTERS = 4_000_000  # of all Unigram tokens; in memory they can take a hundred times as much
_COMMON = {"type", "vocab", "unk_token"}
_FIELDS = {
    "WordLevel": _COMMON,
    "WordPiece": _COMMON | {"continuing_subword_prefix", "max_input_chars_per_word"},
    "BPE": _COMMON
    | {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "merges"}
    | {"fuse_unk", "byte_fallback", "ignore_merges"},
    "Unigram": {"type", "vocab", "unk_id", "byte_fallback"},
}


def check_model(model: Any) -> dict[str, Any]:
    """The model with its type, which older files lack; raises `ValueError` if it is not safe.

    Example:
        >>> check_model({"vocab": {"dog": 0}, "unk_token": "?"})
        Traceback (most recent call last):
        ...
        ValueError: its token for unknown words, '?', is not in its vocabulary
    """
    if not isinstance(model, dict) or "vocab" not in model:
        raise ValueError("it has no vocabulary")
    kind = model.get("type", _kind_of(model))
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise ValueError(f"its model is {kind!r}, which is not known")
    strange = sorted(model.keys() - _FIELDS[kind])
    if strange:
        raise ValueError(f"its model has {strange[0]!r}, which no {kind} has")
    if kind == "Unigram":
        _check_unigram(model)
    else:
        _check_vocabulary(model["vocab"])
        _check_options(kind, model)
    if kind == "BPE":
        _check_merges(model)
    return {"type": kind, **model}


def is_id(value: Any) -> bool:
    """Whether the value is a valid token number.

    Example:
        >>> is_id(5), is_id(True), is_id(2**31)
        (True, False, False)
    """
    return type(value) is int and 0 <= value < HIGHEST_ID


def _kind_of(model: Mapping[str, Any]) -> str:
    if isinstance(model["vocab"], list):
        return "Unigram"
    if "merges" in model:
        return "BPE"
    return "WordPiece" if "max_input_chars_per_word" in model else "WordLevel"


def _check_vocabulary(vocabulary: Any) -> None:
    if not isinstance(vocabulary, dict) or not vocabulary:
        raise ValueError("its vocabulary is not a table of tokens")
    ids = vocabulary.values()
    if not all(map(is_id, ids)) or len(set(ids)) < len(vocabulary):
        raise ValueError("its token numbers are not whole numbers, not different, or too large")
    if max(map(len, vocabulary)) > LONGEST_TOKEN:
        raise ValueError(f"it has a token of more than {LONGEST_TOKEN} characters")


def _check_options(kind: str, model: Mapping[str, Any]) -> None:
    unknown = model.get("unk_token")
    if (unknown is not None or kind != "BPE") and (not isinstance(unknown, str) or unknown not in model["vocab"]):
        raise ValueError(f"its token for unknown words, {unknown!r}, is not in its vocabulary")
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        if not isinstance(model.get(name) or "", str) or len(model.get(name) or "") > _LONGEST_AFFIX:
            raise ValueError(f"its {name} is not a short text")
    for name in ("fuse_unk", "byte_fallback", "ignore_merges"):
        if not isinstance(model.get(name, False), bool | None):
            raise ValueError(f"its {name} is neither true nor false")
    if model.get("dropout"):
        raise ValueError("it drops parts at random (dropout), so answers would not be repeatable")
    most = model.get("max_input_chars_per_word", 1)
    if type(most) is not int or not 1 <= most <= _LONGEST_WORD:
        raise ValueError(f"its max_input_chars_per_word is {most!r} but may be at most {_LONGEST_WORD}")


def _check_merges(model: Mapping[str, Any]) -> None:
    """Raises an error unless both parts of each merge and the result are tokens: the library relies on it."""
    vocabulary, merges = model["vocab"], model.get("merges")
    prefix = model.get("continuing_subword_prefix") or ""
    if not isinstance(merges, list):
        raise ValueError("its merges are not a list")
    for merge in merges:
        parts = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, str) for part in parts):
            raise ValueError("its merges are not of two tokens each")
        a, b = parts
        if not b.startswith(prefix) or not {a, b, a + b[len(prefix) :]} <= vocabulary.keys():
            raise ValueError(f"it merges {a!r} and {b!r}, but they or the result are not tokens")


def _check_unigram(model: Mapping[str, Any]) -> None:
    vocabulary, unknown = model["vocab"], model.get("unk_id")
    if not isinstance(vocabulary, list) or not all(map(_is_scored, vocabulary)):
        raise ValueError(
            f"its vocabulary is not a list of tokens of at most {_LONGEST_PIECE} characters with finite scores"
        )
    if type(unknown) is not int or not 0 <= unknown < len(vocabulary):
        raise ValueError(f"its unk_id is {unknown!r}, which is no token of its vocabulary")
    if not isinstance(model.get("byte_fallback", False), bool):
        raise ValueError("its byte_fallback is neither true nor false")
    if sum(len(token) for token, _ in vocabulary) > _MOST_CHARACTERS:
        raise ValueError(f"its tokens have more than {_MOST_CHARACTERS} characters together")


def _is_scored(pair: Any) -> bool:
    if not isinstance(pair, list) or len(pair) != 2:
        return False
    token, score = pair
    is_text = isinstance(token, str) and 1 <= len(token) <= _LONGEST_PIECE
    return is_text and type(score) in (int, float) and isfinite(score) and abs(score) < 1e30
