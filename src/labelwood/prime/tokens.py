"""Texts that were turned into tokens once, in flat arrays that can be mapped from a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.errors import InputError
from labelwood.prime.tokenizer import Tokenizer

Ids = NDArray[np.int64]
_BLOCK = 8192  # texts at a time
_MULTIPLE = 8  # widths of batches; tensor cores like them, and there are fewer different ones to compile for


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens of texts: those of text i are ``ids[offsets[i]:offsets[i + 1]]``.

    Example:
        >>> from labelwood.prime.tokenizer import WordHasher
        >>> tokens = Tokens.of(["one", "one two three"], WordHasher(100), max_tokens=8)
        >>> tokens.lengths.tolist()
        [2, 4]
    """

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    pad_id: int

    @classmethod
    def of(
        cls, texts: Any, tokenizer: Tokenizer, *, max_tokens: int, cache: str | PathLike[str] | None = None
    ) -> Tokens:
        """Turns texts (a list or an Arrow array) into tokens, or maps what an earlier call left in `cache`."""
        if cache is None:
            return cls(*_tokenised(texts, tokenizer, max_tokens), tokenizer.pad_id)
        key = _key(texts, tokenizer, max_tokens)
        stems = [Path(cache) / f"tokens-{key}-{part}.npy" for part in ("ids", "offsets")]
        if (found := _mapped(stems)) is None:
            _keep(stems, _tokenised(texts, tokenizer, max_tokens))
            found = _mapped(stems)
        if found is None:
            raise InputError("tokens that were just written cannot be read: is the disk full?", cache)
        return cls(*found, tokenizer.pad_id)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ids:
        """How many tokens each text has."""
        return np.diff(self.offsets)

    def by_length(self, which: Ids, size: int) -> Iterator[Ids]:
        """Places in `which`, `size` at a time, so that texts of about the same length come together."""
        order = np.argsort(self.offsets[which + 1] - self.offsets[which], kind="stable")
        for at in range(0, len(order), size):
            yield order[at : at + size]

    def digest(self) -> str:
        """A fingerprint of all tokens."""
        return sha256(self.ids.tobytes() + self.offsets.tobytes()).hexdigest()


class TokenFeeder:
    """Tokens on a device, where batches of them are put together: only numbers of texts travel.

    Example:
        >>> feeder = TokenFeeder(Tokens(np.int32([5, 6, 7]), np.array([0, 1, 3]), pad_id=0), "cpu")
        >>> ids, real = feeder(np.array([1, 0]))
        >>> ids[:, :3].tolist(), real[:, :3].tolist()
        ([[6, 7, 0], [5, 0, 0]], [[True, True, False], [True, False, False]])
    """

    def __init__(self, tokens: Tokens, device: Any) -> None:
        import torch

        self.tokens = tokens
        self.device = torch.device(device)
        self._ids = torch.from_numpy(np.array(tokens.ids)).to(self.device)
        self._steps = torch.arange(0, device=self.device)

    def __call__(self, which: Ids) -> tuple[Any, Any]:
        """Token numbers and which are real, texts × tokens, as wide as the longest of these texts needs."""
        import torch

        begins = self.tokens.offsets[which]
        lengths = self.tokens.offsets[which + 1] - begins
        width = -(-max(int(lengths.max(initial=1)), 1) // _MULTIPLE) * _MULTIPLE
        if width > len(self._steps):
            self._steps = torch.arange(width, device=self.device)
        both = torch.from_numpy(np.stack([begins, lengths])).to(self.device, non_blocking=True)[:, :, None]
        real = self._steps[:width] < both[1]
        at = (both[0] + self._steps[:width]).clamp(max=max(len(self._ids) - 1, 0))
        return self._ids[at].long().masked_fill(~real, self.tokens.pad_id), real


def _blocks(texts: Any) -> Iterator[list[str]]:
    for at in range(0, len(texts), _BLOCK):
        block = texts[at : at + _BLOCK]
        yield block.to_pylist() if hasattr(block, "to_pylist") else list(block)


def _tokenised(texts: Any, tokenizer: Tokenizer, max_tokens: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    ids, lengths = [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
    for block in _blocks(texts):
        encoded = tokenizer.encode(block, max_tokens)
        lengths.append(np.array([len(e) for e in encoded], np.int64))
        ids.append(np.fromiter((i for e in encoded for i in e), np.int32, int(lengths[-1].sum())))
    return np.concatenate(ids), np.cumsum(np.concatenate(lengths))


def _key(texts: Any, tokenizer: Tokenizer, max_tokens: int) -> str:
    digest = sha256(f"{tokenizer.fingerprint()} {max_tokens} {len(texts)}".encode())
    for block in _blocks(texts):
        for text in block:
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()[:32]


def _keep(paths: list[Path], arrays: tuple[NDArray[Any], ...]) -> None:
    """Writes beside and renames, so that a file is whole or not there."""
    try:
        paths[0].parent.mkdir(parents=True, exist_ok=True)
        for path, array in zip(paths, arrays, strict=True):
            beside = path.with_name(f".{os.getpid()}-{path.name}")
            with beside.open("wb") as file:
                np.save(file, array, allow_pickle=False)
            beside.replace(path)
    except OSError as e:
        raise InputError(f"tokens cannot be kept here ({e.strerror}): give another cache", paths[0].parent) from None


def _mapped(paths: list[Path]) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
    """The arrays of files that are there and fit together; they are made again where they do not."""
    try:
        ids, offsets = (np.load(path, mmap_mode="r", allow_pickle=False) for path in paths)
    except (OSError, ValueError, EOFError):
        return None
    sound = ids.dtype == np.int32 and offsets.dtype == np.int64 and ids.ndim == offsets.ndim == 1 and len(offsets)
    if not sound or offsets[0] != 0 or offsets[-1] != len(ids) or (np.diff(offsets) < 0).any():
        return None
    return ids, np.asarray(offsets)
