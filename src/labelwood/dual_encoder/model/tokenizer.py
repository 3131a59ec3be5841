"""Texts to token numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from hashlib import sha256
from threading import Lock
from typing import Any, Protocol
from zlib import crc32

from labelwood.dual_encoder.model.tokenizer_check import checked
from labelwood.errors import LabelwoodError

_WORD = re.compile(r"\w+")
_MAKING = Lock()
_BLOCK = 1 << 18  # characters that are read at once


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
    """Words are numbered by a hash of their lower-case letters; nothing to learn or to keep.

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
    """The tokenizer of a checkpoint, kept as the text of its `tokenizer.json`: data, and never code.

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
        with _refusing("the tokenizer's file cannot be used"):
            self._rules: Any = Rules.from_str(checked(text))
        self._cutting: dict[int, Any] = {}  # the rules that cut texts, by the length

    def encode(self, texts: Sequence[str], max_tokens: int) -> list[list[int]]:
        """The tokens of each text, at most `max_tokens` with those that mark begin and end."""
        rules = self._cutting.get(max_tokens) or self._made_to_cut(max_tokens)
        found: list[list[int]] = []
        for block in _blocks(texts):
            with _refusing("the tokenizer cannot read a text"):
                try:
                    encodings = rules.encode_batch(block)
                except TypeError:
                    _check_characters(block)
                    raise
            # Marks of begin and end are not cut off where these alone are too many.
            found.extend(encoding.ids[:max_tokens] for encoding in encodings)
        return found

    def _made_to_cut(self, max_tokens: int) -> Any:
        """Rules of their own for each length: while one thread reads with them, no other can change them."""
        from tokenizers import Tokenizer as Rules

        with _MAKING, _refusing("the tokenizer's file cannot be used"):
            if max_tokens not in self._cutting:
                rules = Rules.from_str(checked(self.text)) if self._cutting else self._rules
                rules.enable_truncation(max_tokens)
                self._cutting[max_tokens] = rules
        return self._cutting[max_tokens]

    @property
    def n_tokens(self) -> int:
        """How many tokens there are."""
        return int(self._rules.get_vocab_size(with_added_tokens=True))

    @cached_property
    def highest_id(self) -> int:
        """The largest number of a token, marks of begin and end included."""
        with _refusing("the tokenizer cannot read a text"):
            marks = self._rules.encode("").ids
        return int(max(*self._rules.get_vocab(with_added_tokens=True).values(), *marks, self.pad_id))

    def fingerprint(self) -> str:
        """Another one if the same text may have other tokens."""
        return sha256(self.text.encode()).hexdigest()


def _blocks(texts: Sequence[str]) -> Iterator[list[str]]:
    """A part of the texts at a time, since Ctrl-C is heard between calls of the library in Rust, and not within."""
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
    """Raises an error that names the text, where one has half of a surrogate pair: that is no character."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as e:
            raise LabelwoodError(
                f"the text {text[:40]!a} has half of a character ({text[e.start]!a}): replace it"
            ) from None


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """Turns an error of the library in Rust into ours; its panics are no `Exception`, and would pass as Ctrl-C does."""
    try:
        yield
    except LabelwoodError:
        raise
    except BaseException as e:
        if not isinstance(e, Exception) and type(e).__name__ != "PanicException":
            raise
        reason = str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__
        raise LabelwoodError(f"{what} ({reason[:200]}): give a checkpoint with another tokenizer") from None
