"""Turns texts into token numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from hashlib import sha256
from threading import Lock
from typing import Any, Protocol
from zlib import crc32

from labelwood.dual_encoder.model.tokenizer_check import check_tokenizer
from labelwood.errors import LabelwoodError

_WORD = re.compile(r"\w+")
_LOCK = Lock()
_BLOCK = 1 << 18  # characters that are tokenised at a time


class Tokenizer(Protocol):
    """What an encoder needs to read texts.

    Example:
        >>> tokenizer: Tokenizer = WordHasher(100)
        >>> tokenizer.pad_id
        0
    """

    pad_id: int

    def encode(self, texts: Sequence[str], max_tokens: int) -> list[list[int]]:
        """The tokens of each text, at most `max_tokens`."""

    def fingerprint(self) -> str:
        """Another one if the same text may have other tokens."""


class WordHasher:
    """Numbers words by a hash of their lower-case letters; it needs no training and no vocabulary.

    Example:
        >>> WordHasher(100).encode(["A dog", "a  DOG!", ""], max_tokens=8)
        [[1, 41, 5], [1, 41, 5], [1]]
    """

    pad_id = 0
    _begin = 1  # so that a text without words has a token too

    def __init__(self, n_tokens: int) -> None:
        self.n_tokens = n_tokens

    def encode(self, texts: Sequence[str], max_tokens: int) -> list[list[int]]:
        """The tokens of each text, at most `max_tokens`."""
        return [[self._begin, *map(self._number, _WORD.findall(text.lower()))][:max_tokens] for text in texts]

    def fingerprint(self) -> str:
        """Another one if the same text may have other tokens."""
        return f"words-{self.n_tokens}"

    def _number(self, word: str) -> int:
        return self._begin + 1 + crc32(word.encode("utf-8", "surrogatepass")) % (self.n_tokens - self._begin - 1)


class SubwordTokenizer:
    """The tokenizer of a checkpoint, stored as the text of its `tokenizer.json`: data, never code.

    Example:
        >>> from tokenizers import Tokenizer, models
        >>> words = Tokenizer(models.WordLevel({"dog": 0, "?": 1}, unk_token="?"))
        >>> SubwordTokenizer(words.to_str(), pad_id=1).encode(["dog"], max_tokens=4)
        [[0]]
    """

    def __init__(self, text: str, pad_id: int) -> None:
        from tokenizers import Tokenizer as Rules

        self.text = text
        self.pad_id = pad_id
        with _as_own_error("the tokenizer's file cannot be used"):
            self._rules: Any = Rules.from_str(check_tokenizer(text))
        self._truncating: dict[int, Any] = {}  # tokenizers that truncate texts, by length

    def encode(self, texts: Sequence[str], max_tokens: int) -> list[list[int]]:
        """The tokens of each text, at most `max_tokens` including special tokens."""
        rules = self._truncating.get(max_tokens) or self._truncating_rules(max_tokens)
        found: list[list[int]] = []
        for block in _blocks(texts):
            with _as_own_error("the tokenizer cannot read a text"):
                try:
                    encodings = rules.encode_batch(block)
                except TypeError:
                    _check_characters(block)
                    raise
            # The library does not cut off special tokens if these alone are too many.
            found.extend(encoding.ids[:max_tokens] for encoding in encodings)
        return found

    def _truncating_rules(self, max_tokens: int) -> Any:
        """A tokenizer for each length: a tokenizer cannot be changed while another thread uses it."""
        from tokenizers import Tokenizer as Rules

        with _LOCK, _as_own_error("the tokenizer's file cannot be used"):
            if max_tokens not in self._truncating:
                rules = Rules.from_str(check_tokenizer(self.text)) if self._truncating else self._rules
                rules.enable_truncation(max_tokens)
                self._truncating[max_tokens] = rules
        return self._truncating[max_tokens]

    @property
    def n_tokens(self) -> int:
        """The number of tokens."""
        return int(self._rules.get_vocab_size(with_added_tokens=True))

    @cached_property
    def highest_id(self) -> int:
        """The largest token number, including special tokens."""
        with _as_own_error("the tokenizer cannot read a text"):
            special = self._rules.encode("").ids
        return int(max(*self._rules.get_vocab(with_added_tokens=True).values(), *special, self.pad_id))

    def fingerprint(self) -> str:
        """Another one if the same text may have other tokens."""
        return sha256(self.text.encode()).hexdigest()


def _blocks(texts: Sequence[str]) -> Iterator[list[str]]:
    """Splits texts into blocks, since Ctrl-C works only between calls of the library in Rust."""
    block: list[str] = []
    n_characters = 0
    for text in texts:
        block.append(text)
        n_characters += len(text)
        if n_characters >= _BLOCK:
            yield block
            block, n_characters = [], 0
    if block:
        yield block


def _check_characters(texts: Sequence[str]) -> None:
    """Raises an error that names the text, if one has half of a surrogate pair, which is no character."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as e:
            raise LabelwoodError(
                f"the text {text[:40]!a} has half of a character ({text[e.start]!a}): replace it"
            ) from None


@contextmanager
def _as_own_error(what: str) -> Iterator[None]:
    """Turns errors of the library in Rust into ours. Its panics are not of the class `Exception`."""
    try:
        yield
    except LabelwoodError:
        raise
    except BaseException as e:
        if not isinstance(e, Exception) and type(e).__name__ != "PanicException":
            raise
        reason = str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__
        raise LabelwoodError(f"{what} ({reason[:200]}): give a checkpoint with another tokenizer") from None
