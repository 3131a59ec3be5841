"""Opens the files of a model's folder without following links or waiting on pipes."""

from __future__ import annotations

import errno
import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from labelwood.errors import ModelError
from labelwood.store.damage import damaged


class Folder:
    """A folder held open, so that all files come from the same one even if its path is given to another.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as path, Folder(path) as folder:
        ...     folder.where("x") == f"{path}/x"
        True
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            raise ModelError(f"{path} does not exist: give the folder of a saved model") from None
        except NotADirectoryError:
            raise ModelError(f"{path} is a file and not a folder: give the folder of a saved model") from None
        except (OSError, ValueError) as e:
            raise ModelError(f"{path!r} cannot be opened ({e}): give the folder of a saved model") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)

    def where(self, name: str) -> str:
        """A file's path, for messages."""
        return f"{self.path.rstrip('/')}/{name}"

    def read(self, name: str, limit: int) -> bytes:
        """A whole file of at most `limit` bytes; `FileNotFoundError` if there is none."""
        with self._opened(name) as fd:
            size = os.fstat(fd).st_size
            if size > limit:
                raise damaged(self.where(name), f"it has {size} bytes and the limit is {limit}")
            with open(fd, "rb", closefd=False) as file:
                return file.read(limit + 1)

    def map(self, name: str, size: int) -> mmap.mmap:
        """A file's pages, if it has the expected size; `FileNotFoundError` if there is no such file."""
        with self._opened(name) as fd:
            found = os.fstat(fd).st_size
            if found != size or not size:
                raise damaged(self.where(name), f"it has {found} bytes and the manifest says {size}")
            return mmap.mmap(fd, size, access=mmap.ACCESS_READ)

    @contextmanager
    def _opened(self, name: str) -> Iterator[int]:
        try:
            # Without O_NONBLOCK, opening a named pipe would wait for its writer.
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._fd)
        except FileNotFoundError:
            raise
        except OSError as e:
            why = "it is a symbolic link" if e.errno == errno.ELOOP else f"{e.strerror}"
            raise damaged(self.where(name), why) from None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise damaged(self.where(name), "it is not a plain file")
            yield fd
        except OSError as e:
            raise damaged(self.where(name), f"it cannot be read: {e.strerror}") from None
        finally:
            os.close(fd)
