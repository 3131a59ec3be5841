"""Replaces the files of a model so that a crash at any moment leaves the old model or the new one.

A save fills a staging folder inside the model's folder, with files that are synced, moves the data files beside the old
ones (their names carry their hashes, so the old ones stay as they are), and then moves the manifest over the old
manifest: this one rename switches. Only then are the old data files removed. No file is ever rewritten in place, so a
process that has the old model mapped keeps it.

All of it happens through the open folder: another one that is put in its place meanwhile is not touched.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from labelwood.errors import ModelError
from labelwood.store import strict_json
from labelwood.store.damage import UnreadableError, unreadable
from labelwood.store.folder import HELD, Folder
from labelwood.store.manifest import DATA_FILE, FILE, recognise

DRAFT = "draft"
_STAGING = re.compile(r"\.saving-[a-z0-9_]{8}")
# What a save of this version or an earlier one leaves in a staging folder when it is killed.
_STAGED = re.compile(rf"{DRAFT}|{re.escape(FILE)}|\.tmp[A-Za-z0-9]+|{DATA_FILE.pattern}")


def replace_model(place: Path, fill: Callable[[Folder], None]) -> None:
    """Makes the folder at `place` hold what `fill` writes into the folder it is given: data files and a manifest."""
    with _locked(place) as folder:
        _check(folder)
        before = _referenced(folder)
        try:
            with _staging(folder) as staging:
                fill(staging)
                _publish(staging, folder)
        except BaseException:
            _sweep_whole(folder, before)
            raise
        _sweep_whole(folder, set())


def _sweep_whole(folder: Folder, keep: set[str]) -> None:
    """Sweeps to the end, also when it is interrupted: the first Ctrl-C is heard afterwards."""
    try:
        _sweep(folder, keep)
    except BaseException:
        _sweep(folder, keep)
        raise


def _staging(folder: Folder) -> Folder:
    """A new folder that only this user may look into."""
    name = f".saving-{secrets.token_hex(4)}"
    os.mkdir(name, 0o700, dir_fd=folder.fd)
    return folder.inner(name)


def _publish(staging: Folder, folder: Folder) -> None:
    for name in sorted(staging.names()):
        if name != FILE:
            staging.move(name, folder, name)
    folder.sync()  # the data files must be there for good before the manifest that needs them
    staging.move(FILE, folder, FILE)
    folder.sync()


@contextmanager
def _locked(place: Path) -> Iterator[Folder]:
    """Holds the folder, which is made if need be, against other saves; an error takes back what was made."""
    with ExitStack() as on_the_way:
        made: list[tuple[Folder, str]] = []
        folder = _lock(place, on_the_way, made)
        try:
            yield folder
        except BaseException:
            for above, name in reversed(made):  # while the lock is held, so that no other save is about to use them
                with suppress(OSError):
                    os.rmdir(name, dir_fd=above.fd)  # refuses if anything is in it
            raise
        finally:
            fcntl.flock(folder.fd, fcntl.LOCK_UN)  # a process forked meanwhile may hold it, so closing is not enough


def _lock(place: Path, on_the_way: ExitStack, made: list[tuple[Folder, str]]) -> Folder:
    while True:
        with suppress(FileNotFoundError):  # a save that failed has just taken its folder back
            folder = _opened(place, on_the_way, made)
            fcntl.flock(folder.fd, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(folder.fd), place.stat()):
                return folder


def _opened(place: Path, on_the_way: ExitStack, made: list[tuple[Folder, str]]) -> Folder:
    """The folder at `place`; those that are missing are made, each in the one above that is held open."""
    missing: list[str] = []
    for at in (place, *place.parents):
        try:
            folder = on_the_way.enter_context(Folder(str(at), os.open(at, HELD)))
            break
        except (FileNotFoundError, NotADirectoryError):
            missing.append(at.name)
    for name in reversed(missing):
        try:
            os.mkdir(name, dir_fd=folder.fd)
            made.append((folder, name))
            folder.sync()
        except FileExistsError:
            pass
        try:
            folder = on_the_way.enter_context(folder.inner(name))
        except NotADirectoryError:
            raise ModelError(f"{folder.where(name)} is a file and not a folder: save to another place") from None
    return folder


def check_target(place: Path) -> None:
    """Only a model, an empty folder or what a crashed first save left may be replaced; a new place is fine too.

    Example:
        >>> check_target(Path("no/such/place"))
    """
    try:
        fd = os.open(place, HELD)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise ModelError(f"{place} is a file and not a folder, or below one: save to another place") from None
    except OSError as e:
        raise unreadable(str(place), e) from None
    with Folder(str(place), fd) as folder:
        _check(folder)


def _check(folder: Folder) -> None:
    entries = folder.names()
    if FILE in entries:
        try:
            recognise(folder.read(FILE, strict_json.MAX_BYTES), folder.where(FILE))
        except UnreadableError:
            raise
        except ModelError:
            raise ModelError(
                f"{folder.path} has a {FILE} that is not a Labelwood model's, or a damaged one: "
                "save to another place, or remove it first"
            ) from None
        return
    ours = all(_STAGING.fullmatch(entry) or DATA_FILE.fullmatch(entry) for entry in entries)
    crashed = any(_STAGING.fullmatch(entry) for entry in entries)  # a save removes its staging folder last
    if entries and not (ours and crashed):
        raise ModelError(
            f"{folder.path} is not empty and not a Labelwood model: save to another place, or empty it first"
        )


def _referenced(folder: Folder) -> set[str]:
    """The files that the manifest in the folder names."""
    try:
        files = recognise(folder.read(FILE, strict_json.MAX_BYTES), folder.where(FILE)).get("files")
    except FileNotFoundError:
        return set()
    return set(files) if isinstance(files, dict) else set()


def _sweep(folder: Folder, keep: set[str]) -> None:
    """Removes the data files that neither the manifest nor `keep` names, and what is in staging folders.

    What cannot be removed stays for the next save: the model itself is complete either way. Nothing is opened but
    staging folders, and of what is in these only what saves put there goes.
    """
    with suppress(OSError, ModelError):
        keep = keep | _referenced(folder)
        entries = folder.names()
        for entry in entries:
            if DATA_FILE.fullmatch(entry) and entry not in keep:
                with suppress(OSError):
                    folder.remove(entry)
        for entry in entries:
            if _STAGING.fullmatch(entry):
                with suppress(OSError):
                    _remove_staging(folder, entry)


def _remove_staging(folder: Folder, name: str) -> None:
    with folder.inner(name) as staging:
        for entry in staging.names():
            if _STAGED.fullmatch(entry):
                with suppress(OSError):
                    staging.remove(entry)
    os.rmdir(name, dir_fd=folder.fd)
