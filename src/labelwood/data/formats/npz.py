"""Functions shared by the formats in numpy's npz archives."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from labelwood.data.source import Source
from labelwood.errors import InputError


@contextlib.contextmanager
def archive_errors(source: Source, what: str, function: str) -> Iterator[None]:
    """Turns every exception of numpy and scipy for a damaged archive into one sentence.

    Almost any exception can occur: the archive's directory, its compression, an array's header and its content are each
    read by other code with other errors.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as e:
        reason = (str(e) or type(e).__name__).split("\n", maxsplit=1)[0][:200]
        raise source.error(f"is not a sound {what} ({reason}); save it again with {function}") from None


def as_float32(source: Source, what: str, values: NDArray[Any]) -> NDArray[np.float32]:
    """The values as float32; raises unless all are finite."""
    if values.dtype.kind in "fiub":
        with np.errstate(over="ignore"):
            small = np.ascontiguousarray(values, np.float32)
        if np.isfinite(small).all():
            return small
    raise source.error(f"{what} holds values that are not finite 32-bit numbers; replace them")


def open_archive(source: Source, stream: IO[bytes]) -> Any:
    """Opens an archive whose arrays are read on access. Python objects are refused, because they could run code."""
    if stream.read(2) != b"PK":
        raise ValueError("it is a single array and not an archive")
    with zipfile.ZipFile(stream) as packed:
        unpacked = sum(member.file_size for member in packed.infolist())
    if (excess := source.limits.excess(unpacked, stream.seek(0, io.SEEK_END))) is not None:
        raise source.error(excess)
    stream.seek(0)
    return np.load(stream, allow_pickle=False)
