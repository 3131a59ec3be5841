"""Reads bytes from a file, compressed or not, and keeps the line numbers that error messages need."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from labelwood.data.limits import ReadLimits
from labelwood.errors import InputError

_MAGIC = {b"\x1f\x8b": "gz", b"\xfd7zXZ\x00": "xz", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zst"}
_MAGIC_BYTES = 6
COMPRESSIONS = ("gz", "xz", "bz2", "zst")
_SUFFIXES = ("", *(f".{kind}" for kind in COMPRESSIONS))
_BLOCK = 4 << 20
_COMPRESSED_BLOCK = 1 << 16
_HEAD = 1 << 16
_XZ_MEMORY = 256 << 20  # limit of a decompressor; xz -9 needs 65 MiB
_BOM = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """Whole lines of a file, and the number of the first line, from 1."""

    data: bytes
    first_line: int


class Source:
    """A file, or standard input for ``-``. Its content is decompressed, and an error once it exceeds the `limits`.

    Example:
        >>> import gzip, tempfile
        >>> path = Path(tempfile.mkdtemp()) / "x.txt.gz"
        >>> _ = path.write_bytes(gzip.compress(b"one\\ntwo\\n"))
        >>> source = Source(path)
        >>> source.name, [block.data for block in source.blocks()]
        ('x.txt', [b'one\\ntwo\\n'])
    """

    def __init__(self, path: str | PathLike[str], limits: ReadLimits | None = None) -> None:
        self.path = Path(path)
        self.name = plain_name(self.path)  # without folder and compression suffix
        self.limits = limits or ReadLimits()
        self.is_stdin = str(path) == "-"
        self._remainder: IO[bytes] | None = None  # the content after the head, of a stream that can be read only once
        self._is_stream = self.is_stdin or self._path_kind() == "stream"

    def __str__(self) -> str:
        return "standard input" if self.is_stdin else str(self.path)

    @property
    def stored_size(self) -> int:
        """The size of the file on disk, in bytes; 0 for a stream."""
        return 0 if self._is_stream else self.path.stat().st_size

    @cached_property
    def head(self) -> bytes:
        """The first bytes, enough to detect the format."""
        stream = self._open_content()
        head = stream.read(_HEAD)
        if self._is_stream:
            self._remainder = stream
        else:
            stream.close()
        return head

    def open(self) -> IO[bytes]:
        """Opens the uncompressed content at its beginning; standard input and pipes can be opened only once.

        Every error while reading it is an `InputError`.
        """
        if not self._is_stream:
            return self._open_content()
        head, rest = self.head, self._remainder
        if rest is None:
            raise self.error("can be read only once; save it to a file first")
        self._remainder = None
        return cast("IO[bytes]", _ChainedStream(head, rest))

    def refuse_utf16(self) -> None:
        """Raises if the content is UTF-16 text.

        Example:
            >>> import tempfile
            >>> path = Path(tempfile.mkdtemp()) / "rows.csv"
            >>> _ = path.write_bytes("text,labels".encode("utf-16-le"))
            >>> Source(path).refuse_utf16()  # doctest: +ELLIPSIS
            Traceback (most recent call last):
            ...
            labelwood.errors.InputError: ...rows.csv: is UTF-16 text; save it as UTF-8
        """
        start = self.head[:64]
        halves = start[::2], start[1::2]
        empty = [len(half) > 1 and not any(half) for half in halves]
        full = [len(half) > 1 and all(half) for half in halves]
        if start.startswith((b"\xff\xfe", b"\xfe\xff")) or (empty[0] and full[1]) or (empty[1] and full[0]):
            raise self.error("is UTF-16 text; save it as UTF-8")

    def read(self) -> bytes:
        """The whole uncompressed content."""
        with self.open() as stream:
            return stream.read()

    def seekable(self) -> IO[bytes]:
        """The content for readers that seek: the file itself if it is not compressed, else a copy in memory."""
        if not self._is_stream:
            raw = self._raw()
            if _compression(raw.read(_MAGIC_BYTES)) is None:
                raw.seek(0)
                return raw
            raw.close()
        return io.BytesIO(self.read())

    def blocks(self, size: int | None = None) -> Iterator[Block]:
        """Yields the content in blocks of whole lines, of about `size` bytes, without a byte order mark."""
        line, rest, pending = 1, [b""], 0
        with self.open() as stream:
            start = stream.read(len(_BOM)).removeprefix(_BOM)
            while chunk := start + stream.read(size or _BLOCK):
                start = b""
                cut = chunk.rfind(b"\n") + 1
                if cut:
                    data = b"".join([*rest, chunk[:cut]])
                    rest, pending = [chunk[cut:]], len(chunk) - cut
                    yield Block(data, line)
                    line += data.count(b"\n")
                else:
                    rest.append(chunk)
                    pending += len(chunk)
                    if pending > self.limits.max_line:
                        raise self.error(self.limits.long_line, line)
        if last := b"".join(rest):
            yield Block(last, line)

    @cached_property
    def plain_path(self) -> Path | None:
        """The path for readers that open the file; None if it is compressed, a stream, or beyond the limits."""
        if self._is_stream or self.limits.excess(self.stored_size, self.stored_size) is not None:
            return None
        with self._raw() as raw:
            return self.path if _compression(raw.read(_MAGIC_BYTES)) is None else None

    def undecodable_line(self) -> int | None:
        """The number of the first line that is not UTF-8; None if there is none, or a stream was already read."""
        for block in () if self._is_stream else self.blocks():
            try:
                block.data.decode()
            except UnicodeDecodeError as e:
                return block.first_line + block.data.count(b"\n", 0, e.start)
        return None

    def sibling(self, *names: str) -> Source | None:
        """The first of these files that exists beside this one, compressed or not."""
        found = None if self.is_stdin else beside_path(self.path, *names)
        return None if found is None else Source(found, self.limits)

    def error(self, message: str, line: int | None = None) -> InputError:
        """An error about this file."""
        return InputError(message, str(self), line)

    def _path_kind(self) -> str:
        """Whether the path is a "file" or a "stream", such as a pipe; raises for anything else."""
        try:
            mode = self.path.stat().st_mode
        except FileNotFoundError:
            raise InputError("there is no such file; check the name", str(self.path)) from None
        except (OSError, ValueError) as e:
            raise self._read_error(e) from None
        if stat.S_ISDIR(mode):
            raise InputError("is a folder; name a file in it", self.path)
        return "file" if stat.S_ISREG(mode) else "stream"

    def _read_error(self, error: Exception) -> InputError:
        reason = getattr(error, "strerror", None) or error
        return self.error(f"cannot be read ({reason}); check the name and its permissions")

    def _raw(self) -> IO[bytes]:
        try:
            return self.path.open("rb")
        except OSError as e:
            raise self._read_error(e) from None

    def _open_content(self) -> IO[bytes]:
        raw = sys.stdin.buffer if self.is_stdin else self._raw()
        try:
            magic = raw.read(_MAGIC_BYTES)
            if self._is_stream:
                raw = cast("IO[bytes]", _ChainedStream(magic, raw))
            else:
                raw.seek(0)
        except OSError as e:
            raise self._read_error(e) from None
        kind = _compression(magic)
        return cast("IO[bytes]", _GuardedStream(self, raw, _decompressing(raw, kind), kind is not None))


def beside_path(path: Path, *names: str) -> Path | None:
    """The first of these files that exists in the folder of `path`, compressed or not."""
    candidates = (path.parent / f"{name}{suffix}" for name in names for suffix in _SUFFIXES)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def plain_name(path: Path) -> str:
    """A file's name without its compression suffix.

    Example:
        >>> plain_name(Path("data/train.jsonl.xz"))
        'train.jsonl'
    """
    return path.stem if path.suffix[1:] in COMPRESSIONS else path.name


def compressed(path: Path, stream: IO[bytes]) -> IO[bytes]:
    """A stream that compresses what is written to it into `stream`, as the suffix of `path` asks.

    Example:
        >>> out = io.BytesIO()
        >>> with compressed(Path("x.bz2"), out) as stream:
        ...     _ = stream.write(b"text")
        >>> bz2.decompress(out.getvalue())
        b'text'
    """
    match path.suffix:
        case ".gz":
            # Without time stamp and name, the same data gives the same bytes.
            return cast("IO[bytes]", _GzipOutput("", "wb", 6, stream, mtime=0))
        case ".xz":
            return cast("IO[bytes]", lzma.open(stream, "wb"))
        case ".bz2":
            return cast("IO[bytes]", bz2.open(stream, "wb"))
        case ".zst":
            import pyarrow as pa

            return cast("IO[bytes]", pa.CompressedOutputStream(stream, "zstd"))
    return stream


class _GzipOutput(gzip.GzipFile):
    """A gzip stream that reports that it cannot seek, because writers of zip archives ask."""

    def seekable(self) -> bool:
        return False

    def seek(self, offset: int, whence: int = 0) -> int:
        raise io.UnsupportedOperation("seek")


def _decompressing(raw: IO[bytes], kind: str | None) -> IO[bytes]:
    match kind:
        case "gz":
            return cast("IO[bytes]", gzip.open(raw))
        case "xz":
            return cast(
                "IO[bytes]", io.BufferedReader(_JoinedStreams(raw, lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY)))
            )
        case "bz2":
            return cast("IO[bytes]", io.BufferedReader(_JoinedStreams(raw, bz2.BZ2Decompressor)))
        case "zst":
            import pyarrow as pa

            return cast("IO[bytes]", pa.CompressedInputStream(raw, "zstd"))
    return raw


def _compression(start: bytes) -> str | None:
    kind = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
    return None if kind == "bz2" and not start[3:4].isdigit() else kind  # a text may begin with BZh


class _JoinedStreams(io.RawIOBase):
    """The content of one or several compressed streams, one after the other."""

    def __init__(self, raw: IO[bytes], decompressor: Callable[[], Any]) -> None:
        self._raw, self._decompressor = raw, decompressor
        self._current = decompressor()
        self._compressed = b""  # bytes not yet given to the decompressor

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._current.eof or self._start_next():
            if self._current.needs_input and not self._compressed:
                self._compressed = self._raw.read(_COMPRESSED_BLOCK)
                if not self._compressed:
                    raise EOFError("it ends too early")
            compressed_bytes, self._compressed = self._compressed, b""
            if data := self._current.decompress(compressed_bytes, len(buffer)):
                buffer[: len(data)] = data
                return len(data)
        return 0

    def _start_next(self) -> bool:
        """Starts the next stream and returns whether there is one; zeros between streams are padding."""
        self._compressed = self._current.unused_data.lstrip(b"\0")
        while not self._compressed:
            if not (more := self._raw.read(_COMPRESSED_BLOCK)):
                return False
            self._compressed = more.lstrip(b"\0")
        self._current = self._decompressor()
        return True


class _ChainedStream(io.RawIOBase):
    """Bytes that were read already, followed by the rest of their stream."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = head
        self._remainder = rest
        self._position = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            data, self._head = self._head + bytes(self._remainder.read()), b""
        else:
            data, self._head = self._head[:size], self._head[size:]
            if len(data) < size:
                data += bytes(self._remainder.read(size - len(data)))
        self._position += len(data)
        return data

    def close(self) -> None:
        if self._remainder is not sys.stdin.buffer:
            self._remainder.close()
        super().close()


class _GuardedStream(io.RawIOBase):
    """A stream that turns every error into an `InputError`, checks the limits, and closes the streams below it."""

    def __init__(self, source: Source, raw: Any, stream: Any, is_compressed: bool) -> None:
        self._source, self._raw, self._stream, self._is_compressed = source, raw, stream, is_compressed
        self._n_bytes = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            return b"".join(iter(lambda: self.read(_BLOCK), b""))
        try:
            data = bytes(self._stream.read(size))
            self._n_bytes += len(data)
            excess = self._source.limits.excess(
                self._n_bytes, self._raw.tell() if self._is_compressed else self._n_bytes
            )
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as e:
            reason = str(e).rstrip(".") or type(e).__name__
            if not self._is_compressed:
                raise self._source.error(f"cannot be read ({reason}); check the disk or fetch the file again") from None
            message = f"its compression is broken ({reason}); fetch or compress the file again"
            raise self._source.error(message) from None
        if excess:
            raise self._source.error(excess)
        return data

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
            self._raw.close()
        super().close()
