"""Files that take their names at the end, whole and all together, and replace nothing unless told to."""

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
    """Files that belong together: finished under other names, and waiting for the last of them."""

    overwrite: bool
    files: list[tuple[Path, Path]] = field(default_factory=list)  # where it lies, and its name to be


# By these names readers find what belongs to the data of a folder.
_OF_LABELS = re.compile(r"labels\.jsonl|label_names\.txt|output-items\.txt|lbl\.json|lbl_X_Xf\.txt")
_OF_FILTERS = re.compile(r"filter_(labels_)?(train|test)\.txt")
_DEVICES = tuple(map(Path, ("/dev", "/proc", "/sys")))
_open: ContextVar[_Group | None] = ContextVar("open", default=None)


def check_main_name(path: Path) -> None:
    """Raises where a file of rows or answers would be taken for another part of the folder's data.

    Example:
        >>> check_main_name(Path("lbl.json"))
        Traceback (most recent call last):
        ...
        labelwood.errors.InputError: lbl.json: cannot hold rows: files of this name describe labels; name another file
    """
    name = plain_name(path)
    if _OF_LABELS.fullmatch(name):
        raise InputError("cannot hold rows: files of this name describe labels; name another file", path)
    if _OF_FILTERS.fullmatch(name):
        raise InputError("cannot hold rows: files of this name list pairs that may not count; name another file", path)


def check_output(path: Path, *, overwrite: bool = False) -> None:
    """Raises where a file cannot be written, or is there already, before the work is done that it is to hold.

    Example:
        >>> check_output(Path("/nowhere/rows.jsonl"))
        Traceback (most recent call last):
        ...
        labelwood.errors.InputError: /nowhere/rows.jsonl: cannot be written: there is no such folder; make it first
    """
    if str(path) == "-":
        raise InputError("cannot be written: it is standard output and no file; name a file", path)
    try:
        if _is_among_devices(path):
            raise InputError(
                "cannot be written: it is a device; name a file (labelwood predict prints where -o is - or left out)",
                path,
            )
        if path.exists() and not path.is_file():
            raise InputError("cannot be written: it is a folder, a pipe or a device; name a file", path)
        if not path.parent.is_dir():
            raise InputError("cannot be written: there is no such folder; make it first", path)
        if os.path.lexists(path):
            if _is_of_model(path):
                raise InputError("cannot be written: it belongs to the model in its folder; name another file", path)
            if not overwrite:
                raise _already_there(path)
    except OSError as e:
        raise _unwritable(path, e) from None


def _is_among_devices(path: Path) -> bool:
    """Whether it lies where the system shows devices and processes: ``/dev/stdout`` may lead to a plain file."""
    folders = [folder := path.parent.resolve(), *folder.parents]
    return Path("/dev/shm") not in folders and any(device in folders for device in _DEVICES)


def _is_of_model(path: Path) -> bool:
    manifest = path.with_name("manifest.json")
    if not manifest.is_file():
        return False
    content = manifest.read_bytes()
    return b'"labelwood-model"' in content and (path.name == manifest.name or f'"{path.name}"'.encode() in content)


def check_no_twin(path: Path, *inputs: Path) -> None:
    """Raises where the same name with another compression is there: readers of the folder would take one of the two.

    The twin may be one of the `inputs`, of which the file to be written is a copy.

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
def together(main: Path, *, overwrite: bool) -> Iterator[list[Path]]:
    """What is written inside takes its names at the end: `main`, by which the others are found, as the last one.

    Yields the list of files, which is filled at the end. A failure leaves everything as it was.
    """
    group, names = _Group(overwrite), list[Path]()
    token = _open.set(group)
    try:
        yield names
        group.files.sort(key=lambda file: file[1] == main)
        _publish(group.files, overwrite)
        names += [name for _, name in group.files]
    except OSError as e:
        raise _unwritable(main, e) from None
    finally:
        _open.reset(token)
        for temporary, _ in group.files:
            _remove(temporary)


@contextlib.contextmanager
def binary_output(path: Path, *, overwrite: bool = False, shared: bool = False) -> Iterator[IO[bytes]]:
    """A stream into a new file beside `path`, compressed as its suffix asks, that takes the name once all is written.

    Inside `together`, that happens with the other files, and its `overwrite` counts. A `shared` file belongs to other
    data of the folder too: where it is there with the same content, in any compression, it stays as it is.
    """
    group = _open.get()
    overwrite = overwrite if group is None else group.overwrite
    check_output(path, overwrite=overwrite or shared)
    # Named before it is made: Ctrl-C between the two leaves nothing, and after them the name is known.
    temporary = path.with_name(f".{path.name}.{token_hex(4)}")
    kept = False
    try:
        with temporary.open("xb") as raw, compressed(path, raw) as stream:
            yield stream
        if shared and _is_there(temporary, path, overwrite):
            return
        _sync(temporary)
        if group is None:
            _publish([(temporary, path)], overwrite)
        else:
            kept = True
            group.files.append((temporary, path))
    except OSError as e:
        raise _unwritable(path, e) from None
    finally:
        if not kept:
            _remove(temporary)


@contextlib.contextmanager
def text_output(path: Path, *, overwrite: bool = False, shared: bool = False) -> Iterator[IO[str]]:
    """The same for UTF-8 text."""
    with binary_output(path, overwrite=overwrite, shared=shared) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="\n", write_through=False)
        try:
            yield text
        finally:
            text.detach()


def _is_there(new: Path, path: Path, overwrite: bool) -> bool:
    """Whether a file of this name, or its twin in another compression, has the same content; another is refused."""
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
            parts = [_exactly(stream, 1 << 20) for stream in (a, b)]
            if parts[0] != parts[1]:
                return False
            if not parts[0]:
                return True


def _exactly(stream: IO[bytes], size: int) -> bytes:
    parts: list[bytes] = []
    while size and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _publish(files: list[tuple[Path, Path]], overwrite: bool) -> None:
    """Gives finished files their names, in this order.

    Where several replace older ones, those go aside first, and of them first the last, which leads to the others:
    never do old and new ones stand side by side. A failure takes the new ones away and brings the old ones back.
    """
    if overwrite and len(files) == 1:
        files[0][0].replace(files[0][1])
        return
    aside: list[Path] = []
    with contextlib.ExitStack() as undo:
        for _, path in reversed(files if overwrite else []):
            if os.path.lexists(path):
                aside.append(path.with_name(f".{path.name}.{token_hex(4)}.old"))
                undo.callback(_bring_back, aside[-1], path)
                path.rename(aside[-1])
        for temporary, path in files:
            undo.callback(_take_away, path, temporary.stat())
            _appear(temporary, path)
        with contextlib.suppress(OSError):  # not every file system can
            for folder in {path.parent for _, path in files}:
                _sync(folder)
        undo.pop_all()
    for old in aside:
        _remove(old)


def _appear(temporary: Path, path: Path) -> None:
    """Gives a file another name that must be free, also where somebody else takes it at this moment."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise _already_there(path) from None
    except OSError:  # a file system without a second name for a file: an empty file holds the place
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            raise _already_there(path) from None
        try:
            temporary.replace(path)
        except BaseException:
            _remove(path)
            raise


def _take_away(path: Path, ours: os.stat_result) -> None:
    with contextlib.suppress(OSError):
        if os.path.samestat(path.lstat(), ours):
            path.unlink()


def _bring_back(old: Path, path: Path) -> None:
    with contextlib.suppress(OSError, InputError):
        _appear(old, path)
        _remove(old)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # it need not be there, and its name may be too long to be anywhere
        path.unlink()


def _already_there(path: Path) -> InputError:
    return InputError("is there already; name another file, or replace it with --overwrite (overwrite=True)", path)


def _unwritable(path: Path, error: OSError) -> InputError:
    reason = error.strerror or error
    return InputError(f"cannot be written ({reason}); check the folder, its permissions and the space left", path)


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
