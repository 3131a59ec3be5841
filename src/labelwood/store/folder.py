"""A folder held open: its files are opened, written and removed by their names in it, and no link is followed.

Whoever may write to the folder above can put another one, or a link, in its place at any moment. What is done through
the open folder still happens in the one that was opened.
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

Bytes: TypeAlias = mmap.mmap | memoryview  # of a whole file: its pages, or a copy in private memory

HELD = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC  # how a folder is opened
# Without O_NONBLOCK, opening a named pipe would wait for its writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PIECE = 8 << 20  # read at once, so that Ctrl-C is heard
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Folder:
    """A folder that is held open.

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
        """The folder at a path, whose links are followed."""
        try:
            return cls(path, os.open(path, HELD))
        except FileNotFoundError:
            raise ModelError(f"{path} does not exist: give the folder of a saved model") from None
        except NotADirectoryError:
            raise ModelError(f"{path} is a file and not a folder: give the folder of a saved model") from None
        except ValueError as e:
            raise ModelError(f"{path!r} cannot be opened ({e}): give the folder of a saved model") from None
        except OSError as e:
            raise unreadable(path, e) from None

    def inner(self, name: str) -> Folder:
        """A folder in this one; `NotADirectoryError` if it is anything else, a link among others."""
        return Folder(self.where(name), os.open(name, HELD | os.O_NOFOLLOW, dir_fd=self.fd))

    def close(self) -> None:
        """Lets go of the folder."""
        os.close(self.fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def where(self, name: str) -> str:
        """A file's path, for messages."""
        return f"{self.path.rstrip('/')}/{name}"

    def names(self) -> list[str]:
        """What is in the folder."""
        return os.listdir(self.fd)  # noqa: PTH208 (pathlib has no open folders)

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
            self._check_size(name, fd, size)
            return mmap.mmap(fd, size, access=mmap.ACCESS_READ)

    def load(self, name: str, size: int) -> memoryview:
        """A copy of a file that nobody else can change, if it has the expected size; otherwise as `map`."""
        with self._opened(name) as fd:
            self._check_size(name, fd, size)
            memory = _memory(size)
            with open(fd, "rb", buffering=0, closefd=False) as file:
                done = 0
                while done < size and (count := file.readinto(memory[done : done + _PIECE])):
                    done += count
            if done < size:
                raise damaged(self.where(name), f"it was cut short to {done} bytes while it was read")
            return memory.toreadonly()

    @contextmanager
    def _opened(self, name: str) -> Iterator[int]:
        try:
            fd = os.open(name, _FILE, dir_fd=self.fd)
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
        """A new file, open for writing; `FileExistsError` if the name is taken, by whatever it is."""
        return os.open(name, _NEW, 0o666, dir_fd=self.fd)

    def move(self, name: str, to: Folder, new: str) -> None:
        """Moves a file, over whatever file, pipe or link had its new name."""
        os.replace(name, new, src_dir_fd=self.fd, dst_dir_fd=to.fd)

    def remove(self, name: str) -> None:
        """Removes a file without opening it; of a link, the link itself."""
        os.unlink(name, dir_fd=self.fd)

    def sync(self) -> None:
        """Waits until the folder's entries are on the disk."""
        os.fsync(self.fd)


def _memory(size: int) -> memoryview:
    """Memory that begins where a page does, so that every array is aligned."""
    try:
        return memoryview(mmap.mmap(-1, size))
    except OSError as e:
        raise MemoryError(size) from e
