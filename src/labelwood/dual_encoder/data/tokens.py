"""Tokens of texts, in flat arrays that can be mapped from a file."""

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
_MULTIPLE = 8  # widths of batches are multiples: better for tensor cores, and fewer sizes to compile
# Rounding adds at most one such part to a batch. Recording a size takes as long as many steps, and batches of similar
# texts differ in size. Smaller steps would save few tokens but give many more sizes.
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
        """Tokenises texts (a list or an Arrow array), or maps the tokens that an earlier call left in `cache`."""
        if cache is None:
            return cls(*_tokenise(texts, tokenizer, max_tokens), tokenizer.pad_id)
        key = _key(texts, tokenizer, max_tokens)
        stems = [Path(cache) / f"tokens-{key}-{part}.npy" for part in ("ids", "offsets")]
        if (found := _map_files(stems)) is None:
            _write_files(stems, _tokenise(texts, tokenizer, max_tokens))
            found = _map_files(stems)
        if found is None:
            raise InputError("tokens were written but cannot be read: is the disk full?", cache)
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
    """Packed texts on a device: their tokens one after the other, without padding.

    Example:
        >>> feeder = TokenFeeder((Tokens(np.int32([5, 6, 7]), np.array([0, 1, 3]), pad_id=0),), "cpu")
        >>> feeder.packed(np.array([1, 0])).positions.tolist()
        [0, 1, 0]
    """

    ids: Any
    positions: Any  # of each token in its text
    owners: Any  # of each token: the place of its text in the batch
    bounds: Any  # where each text starts, and the end of the last
    longest: int  # the most tokens that a text can have


class TokenFeeder:
    """Holds tokens on a device and assembles batches there: only the numbers of texts are transferred.

    The texts of several tables are numbered consecutively.

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
        self._starts: Ids = np.cumsum(self.lengths) - self.lengths
        self._ids = torch.cat([torch.from_numpy(np.array(table.ids)).to(self.device) for table in tables])
        self._steps = torch.arange(max(self.longest, 1), device=self.device)

    def padded(self, which: Ids) -> tuple[Any, Any]:
        """Padded token numbers, and which of them are real: texts × tokens, as wide as the longest text."""
        lengths = self.lengths[which]
        width = -(-max(int(lengths.max(initial=1)), 1) // _MULTIPLE) * _MULTIPLE
        width = min(width, max(self.longest, 1))  # an encoder may not have positions for more
        starts, lengths = (moved[:, None] for moved in on_device((self._starts[which], lengths), self.device))
        real = self._steps[:width] < lengths
        at = (starts + self._steps[:width]).clamp(max=max(len(self._ids) - 1, 0))
        return self._ids[at].long().masked_fill(~real, self.pad_id), real

    def packed(self, which: Ids, *, rounded: bool = False) -> Packed:
        """The packed texts; with `rounded`, `fillers` come after them."""
        import torch

        starts, lengths = self._starts[which], self.lengths[which]
        if rounded:
            more = fillers(len(which), int(lengths.sum()), self.longest)
            # A filler repeats the first tokens of the table, which has at least as many as the longest text.
            starts, lengths = np.append(starts, np.zeros_like(more)), np.append(lengths, more)
        n_texts, n_tokens = len(lengths), int(lengths.sum())
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        # The difference between a token's place in the table and in the batch.
        shifts = starts - bounds[:-1]
        bounds, lengths, shifts = on_device((bounds, lengths, shifts), self.device)
        places = torch.arange(n_texts, device=self.device)
        # Without the output size, torch would wait for the GPU.
        owners = places.repeat_interleave(lengths, output_size=n_tokens)
        at = torch.arange(n_tokens, device=self.device)
        ids = self._ids[at + shifts[owners]].long()
        return Packed(ids, at - bounds[owners], owners, bounds.int(), self.longest)

    def by_length(self, which: Ids, size: int) -> list[Ids]:
        """Splits the places in `which` into chunks of at most `size`, with texts of similar length together."""
        order = np.argsort(self.lengths[which], kind="stable")
        n = -(-len(order) // size)
        return np.array_split(order, n) if n else []  # a chunk of one text would be compiled separately


def fillers(n_texts: int, n_tokens: int, longest: int) -> Ids:
    """Lengths of filler texts, which round the size of a batch up, so that similar batches have equal sizes.

    They add a few per cent of texts and tokens. A filler has at least one token and at most `longest`. If no text has
    more than one token, there are no fillers.

    Example:
        >>> 500 + int(fillers(60, 500, longest=32).sum())
        512
    """
    if longest < 2:
        return np.empty(0, np.int64)
    step = _power_of_two(n_tokens // _TOKEN_PARTS)
    fewest = -(-step // (longest - 1))  # fillers that can hold all missing tokens
    # The number of texts is rounded more coarsely, because only tokens are expensive.
    n = fewest + -(n_texts + fewest) % _power_of_two(n_texts // _TEXT_PARTS)
    total = n + -(n_tokens + n) % step
    return total // n + (np.arange(n) < total % n)


def _power_of_two(n: int) -> int:
    """The largest power of two up to n, or 1."""
    return 1 << max(0, n.bit_length() - 1)


def on_device(arrays: tuple[Any, ...], device: Any) -> list[Any]:
    """Moves arrays of whole numbers to the device in one transfer, without waiting for its end.

    Example:
        >>> [tensor.tolist() for tensor in on_device((np.array([1, 2]), np.array([[3], [4]])), "cpu")]
        [[1, 2], [[3], [4]]]
    """
    import torch

    arrays = tuple(np.asarray(array, np.int64) for array in arrays)
    if torch.device(device).type == "cpu":
        return [torch.from_numpy(array) for array in arrays]
    # NumPy copies here, because torch would use a thread for each core, and these spin while they wait for work.
    together = torch.empty(sum(array.size for array in arrays), dtype=torch.int64, pin_memory=True)
    np.concatenate([array.ravel() for array in arrays], out=together.numpy())
    parts = together.to(device, non_blocking=True).split([array.size for array in arrays])
    return [part.view(array.shape) for part, array in zip(parts, arrays, strict=True)]


def _blocks(texts: Any) -> Iterator[list[str]]:
    for at in range(0, len(texts), _BLOCK):
        block = texts[at : at + _BLOCK]
        yield block.to_pylist() if hasattr(block, "to_pylist") else list(block)


def _tokenise(texts: Any, tokenizer: Tokenizer, max_tokens: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
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


def _write_files(paths: list[Path], arrays: tuple[NDArray[Any], ...]) -> None:
    """Writes files under temporary names and renames them, so that a file is complete or absent."""
    try:
        paths[0].parent.mkdir(parents=True, exist_ok=True)
        for path, array in zip(paths, arrays, strict=True):
            temporary = path.with_name(f".{os.getpid()}-{path.name}")
            with temporary.open("wb") as file:
                np.save(file, array, allow_pickle=False)
            temporary.replace(path)
    except OSError as e:
        raise InputError(f"tokens cannot be written here ({e.strerror}): give another cache", paths[0].parent) from None


def _map_files(paths: list[Path]) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
    """Maps the arrays of the files; None if a file is missing or they contradict each other."""
    try:
        ids, offsets = (np.load(path, mmap_mode="r", allow_pickle=False) for path in paths)
    except (OSError, ValueError, EOFError):
        return None
    valid = ids.dtype == np.int32 and offsets.dtype == np.int64 and ids.ndim == offsets.ndim == 1 and len(offsets)
    if not valid or offsets[0] != 0 or offsets[-1] != len(ids) or (np.diff(offsets) < 0).any():
        return None
    return ids, np.asarray(offsets)
