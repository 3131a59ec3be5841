"""A file that is being written, with the hash and the number of its bytes so far."""

from __future__ import annotations

import hashlib
import os
from types import TracebackType
from typing import Any, Self

from labelwood.store.folder import Folder

_PIECE = 8 << 20  # bytes per write, so that Ctrl-C can interrupt


class Draft:
    """A new file in a folder. Leaving the `with` block without an error syncs it to the disk.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as path, Folder.at(path) as folder:
        ...     with Draft(folder, "x") as draft:
        ...         draft.write(b"four")
        ...     folder.names(), draft.size
        4
        (['x'], 4)
    """

    def __init__(self, folder: Folder, name: str) -> None:
        self.hash = hashlib.sha256()
        self.size = 0
        self._fd = folder.create(name)

    @property
    def closed(self) -> bool:
        """Whether the file is closed for writing."""
        return self._fd < 0

    def write(self, data: Any) -> int:
        """Appends bytes or a contiguous buffer, and returns the number of bytes."""
        with memoryview(data) as view:
            if not view.nbytes:
                return 0
            with view.cast("B") as whole:
                for begin in range(0, len(whole), _PIECE):
                    self._write_piece(whole[begin : begin + _PIECE])
                return len(whole)

    def flush(self) -> None:
        """Does nothing, because writes are not buffered."""

    def close(self) -> None:
        """Does nothing: pyarrow calls it, but the file stays open until the `with` block ends."""

    def _write_piece(self, piece: memoryview) -> None:
        self.hash.update(piece)
        self.size += len(piece)
        while len(piece):
            piece = piece[os.write(self._fd, piece) :]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        fd, self._fd = self._fd, -1
        try:
            if error is None:
                os.fsync(fd)
        finally:
            os.close(fd)
