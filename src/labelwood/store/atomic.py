"""Replaces the files of a model so that a crash at any moment leaves the old model or the new one.

A save writes and syncs files in a staging folder inside the model's folder. It moves the data files beside the old
ones, whose names differ because names contain hashes. Then it moves the manifest over the old manifest: this one rename
switches to the new model. Only then does it remove the old data files. No file is ever rewritten in place, so a process
that has the old model mapped keeps it.

All steps work on the open folder: if another folder takes its place during a save, that one is not touched.
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
from labelwood.store.folder import FOLDER_FLAGS, Folder
from labelwood.store.manifest import DATA_FILE, FILE, recognise

DRAFT = "draft"
_STAGING = re.compile(r"\.saving-[a-z0-9_]{8}")
# The files that a killed save of this or an earlier version leaves in a staging folder.
_STAGED = re.compile(rf"{DRAFT}|{re.escape(FILE)}|\.tmp[A-Za-z0-9]+|{DATA_FILE.pattern}")


def replace_model(place: Path, fill: Callable[[Folder], None]) -> None:
    """Replaces the model at `place` by the data files and the manifest that `fill` writes into a staging folder."""
    with _locked_folder(place) as folder:
        _check_replaceable(folder)
        before = _files_of_manifest(folder)
        try:
            with _new_staging(folder) as staging:
                fill(staging)
                _publish(staging, folder)
        except BaseException:
            _sweep_uninterrupted(folder, before)
            raise
        _sweep_uninterrupted(folder, set())


def _sweep_uninterrupted(folder: Folder, keep: set[str]) -> None:
    """Sweeps to the end even if Ctrl-C interrupts it once; the interrupt is raised afterwards."""
    try:
        _sweep(folder, keep)
    except BaseException:
        _sweep(folder, keep)
        raise


def _new_staging(folder: Folder) -> Folder:
    """A new folder that only this user can access."""
    name = f".saving-{secrets.token_hex(4)}"
    os.mkdir(name, 0o700, dir_fd=folder.fd)
    return folder.inner(name)


def _publish(staging: Folder, folder: Folder) -> None:
    for name in sorted(staging.names()):
        if name != FILE:
            staging.move(name, folder, name)
    folder.sync()  # the data files must be on the disk before the manifest that names them
    staging.move(FILE, folder, FILE)
    folder.sync()


@contextmanager
def _locked_folder(place: Path) -> Iterator[Folder]:
    """Locks the folder against other saves and makes it if it is missing; on an error, removes what it made."""
    with ExitStack() as open_folders:
        made: list[tuple[Folder, str]] = []
        folder = _open_locked(place, open_folders, made)
        try:
            yield folder
        except BaseException:
            for above, name in reversed(made):  # while the lock is held, so that no other save starts to use them
                with suppress(OSError):
                    os.rmdir(name, dir_fd=above.fd)  # fails if the folder is not empty
            raise
        finally:
            fcntl.flock(folder.fd, fcntl.LOCK_UN)  # closing is not enough: a process forked meanwhile shares the lock


def _open_locked(place: Path, open_folders: ExitStack, made: list[tuple[Folder, str]]) -> Folder:
    while True:
        with suppress(FileNotFoundError):  # a failed save has just removed the folder that it made
            folder = _open_or_make(place, open_folders, made)
            fcntl.flock(folder.fd, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(folder.fd), place.stat()):
                return folder


def _open_or_make(place: Path, open_folders: ExitStack, made: list[tuple[Folder, str]]) -> Folder:
    """Opens the folder at `place` and makes missing folders, each inside its open parent."""
    missing: list[str] = []
    for at in (place, *place.parents):
        try:
            folder = open_folders.enter_context(Folder(str(at), os.open(at, FOLDER_FLAGS)))
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
            folder = open_folders.enter_context(folder.inner(name))
        except NotADirectoryError:
            raise ModelError(f"{folder.where(name)} is a file and not a folder: save to another place") from None
    return folder


def check_target(place: Path) -> None:
    """Raises unless `place` is new, empty, a model, or what a crashed first save left.

    Example:
        >>> check_target(Path("no/such/place"))
    """
    try:
        fd = os.open(place, FOLDER_FLAGS)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise ModelError(f"{place} is a file and not a folder, or below one: save to another place") from None
    except OSError as e:
        raise unreadable(str(place), e) from None
    with Folder(str(place), fd) as folder:
        _check_replaceable(folder)


def _check_replaceable(folder: Folder) -> None:
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


def _files_of_manifest(folder: Folder) -> set[str]:
    """The data files that the manifest in the folder names."""
    try:
        files = recognise(folder.read(FILE, strict_json.MAX_BYTES), folder.where(FILE)).get("files")
    except FileNotFoundError:
        return set()
    return set(files) if isinstance(files, dict) else set()


def _sweep(folder: Folder, keep: set[str]) -> None:
    """Removes data files that neither the manifest nor `keep` names, and the staging folders of saves.

    Files that cannot be removed stay for the next save: the model is complete either way. Only staging folders are
    opened, and only files that saves write are removed from them.
    """
    with suppress(OSError, ModelError):
        keep = keep | _files_of_manifest(folder)
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
