"""Bytes from a file, compressed or not, with the line numbers that error messages need."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from labelwood.errors import InputError

_MAGIC = {b"\x1f\x8b": "gz", b"\xfd7zXZ\x00": "xz", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zst"}
COMPRESSIONS = ("gz", "xz", "bz2", "zst")
_BLOCK = 8 << 20
_HEAD = 1 << 16
_BOM = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """Whole lines of a file, and the number of the first (from 1)."""

    data: bytes
    first_line: int


class Source:
    """A file, or standard input for ``-``; its content is seen uncompressed.

    Example:
        >>> import gzip, tempfile
        >>> path = Path(tempfile.mkdtemp()) / "x.txt.gz"
        >>> _ = path.write_bytes(gzip.compress(b"one\\ntwo"))
        >>> source = Source(path)
        >>> source.name, [block.data for block in source.blocks()]
        ('x.txt', [b'one\\ntwo'])
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self.is_stdin = str(path) == "-"
        self._stdin_head: bytes | None = None
        if not self.is_stdin:
            self._check_exists()

    def __str__(self) -> str:
        return "standard input" if self.is_stdin else str(self.path)

    @property
    def name(self) -> str:
        """The file's name without folder and compression suffix."""
        return plain_name(self.path)

    @cached_property
    def head(self) -> bytes:
        """The first bytes, enough to tell the format by."""
        if self.is_stdin:
            self._stdin_head = sys.stdin.buffer.read(_HEAD)
            return self._stdin_head
        with self.open() as stream:
            return self._read(stream, _HEAD)

    def open(self) -> IO[bytes]:
        """The uncompressed content from its beginning; standard input can be opened once."""
        if self.is_stdin:
            rest = cast("IO[bytes]", _Chained(self.head, sys.stdin.buffer))
            return rest
        try:
            raw = self.path.open("rb")
            start = raw.read(6)
            raw.seek(0)
        except OSError as e:
            raise InputError(f"cannot be read ({e.strerror}); check the name and its permissions", self.path) from None
        kind = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
        return _uncompressed(raw, kind)

    def read(self) -> bytes:
        """The whole uncompressed content."""
        with self.open() as stream:
            return self._read(stream, -1)

    def blocks(self, size: int = _BLOCK) -> Iterator[Block]:
        """The content in blocks of whole lines of about `size` bytes, without a byte order mark."""
        line, rest = 1, b""
        with self.open() as stream:
            while chunk := self._read(stream, size):
                if line == 1 and not rest:
                    chunk = chunk.removeprefix(_BOM)
                cut = chunk.rfind(b"\n") + 1
                if cut:
                    yield (block := Block(rest + chunk[:cut], line))
                    line += block.data.count(b"\n")
                    rest = chunk[cut:]
                else:
                    rest += chunk
        if rest:
            yield Block(rest, line)

    def sibling(self, *names: str) -> Source | None:
        """The first of these files that lies beside this one, compressed or not."""
        if self.is_stdin:
            return None
        for name in names:
            for path in (self.path.parent / name, *(self.path.parent / f"{name}.{c}" for c in COMPRESSIONS)):
                if path.is_file():
                    return Source(path)
        return None

    def error(self, message: str, line: int | None = None) -> InputError:
        """An error about this file."""
        return InputError(message, str(self), line)

    def _check_exists(self) -> None:
        if not self.path.exists():
            raise InputError("there is no such file; check the name", self.path)
        if self.path.is_dir():
            raise InputError("is a folder; name a file in it", self.path)

    def _read(self, stream: IO[bytes], size: int) -> bytes:
        try:
            return stream.read(size)
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as e:
            reason = str(e).rstrip(".") or type(e).__name__
            raise self.error(f"its compression is broken ({reason}); fetch or compress the file again") from None


def plain_name(path: Path) -> str:
    """A file's name without its compression suffix.

    Example:
        >>> plain_name(Path("data/train.jsonl.xz"))
        'train.jsonl'
    """
    return path.stem if path.suffix[1:] in COMPRESSIONS else path.name


def compressed(path: Path, stream: IO[bytes]) -> IO[bytes]:
    """A stream that compresses into `stream` as the suffix of `path` asks.

    Example:
        >>> out = io.BytesIO()
        >>> with compressed(Path("x.bz2"), out) as stream:
        ...     _ = stream.write(b"text")
        >>> bz2.decompress(out.getvalue())
        b'text'
    """
    match path.suffix:
        case ".gz":
            # No time stamp and no name: the same data gives the same bytes.
            return cast("IO[bytes]", gzip.GzipFile("", "wb", 6, stream, mtime=0))
        case ".xz":
            return cast("IO[bytes]", lzma.open(stream, "wb"))
        case ".bz2":
            return cast("IO[bytes]", bz2.open(stream, "wb"))
        case ".zst":
            import pyarrow as pa

            return cast("IO[bytes]", pa.CompressedOutputStream(stream, "zstd"))
    return stream


def _uncompressed(raw: IO[bytes], kind: str | None) -> IO[bytes]:
    match kind:
        case "gz":
            return cast("IO[bytes]", gzip.open(raw))
        case "xz":
            return cast("IO[bytes]", lzma.open(raw))
        case "bz2":
            return cast("IO[bytes]", bz2.open(raw))
        case "zst":
            import pyarrow as pa

            return cast("IO[bytes]", pa.CompressedInputStream(raw, "zstd"))
    return raw


class _Chained(io.RawIOBase):
    """Bytes already read, then the rest of a stream."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = head
        self._rest = rest

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            taken, self._head = self._head, b""
            return taken + bytes(self._rest.read())
        taken, self._head = self._head[:size], self._head[size:]
        return taken or bytes(self._rest.read(size))
