"""An open folder: its files are opened, written and removed by their names in it, and no link is followed.

Anybody who can write to the parent folder can put another folder or a link in its place at any moment. Operations on
the open folder still happen in the folder that was opened.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TypeAlias

from labelwood.errors import ModelError
from labelwood.store.damage import damaged, unreadable

Bytes: TypeAlias = mmap.mmap | memoryview  # a whole file: mapped, or copied to private memory

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC  # how a folder is opened
# Without O_NONBLOCK, opening a named pipe would wait for its writer.
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PIECE = 8 << 20  # bytes per read, so that Ctrl-C can interrupt
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Folder:
    """An open folder.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as path, Folder.at(path) as folder:
        ...     folder.where("x") == f"{path}/x", folder.names()
        (True, [])
    """

    def __init__(self, path: str, fd: int) -> None:
        self.path = path  # for messages
        self.fd = fd

    @classmethod
    def at(cls, path: str) -> Self:
        """Opens the folder at a path and follows links."""
        try:
            return cls(path, os.open(path, FOLDER_FLAGS))
        except FileNotFoundError:
            raise ModelError(f"{path} does not exist: give the folder of a saved model") from None
        except NotADirectoryError:
            raise ModelError(f"{path} is a file and not a folder: give the folder of a saved model") from None
        except ValueError as e:
            raise ModelError(f"{path!r} cannot be opened ({e}): give the folder of a saved model") from None
        except OSError as e:
            raise unreadable(path, e) from None

    def inner(self, name: str) -> Folder:
        """Opens a folder in this one; `NotADirectoryError` if it is something else, such as a link."""
        return Folder(self.where(name), os.open(name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=self.fd))

    def close(self) -> None:
        """Closes the folder."""
        os.close(self.fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def where(self, name: str) -> str:
        """The path of a file, for messages."""
        return f"{self.path.rstrip('/')}/{name}"

    def names(self) -> list[str]:
        """The names of everything in the folder."""
        return os.listdir(self.fd)  # noqa: PTH208 (pathlib has no open folders)

    def read(self, name: str, limit: int) -> bytes:
        """Reads a whole file of at most `limit` bytes; `FileNotFoundError` if there is no such file."""
        with self._open_file(name) as fd:
            size = os.fstat(fd).st_size
            if size > limit:
                raise damaged(self.where(name), f"it has {size} bytes and the limit is {limit}")
            with open(fd, "rb", closefd=False) as file:
                return file.read(limit + 1)

    def map(self, name: str, size: int) -> mmap.mmap:
        """Maps a file, which must have the expected size; `FileNotFoundError` if there is no such file."""
        with self._open_file(name) as fd:
            self._check_size(name, fd, size)
            return mmap.mmap(fd, size, access=mmap.ACCESS_READ)

    def load(self, name: str, size: int) -> memoryview:
        """Copies a file to private memory, which nobody else can change; otherwise like `map`."""
        with self._open_file(name) as fd:
            self._check_size(name, fd, size)
            memory = _aligned_memory(size)
            with open(fd, "rb", buffering=0, closefd=False) as file:
                done = 0
                while done < size and (count := file.readinto(memory[done : done + _PIECE])):
                    done += count
            if done < size:
                raise damaged(self.where(name), f"it was cut short to {done} bytes while it was read")
            return memory.toreadonly()

    @contextmanager
    def _open_file(self, name: str) -> Iterator[int]:
        try:
            fd = os.open(name, _READ_FLAGS, dir_fd=self.fd)
        except FileNotFoundError:
            raise
        except OSError as e:
            if e.errno == errno.ELOOP:
                raise damaged(self.where(name), "it is a symbolic link") from None
            if e.errno == errno.ENXIO:
                raise damaged(self.where(name), "it is not a plain file") from None
            raise unreadable(self.where(name), e) from None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise damaged(self.where(name), "it is not a plain file")
            yield fd
        except OSError as e:
            raise unreadable(self.where(name), e) from None
        finally:
            os.close(fd)

    def _check_size(self, name: str, fd: int, size: int) -> None:
        found = os.fstat(fd).st_size
        if found != size or not size:
            raise damaged(self.where(name), f"it has {found} bytes and the manifest says {size}")

    def create(self, name: str) -> int:
        """Creates a file and opens it for writing; `FileExistsError` if anything has the name already."""
        return os.open(name, _CREATE_FLAGS, 0o666, dir_fd=self.fd)

    def move(self, name: str, to: Folder, new: str) -> None:
        """Moves a file and replaces any file, pipe or link that has its new name."""
        os.replace(name, new, src_dir_fd=self.fd, dst_dir_fd=to.fd)

    def remove(self, name: str) -> None:
        """Removes a file without opening it; a link is removed, not its target."""
        os.unlink(name, dir_fd=self.fd)

    def sync(self) -> None:
        """Waits until the folder's entries are on the disk."""
        os.fsync(self.fd)


def _aligned_memory(size: int) -> memoryview:
    """Memory that begins at a page, so that every array in it is aligned."""
    try:
        return memoryview(mmap.mmap(-1, size))
    except OSError as e:
        raise MemoryError(size) from e
