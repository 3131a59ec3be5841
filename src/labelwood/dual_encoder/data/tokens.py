"""Texts that were turned into tokens once, in flat arrays that can be mapped from a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood.dual_encoder.model.tokenizer import Tokenizer
from labelwood.errors import InputError

Ids = NDArray[np.int64]
_BLOCK = 8192  # texts at a time
_MULTIPLE = 8  # widths of batches; tensor cores like them, and there are fewer different ones to compile for
# Round sizes differ by such a part of a batch at most. To record one takes as long as many steps, and batches of texts
# that lie near each other differ in size: finer steps would save few tokens and make many more sizes.
_TOKEN_PARTS, _TEXT_PARTS = 16, 4


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens of texts: those of text i are ``ids[offsets[i]:offsets[i + 1]]``.

    Example:
        >>> from labelwood.dual_encoder.model.tokenizer import WordHasher
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

    def everything(self) -> Ids:
        """The numbers of all texts."""
        return np.arange(len(self))

    def digest(self) -> str:
        """A fingerprint of all tokens."""
        return sha256(self.ids.tobytes() + self.offsets.tobytes()).hexdigest()


class Packed(NamedTuple):
    """Texts end to end, on a device.

    Example:
        >>> feeder = TokenFeeder((Tokens(np.int32([5, 6, 7]), np.array([0, 1, 3]), pad_id=0),), "cpu")
        >>> feeder.packed(np.array([1, 0])).positions.tolist()
        [0, 1, 0]
    """

    ids: Any
    positions: Any  # of tokens in their texts
    owners: Any  # of tokens: the place of their text in the batch
    bounds: Any  # where texts begin, and the end of the last
    longest: int  # tokens that a text can have


class TokenFeeder:
    """Tokens on a device, where batches of them are put together: only numbers of texts travel.

    Texts of several tables are numbered through.

    Example:
        >>> feeder = TokenFeeder((Tokens(np.int32([5, 6, 7]), np.array([0, 1, 3]), pad_id=0),), "cpu")
        >>> ids, real = feeder.padded(np.array([1, 0]))
        >>> ids.tolist(), real.tolist()
        ([[6, 7], [5, 0]], [[True, True], [True, False]])
    """

    def __init__(self, tables: tuple[Tokens, ...], device: Any) -> None:
        import torch

        self.device = torch.device(device)
        self.pad_id = tables[0].pad_id
        self.lengths: Ids = np.concatenate([table.lengths for table in tables])
        self.longest = int(self.lengths.max(initial=1))
        self._begins: Ids = np.cumsum(self.lengths) - self.lengths
        self._ids = torch.cat([torch.from_numpy(np.array(table.ids)).to(self.device) for table in tables])
        self._steps = torch.arange(max(self.longest, 1), device=self.device)

    def padded(self, which: Ids) -> tuple[Any, Any]:
        """Token numbers and which are real, texts × tokens, as wide as the longest of these texts needs."""
        lengths = self.lengths[which]
        width = -(-max(int(lengths.max(initial=1)), 1) // _MULTIPLE) * _MULTIPLE
        width = min(width, max(self.longest, 1))  # an encoder need not have positions for more
        begins, lengths = (moved[:, None] for moved in on_device((self._begins[which], lengths), self.device))
        real = self._steps[:width] < lengths
        at = (begins + self._steps[:width]).clamp(max=max(len(self._ids) - 1, 0))
        return self._ids[at].long().masked_fill(~real, self.pad_id), real

    def packed(self, which: Ids, *, rounded: bool = False) -> Packed:
        """The texts end to end; with `rounded`, `fillers` come after them."""
        import torch

        begins, lengths = self._begins[which], self.lengths[which]
        if rounded:
            more = fillers(len(which), int(lengths.sum()), self.longest)
            # Each is the beginning of the table, which is no shorter than the longest text.
            begins, lengths = np.append(begins, np.zeros_like(more)), np.append(lengths, more)
        n_texts, n_tokens = len(lengths), int(lengths.sum())
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        # What is added to a token's place in the batch to get its place in the table.
        shifts = begins - bounds[:-1]
        bounds, lengths, shifts = on_device((bounds, lengths, shifts), self.device)
        places = torch.arange(n_texts, device=self.device)
        # The number of tokens is told, or the GPU would be waited for.
        owners = places.repeat_interleave(lengths, output_size=n_tokens)
        at = torch.arange(n_tokens, device=self.device)
        ids = self._ids[at + shifts[owners]].long()
        return Packed(ids, at - bounds[owners], owners, bounds.int(), self.longest)

    def by_length(self, which: Ids, size: int) -> list[Ids]:
        """Places in `which`, at most `size` at a time, so that texts of about the same length come together."""
        order = np.argsort(self.lengths[which], kind="stable")
        n = -(-len(order) // size)
        return np.array_split(order, n) if n else []  # evenly: a single text left over would be compiled for


def fillers(n_texts: int, n_tokens: int, longest: int) -> Ids:
    """Lengths of texts to fill a batch up with, so that batches of about the same size have the same size.

    With them, numbers of texts and of tokens are round; they add a few in a hundred. Each has a token at least, and
    `longest` at most. Where no text has more than one there are none.

    Example:
        >>> 500 + int(fillers(60, 500, longest=32).sum())
        512
    """
    if longest < 2:
        return np.empty(0, np.int64)
    step = _power_of_two(n_tokens // _TOKEN_PARTS)
    fewest = -(-step // (longest - 1))  # that can hold as many tokens as can be missing
    n = fewest + -(n_texts + fewest) % _power_of_two(
        n_texts // _TEXT_PARTS
    )  # texts cost little: what counts are tokens
    total = n + -(n_tokens + n) % step
    return total // n + (np.arange(n) < total % n)


def _power_of_two(n: int) -> int:
    """The largest that is not above n, or 1."""
    return 1 << max(0, n.bit_length() - 1)


def on_device(arrays: tuple[Any, ...], device: Any) -> list[Any]:
    """Arrays of whole numbers as tensors on the device; they travel together, and nothing waits for them to arrive.

    Example:
        >>> [tensor.tolist() for tensor in on_device((np.array([1, 2]), np.array([[3], [4]])), "cpu")]
        [[1, 2], [[3], [4]]]
    """
    import torch

    arrays = tuple(np.asarray(array, np.int64) for array in arrays)
    if torch.device(device).type == "cpu":
        return [torch.from_numpy(array) for array in arrays]
    # Not copied by torch, which would do so with a thread for each core, and these spin while they wait for more.
    together = torch.empty(sum(array.size for array in arrays), dtype=torch.int64, pin_memory=True)
    np.concatenate([array.ravel() for array in arrays], out=together.numpy())
    parts = together.to(device, non_blocking=True).split([array.size for array in arrays])
    return [part.view(array.shape) for part, array in zip(parts, arrays, strict=True)]


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
