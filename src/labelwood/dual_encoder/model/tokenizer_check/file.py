"""Checks a whole tokenizer file: known parts with known fields, and limits on how much they can lengthen a text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from labelwood.dual_encoder.model.tokenizer_check.charsmap import longest_replacement
from labelwood.dual_encoder.model.tokenizer_check.models import check_model, is_id
from labelwood.dual_encoder.model.tokenizer_check.patterns import is_safe
from labelwood.store import strict_json

# XLM-RoBERTa's file has 750 thousand values, and Gemma's 1.8 million in 33 MB.
_MOST_BYTES, _MOST_VALUES = 64 << 20, 4_000_000
_MOST_PARTS = 16  # parts of one kind: normalizers, or pre-tokenizers, or post-processors
_LONGEST_TEXT = 64  # characters that are inserted or searched for
_LONGEST_PREPENDED = 8  # characters before each part of a text; real tokenizers prepend one
_MOST_MARKS = 16  # special tokens that are added before a text is truncated; real tokenizers add two or three
_MOST_GROWTH, _MOST_REPLACED = 2_000, 16  # factors by which normalizers may lengthen a text: all, and Replace alone
_MOST_ADDED, _LONGEST_ADDED, _MOST_ADDED_CHARACTERS = 100_000, 1024, 2_000_000
_GROWTH = {"NFKC": 18, "NFKD": 18, "NFC": 3, "NFD": 4, "Lowercase": 3, "BertNormalizer": 9, "ByteLevel": 4}
_GROWTH |= {"Metaspace": 2}  # if the pieces before it have one character
_TOP = {"version", "truncation", "padding", "added_tokens", "decoder", "model"}

Fields = Mapping[str, Callable[[Any], bool]]


def check_tokenizer(text: str) -> str:
    """The file without the parts that answers do not need; raises `ValueError` if it is not safe for the library.

    Example:
        >>> from tokenizers import Tokenizer, models
        >>> text = Tokenizer(models.WordLevel({"?": 0, "dog": 1}, unk_token="?")).to_str()
        >>> Tokenizer.from_str(check_tokenizer(text)).encode("dog").ids
        [1]
        >>> check_tokenizer('{"model": {"type": "Evil", "vocab": {}}}')
        Traceback (most recent call last):
        ...
        ValueError: its model is 'Evil', which is not known
    """
    file = strict_json.loads(text.encode(), max_bytes=_MOST_BYTES, max_values=_MOST_VALUES)
    if not isinstance(file, dict):
        raise ValueError("it is not a table")
    strange = sorted(file.keys() - _TOP - _PARTS.keys())
    if strange:
        raise ValueError(f"it has {strange[0]!r}, which no tokenizer has")
    model = check_model(file.get("model"))
    growth = {name: _check_growth(name, file.get(name)) for name in _PARTS}
    _check_added(file.get("added_tokens"), growth["normalizer"])
    kept = {name: file.get(name) for name in ("added_tokens", *_PARTS)}
    kept["added_tokens"] = kept["added_tokens"] or []
    unused = {"version": "1.0", "truncation": None, "padding": None, "decoder": None}
    return json.dumps(unused | kept | {"model": model}, ensure_ascii=False)


def _check_growth(name: str, part: Any) -> float:
    """Checks all parts of one kind, which can be nested; returns the most characters that they make of one."""
    if part is None:
        return 1
    inner, kinds = _PARTS[name]
    waiting, found, n_parts = [part], list[Mapping[str, Any]](), 0
    while waiting:
        some, n_parts = waiting.pop(), n_parts + 1
        if n_parts > _MOST_PARTS:
            raise ValueError(f"its {name} has more than {_MOST_PARTS} parts")
        kind = some.get("type") if isinstance(some, dict) else None
        if kind == "Sequence" and isinstance(some.get(inner), list) and some.keys() == {"type", inner}:
            waiting.extend(some[inner])
            continue
        if not isinstance(kind, str) or kind not in kinds:
            raise ValueError(f"its {name} is {kind!r}, which is not known")
        _check_fields(f"its {name} {kind}", some, kinds[kind])
        found.append(some)
    if _is_growing(found):
        raise ValueError(f"its {name} makes texts many times longer")
    return prod(map(_growth, found))


def _is_growing(parts: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the parts together lengthen a text too much."""
    kinds = [part["type"] for part in parts]
    replaced = prod(_growth(part) for part in parts if part["type"] == "Replace")
    if replaced > _MOST_REPLACED or prod(map(_growth, parts)) > _MOST_GROWTH or sum(map(_marks, parts)) > _MOST_MARKS:
        return True
    return kinds.count("Prepend") > 1 or kinds.count("TemplateProcessing") > 1


def _check_fields(what: str, part: Mapping[str, Any], fields: Fields) -> None:
    for field, value in part.items():
        if field != "type" and (field not in fields or not fields[field](value)):
            raise ValueError(f"{what} has a field {field!r} that is not known, or whose value is not safe")
    if "single" in fields:
        _check_template(what, part)


def _growth(part: Mapping[str, Any]) -> float:
    """The most characters that a part makes of one."""
    kind = part["type"]
    if kind == "Precompiled":
        return longest_replacement(part.get("precompiled_charsmap", ""))
    if kind == "Replace":
        pattern = part.get("pattern", {})
        return max(1.0, len(part.get("content", "")) / len(pattern.get("String", "1")))
    if kind == "Prepend":  # it comes before each part between added tokens, and a part can be one character
        return 1 + len(part.get("prepend", ""))
    return _GROWTH.get(kind, 1)


def _marks(part: Mapping[str, Any]) -> int:
    """The number of special tokens that a post-processor adds."""
    if part["type"] in ("BertProcessing", "RobertaProcessing"):
        return 2
    marks = part.get("special_tokens", {})
    added = [piece["SpecialToken"]["id"] for piece in part.get("single", []) if "SpecialToken" in piece]
    return sum(len(marks[mark]["ids"]) for mark in added)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_flag_or_none(value: Any) -> bool:
    return value is None or isinstance(value, bool)


def _is_short(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_TEXT


def _is_prepended(value: Any) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= _LONGEST_PREPENDED


def _is_character(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 1


def _is_length(value: Any) -> bool:
    return type(value) is int and 1 <= value <= 1_000_000


def _is_pattern(value: Any) -> bool:
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((kind, text),) = value.items()
    if kind == "Regex":
        return isinstance(text, str) and is_safe(text)
    return kind == "String" and _is_name(text) and text != ""


def _is_mark(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and _is_name(value[0]) and is_id(value[1])


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_ADDED


def _one_of(*choices: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in choices


def _is_pieces(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= _MOST_MARKS and all(map(_is_piece, value))


def _is_piece(piece: Any) -> bool:
    if not isinstance(piece, dict) or len(piece) != 1:
        return False
    ((kind, inner),) = piece.items()
    is_whole = isinstance(inner, dict) and inner.keys() == {"id", "type_id"} and is_id(inner["type_id"])
    if not is_whole or not _is_name(inner["id"]):
        return False
    return kind == "SpecialToken" or (kind == "Sequence" and inner["id"] in ("A", "B"))


def _is_marks(value: Any) -> bool:
    return isinstance(value, dict) and len(value) <= _MOST_MARKS and all(_is_of_mark(*item) for item in value.items())


def _is_of_mark(name: str, mark: Any) -> bool:
    if not isinstance(mark, dict) or mark.keys() != {"id", "ids", "tokens"} or mark["id"] != name:
        return False
    ids, tokens = mark["ids"], mark["tokens"]
    if not isinstance(ids, list) or not isinstance(tokens, list) or not len(ids) == len(tokens) <= _MOST_MARKS:
        return False
    return all(map(is_id, ids)) and all(map(_is_name, tokens))


def _check_template(what: str, part: Mapping[str, Any]) -> None:
    """Raises an error unless each text is once in its template, and all special tokens are defined."""
    for name, texts in (("single", ["A"]), ("pair", ["A", "B"])):
        pieces = part.get(name, [])
        found = sorted(piece["Sequence"]["id"] for piece in pieces if "Sequence" in piece)
        marks = {piece["SpecialToken"]["id"] for piece in pieces if "SpecialToken" in piece}
        if found != texts or not marks <= part.get("special_tokens", {}).keys():
            raise ValueError(f"{what} does not have each text once in {name!r}, or has an undefined special token")


def _check_added(tokens: Any, growth: float) -> None:
    """Limits added tokens: the library builds an automaton from all their characters, after normalization."""
    if tokens is None:
        return
    if not isinstance(tokens, list) or len(tokens) > _MOST_ADDED or not all(map(_is_added, tokens)):
        raise ValueError("its added tokens are not a list, or are too many or too long")
    if sum(len(t["content"]) * (growth if t["normalized"] else 1) for t in tokens) > _MOST_ADDED_CHARACTERS:
        raise ValueError(f"its added tokens have more than {_MOST_ADDED_CHARACTERS} characters in total")


def _is_added(token: Any) -> bool:
    flags = {"single_word", "lstrip", "rstrip", "normalized", "special"}
    if not isinstance(token, dict) or token.keys() != flags | {"id", "content"}:
        return False
    return is_id(token["id"]) and _is_name(token["content"]) and all(_is_flag(token[flag]) for flag in flags)


_BEHAVIOR = _one_of("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
_BYTE_LEVEL: Fields = dict.fromkeys(("add_prefix_space", "trim_offsets", "use_regex"), _is_flag)
_NONE: Fields = {}
_NORMALIZERS: Mapping[str, Fields] = {
    "BertNormalizer": {
        "clean_text": _is_flag,
        "handle_chinese_chars": _is_flag,
        "strip_accents": _is_flag_or_none,
        "lowercase": _is_flag,
    },
    "Strip": {"strip_left": _is_flag, "strip_right": _is_flag},
    "Replace": {"pattern": _is_pattern, "content": _is_short},
    "Prepend": {"prepend": _is_prepended},
    "Precompiled": {"precompiled_charsmap": lambda value: isinstance(value, str)},
    "ByteLevel": _NONE,
    **dict.fromkeys(("StripAccents", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Nmt"), _NONE),
}
_PRE_TOKENIZERS: Mapping[str, Fields] = {
    "ByteLevel": _BYTE_LEVEL,
    "Metaspace": {
        "replacement": _is_character,
        "prepend_scheme": _one_of("first", "never", "always"),
        "split": _is_flag_or_none,
        "add_prefix_space": _is_flag_or_none,
        "str_rep": _is_short,
    },
    "Split": {"pattern": _is_pattern, "behavior": _BEHAVIOR, "invert": _is_flag},
    "Punctuation": {"behavior": _BEHAVIOR},
    "Digits": {"individual_digits": _is_flag},
    "CharDelimiterSplit": {"delimiter": _is_character},
    "FixedLength": {"length": _is_length},
    **dict.fromkeys(("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts"), _NONE),
}
_POST_PROCESSORS: Mapping[str, Fields] = {
    "BertProcessing": {"sep": _is_mark, "cls": _is_mark},
    "RobertaProcessing": {"sep": _is_mark, "cls": _is_mark, "trim_offsets": _is_flag, "add_prefix_space": _is_flag},
    "ByteLevel": _BYTE_LEVEL,
    "TemplateProcessing": {"single": _is_pieces, "pair": _is_pieces, "special_tokens": _is_marks},
}
_PARTS = {
    "normalizer": ("normalizers", _NORMALIZERS),
    "pre_tokenizer": ("pretokenizers", _PRE_TOKENIZERS),
    "post_processor": ("processors", _POST_PROCESSORS),
}
