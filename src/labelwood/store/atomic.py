"""Replaces the files of a model so that a crash at any moment leaves the old model or the new one.

A save fills a staging folder inside the model's folder, syncs its files, moves the data files beside the old
ones (their names carry their hashes, so the old ones stay as they are), and then moves the manifest over the
old manifest: this one rename switches. Only then are the old data files removed. No file is ever rewritten in
place, so a process that has the old model mapped keeps it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from labelwood.errors import ModelError
from labelwood.store import strict_json
from labelwood.store.folder import Folder
from labelwood.store.manifest import DATA_FILE, FILE, recognise

_STAGING = re.compile(r"\.saving-[a-z0-9_]{8}")


def replace_model(folder: Path, fill: Callable[[Path], None]) -> None:
    """Makes `folder` hold what `fill` writes into the folder it is given: data files and a manifest."""
    with _locked(folder):
        check_target(folder)
        before = _referenced(folder)
        try:
            staging = Path(tempfile.mkdtemp(prefix=".saving-", dir=folder))
            fill(staging)
            _publish(staging, folder)
        except BaseException:
            _sweep(folder, before)
            raise
        _sweep(folder, set())


def sync(path: Path) -> None:
    """Waits until a file or a folder's entries are on the disk.

    Example:
        >>> sync(Path("."))
    """
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _publish(staging: Path, folder: Path) -> None:
    files = sorted(staging.iterdir())
    for file in files:
        sync(file)
    for file in files:
        if file.name != FILE:
            file.replace(folder / file.name)
    sync(folder)  # the data files must be there for good before the manifest that needs them
    (staging / FILE).replace(folder / FILE)
    sync(folder)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Holds the folder, which is made if need be, against other saves; an error takes back what was made."""
    made: list[Path] = []
    fd = _lock(folder, made)
    try:
        yield
    except BaseException:
        for place in reversed(made):  # while the lock is held, so that no other save is about to use them
            with suppress(OSError):
                place.rmdir()  # refuses if anything is in it
        raise
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)  # a process forked meanwhile may hold fd, so closing is not enough
        os.close(fd)


def _lock(folder: Path, made: list[Path]) -> int:
    while True:
        _make(folder, made)
        try:
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:  # a save that failed has just taken its folder back
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(fd), folder.stat()):
                    return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def _make(folder: Path, made: list[Path]) -> None:
    for place in (*reversed(folder.parents), folder):
        if place.is_dir():
            continue
        try:
            place.mkdir()
        except FileExistsError:
            if not place.is_dir():
                raise ModelError(f"{place} is a file and not a folder: save to another place") from None
            continue
        made.append(place)
        sync(place.parent)


def check_target(folder: Path) -> None:
    """Only a model, an empty folder or what a crashed first save left may be replaced; a new place is fine too.

    Example:
        >>> check_target(Path("no/such/place"))
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ModelError(f"{folder} is a file and not a folder: save to another place")
    entries = [entry.name for entry in folder.iterdir()]
    if FILE in entries:
        with Folder(str(folder)) as there:
            try:
                recognise(there.read(FILE, strict_json.MAX_BYTES), there.where(FILE))
            except ModelError:
                raise ModelError(
                    f"{folder} has a {FILE} that is not a Labelwood model's, or a damaged one: "
                    "save to another place, or remove it first"
                ) from None
        return
    ours = all(_STAGING.fullmatch(entry) or DATA_FILE.fullmatch(entry) for entry in entries)
    crashed = any(_STAGING.fullmatch(entry) for entry in entries)  # a save removes its staging folder last
    if entries and not (ours and crashed):
        raise ModelError(f"{folder} is not empty and not a Labelwood model: save to another place, or empty it first")


def _referenced(folder: Path) -> set[str]:
    """The files that the manifest in the folder names."""
    try:
        with Folder(str(folder)) as there:
            files = recognise(there.read(FILE, strict_json.MAX_BYTES), FILE).get("files")
    except FileNotFoundError:
        return set()
    return set(files) if isinstance(files, dict) else set()


def _sweep(folder: Path, keep: set[str]) -> None:
    """Removes the data files that neither the manifest nor `keep` names, and every staging folder.

    What cannot be removed stays for the next save: the model itself is complete either way.
    """
    with suppress(OSError, ModelError):
        keep = keep | _referenced(folder)
        entries = [entry.name for entry in folder.iterdir()]
        for entry in entries:
            if DATA_FILE.fullmatch(entry) and entry not in keep:
                (folder / entry).unlink()
        for entry in entries:
            if _STAGING.fullmatch(entry):
                shutil.rmtree(folder / entry)
