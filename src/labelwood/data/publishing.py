"""Writes files under temporary names and renames them all at the end; replaces nothing unless told to."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import IO

from labelwood.data.source import COMPRESSIONS, Source, beside_path, compressed, plain_name
from labelwood.errors import InputError


@dataclass
class _Group:
    """Files that belong together: each is finished under a temporary name and waits for the others."""

    overwrite: bool
    files: list[tuple[Path, Path]] = field(default_factory=list)  # the temporary path and the final path


# Readers find the other files of a dataset in its folder by these names.
_LABEL_FILE = re.compile(r"labels\.jsonl|label_names\.txt|output-items\.txt|lbl\.json|lbl_X_Xf\.txt")
_FILTER_FILE = re.compile(r"filter_(labels_)?(train|test)\.txt")
_DEVICES = tuple(map(Path, ("/dev", "/proc", "/sys")))
_open_group: ContextVar[_Group | None] = ContextVar("open", default=None)


def check_main_name(path: Path) -> None:
    """Raises if readers would take a file of rows or answers for another part of the folder's data.

    Example:
        >>> check_main_name(Path("lbl.json"))
        Traceback (most recent call last):
        ...
        labelwood.errors.InputError: lbl.json: cannot hold rows: files of this name describe labels; name another file
    """
    name = plain_name(path)
    if _LABEL_FILE.fullmatch(name):
        raise InputError("cannot hold rows: files of this name describe labels; name another file", path)
    if _FILTER_FILE.fullmatch(name):
        raise InputError("cannot hold rows: files of this name hold filters; name another file", path)


def check_output(path: Path, *, overwrite: bool = False) -> None:
    """Raises if a file cannot be written or exists already; to be called before the work whose result it will hold.

    Example:
        >>> check_output(Path("/nowhere/rows.jsonl"))
        Traceback (most recent call last):
        ...
        labelwood.errors.InputError: /nowhere/rows.jsonl: cannot be written: there is no such folder; make it first
    """
    if str(path) == "-":
        raise InputError("cannot be written: it is standard output and not a file; name a file", path)
    try:
        if _is_in_device_folder(path):
            raise InputError(
                "cannot be written: it is a device; name a file (labelwood predict prints where -o is - or left out)",
                path,
            )
        if path.exists() and not path.is_file():
            raise InputError("cannot be written: it is a folder, a pipe or a device; name a file", path)
        if not path.parent.is_dir():
            raise InputError("cannot be written: there is no such folder; make it first", path)
        if os.path.lexists(path):
            if _belongs_to_model(path):
                raise InputError("cannot be written: it belongs to the model in its folder; name another file", path)
            if not overwrite:
                raise _exists_error(path)
    except OSError as e:
        raise _write_error(path, e) from None


def _is_in_device_folder(path: Path) -> bool:
    """Whether the path is among the system's devices and processes; even ``/dev/stdout`` may lead to a plain file."""
    folders = [folder := path.parent.resolve(), *folder.parents]
    return Path("/dev/shm") not in folders and any(device in folders for device in _DEVICES)


def _belongs_to_model(path: Path) -> bool:
    manifest = path.with_name("manifest.json")
    if not manifest.is_file():
        return False
    content = manifest.read_bytes()
    return b'"labelwood-model"' in content and (path.name == manifest.name or f'"{path.name}"'.encode() in content)


def check_no_twin(path: Path, *inputs: Path) -> None:
    """Raises if the same name with another compression exists: readers of the folder would take one of the two.

    That file may be one of the `inputs`, because the new file is a copy of it.

    Example:
        >>> check_no_twin(Path("no/such/place.jsonl"))
    """
    plain = path.with_name(plain_name(path))
    for twin in (plain, *(plain.with_name(f"{plain.name}.{kind}") for kind in COMPRESSIONS)):
        if twin != path and _is_file(twin) and not any(_is_same(twin, other) for other in (path, *inputs)):
            raise InputError(
                f"would lie beside {twin.name}, and readers of the folder would take only one of the two; "
                "name another file, or remove that one first",
                path,
            )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the name is too long, so there is no such file
        return False


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


@contextlib.contextmanager
def written_together(main: Path, *, overwrite: bool) -> Iterator[list[Path]]:
    """Gives the files written inside their final names together, at the end; `main` is last: readers start from it.

    Yields a list that holds the files at the end. A failure leaves everything as it was.
    """
    group, names = _Group(overwrite), list[Path]()
    token = _open_group.set(group)
    try:
        yield names
        group.files.sort(key=lambda file: file[1] == main)
        _publish(group.files, overwrite)
        names += [name for _, name in group.files]
    except OSError as e:
        raise _write_error(main, e) from None
    finally:
        _open_group.reset(token)
        for temporary, _ in group.files:
            _remove(temporary)


@contextlib.contextmanager
def binary_output(path: Path, *, overwrite: bool = False, shared: bool = False) -> Iterator[IO[bytes]]:
    """A stream into a temporary file that is renamed to `path` once all is written, compressed as its suffix asks.

    Inside `written_together`, all files are renamed at the end, and its `overwrite` counts. A `shared` file belongs to
    other data of the folder too: if it exists with the same content, in any compression, it stays.
    """
    group = _open_group.get()
    overwrite = overwrite if group is None else group.overwrite
    check_output(path, overwrite=overwrite or shared)
    # The name is known before the file exists, so that Ctrl-C at any moment leaves no file that nobody removes.
    temporary = path.with_name(f".{path.name}.{token_hex(4)}")
    kept = False
    try:
        with temporary.open("xb") as raw, compressed(path, raw) as stream:
            yield stream
        if shared and _exists_with_same_content(temporary, path, overwrite):
            return
        _sync(temporary)
        if group is None:
            _publish([(temporary, path)], overwrite)
        else:
            kept = True
            group.files.append((temporary, path))
    except OSError as e:
        raise _write_error(path, e) from None
    finally:
        if not kept:
            _remove(temporary)


@contextlib.contextmanager
def text_output(path: Path, *, overwrite: bool = False, shared: bool = False) -> Iterator[IO[str]]:
    """`binary_output` for UTF-8 text."""
    with binary_output(path, overwrite=overwrite, shared=shared) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="\n", write_through=False)
        try:
            yield text
        finally:
            text.detach()


def _exists_with_same_content(new: Path, path: Path, overwrite: bool) -> bool:
    """Whether a file of this name, in any compression, has the same content; raises if it has other content."""
    there = beside_path(path, plain_name(path))
    if there is None:
        return False
    if _same_content(Source(new), Source(there)):
        return True
    if there != path or not overwrite:
        raise InputError(
            "is there already and says something else, and other data in the folder may need it; write to another "
            "folder, or remove it first",
            there,
        )
    return False


def _same_content(one: Source, other: Source) -> bool:
    with one.open() as a, other.open() as b:
        while True:
            parts = [_read_exactly(stream, 1 << 20) for stream in (a, b)]
            if parts[0] != parts[1]:
                return False
            if not parts[0]:
                return True


def _read_exactly(stream: IO[bytes], size: int) -> bytes:
    parts: list[bytes] = []
    while size and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _publish(files: list[tuple[Path, Path]], overwrite: bool) -> None:
    """Gives finished files their final names, in this order.

    Several old files are first moved to backups, in reverse order: the main file goes first, because readers find the
    others through it. So readers never see a mixture of old and new files. A failure restores the old files.
    """
    if overwrite and len(files) == 1:
        files[0][0].replace(files[0][1])
        return
    backups: list[Path] = []
    with contextlib.ExitStack() as undo:
        for _, path in reversed(files if overwrite else []):
            if os.path.lexists(path):
                backups.append(path.with_name(f".{path.name}.{token_hex(4)}.old"))
                undo.callback(_restore, backups[-1], path)
                path.rename(backups[-1])
        for temporary, path in files:
            undo.callback(_remove_published, path, temporary.stat())
            _move_to_free_name(temporary, path)
        with contextlib.suppress(OSError):  # some file systems cannot sync a folder
            for folder in {path.parent for _, path in files}:
                _sync(folder)
        undo.pop_all()
    for old in backups:
        _remove(old)


def _move_to_free_name(temporary: Path, path: Path) -> None:
    """Renames a file to a free name; raises even if another process takes the name at this very moment."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise _exists_error(path) from None
    except OSError:  # the file system has no hard links: an empty file reserves the name
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            raise _exists_error(path) from None
        try:
            temporary.replace(path)
        except BaseException:
            _remove(path)
            raise


def _remove_published(path: Path, ours: os.stat_result) -> None:
    with contextlib.suppress(OSError):
        if os.path.samestat(path.lstat(), ours):
            path.unlink()


def _restore(old: Path, path: Path) -> None:
    with contextlib.suppress(OSError, InputError):
        _move_to_free_name(old, path)
        _remove(old)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # the file may not exist, or its name may be too long to exist
        path.unlink()


def _exists_error(path: Path) -> InputError:
    return InputError("is there already; name another file, or replace it with --overwrite (overwrite=True)", path)


def _write_error(path: Path, error: OSError) -> InputError:
    reason = error.strerror or error
    return InputError(f"cannot be written ({reason}); check the folder, its permissions and the space left", path)


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
