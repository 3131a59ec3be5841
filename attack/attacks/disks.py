"""Full disks, limits of files and descriptors, and folders that cannot be written to."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attack import large_models
from attack.commands import check_command, run, warm_commands
from attack.protocol import FILE, MESSAGE, UNTYPED, Attack, Case, Failure

_NEW_MOUNTS, _PRIVATE = 0x20000, 0x44000
_OTHER_USER = 65_534


def full(case: Case) -> None:
    """The disk is full at some point of a save: a small disk, or a limit of a file's size."""
    size = case.rng.randrange(1, 4_000_000)
    place = case.folder / "disk"
    place.mkdir()
    use_disk = case.rng.random() < 0.7

    def attempt() -> None:
        if use_disk and mounted(place, size + 2 * _size(case.samples / "0")):
            pass
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        _save_on_full_disk(case, place)

    _check(run(case.folder, attempt))


def _save_on_full_disk(case: Case, place: Path) -> None:
    model = place / "model"
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    try:
        shutil.copytree(case.samples / "0", model)
    except OSError:
        return  # the disk is too small even for the old model
    resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    try:
        large_models.models(case.samples)[1].save(model)
    except ValueError as error:
        _check_words(str(error))
    which = large_models.check_old_or_new(model, case.samples)
    large_models.check_files(model, set(os.listdir(case.samples / str(which))))


def command_on_full_disk(case: Case) -> None:
    """A command writes to a disk that is full."""
    target = case.folder / f"out.{case.rng.choice(['jsonl', 'csv', 'parquet', 'jsonl.gz', 'jsonl.zst', 'svm', 'txt'])}"
    target.write_bytes(b"old")
    size = case.rng.randrange(0, 300_000)
    rows, model = case.samples / "rows.jsonl", case.samples / "text"
    words = case.rng.choice([["convert", rows, target], ["predict", model, rows, "-o", target]])
    try:
        check_command(case, words, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
    except ValueError:
        if target.read_bytes() != b"old":
            raise Failure(FILE, "the old file is lost although the command failed") from None
        raise
    finally:
        large_models.check_files(case.folder, {target.name})


def descriptors(case: Case) -> None:
    """There are hardly any file descriptors left."""
    left = case.rng.randrange(0, 12)
    place = case.folder / "model"
    shutil.copytree(case.samples / "0", place)
    task = case.rng.choice([_save, _load, _read])

    def attempt() -> None:
        held = [os.open("/dev/null", os.O_RDONLY) for _ in range(3)]
        highest = max(map(int, os.listdir("/proc/self/fd")))
        soft = min(highest + 1 + left, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        held += _fill(highest)
        try:
            task(case, place)
        except ValueError as error:
            _check_words(str(error))

    _check(run(case.folder, attempt))
    large_models.check_old_or_new(place, case.samples)


def _fill(highest: int) -> list[int]:
    """Takes the gaps below the highest descriptor, so that only those above it are left."""
    taken = set(map(int, os.listdir("/proc/self/fd")))
    return [os.dup2(0, number) for number in range(highest) if number not in taken]


def forbidden(case: Case) -> None:
    """Folders and files that the user may not read or write."""
    if os.geteuid() != 0:
        return  # another user can be played by root alone
    place = case.folder / "model"
    shutil.copytree(case.samples / "0", place)
    case.folder.chmod(0o777)
    mode = case.rng.choice([0o000, 0o500, 0o400, 0o100, 0o555])
    inner = case.rng.choice([place, place / "manifest.json", next(place.glob("arrays-*"))])
    inner.chmod(mode)
    task = case.rng.choice([_save, _load, _save_inside])

    def attempt() -> None:
        os.setgid(_OTHER_USER)
        os.setuid(_OTHER_USER)
        try:
            task(case, place)
        except ValueError as error:
            if "\n" in str(error):
                raise Failure(MESSAGE, ascii(str(error))[:200]) from None

    ended = run(case.folder, attempt)
    _check(ended)
    inner.chmod(0o755)
    large_models.check_old_or_new(place, case.samples)


def _save(case: Case, place: Path) -> None:
    large_models.models(case.samples)[1].save(place)


def _save_inside(case: Case, place: Path) -> None:
    large_models.models(case.samples)[1].save(place / "new" / "model")


def _load(case: Case, place: Path) -> None:
    import labelwood as lw

    del case
    lw.load(place)


def _read(case: Case, place: Path) -> None:
    import labelwood as lw

    del place
    lw.read(case.samples / "rows.jsonl")


def _check(ended: Any) -> None:
    if ended.status:
        last = (ended.err.strip().splitlines() or [f"exit status {ended.status}"])[-1]
        raise Failure(UNTYPED, last[:300])


def _check_words(message: str) -> None:
    """A machine that lacks something is no damage, and no reason to remove a model."""
    if re.search(r"damaged|remove it|corrupt", message):
        raise Failure(MESSAGE, f"it blames the file: {ascii(message)[-250:]}")


def mounted(place: Path, size: int) -> bool:
    """Whether a disk of so many bytes could be mounted, for this process alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_MOUNTS) or libc.mount(b"none", b"/", None, ctypes.c_ulong(_PRIVATE), None):
        return False
    options = f"size={size}".encode()
    return not libc.mount(b"tmpfs", os.fsencode(place), b"tmpfs", ctypes.c_ulong(0), options)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def warm(samples: Path) -> None:
    """Loads models and commands."""
    warm_commands()
    large_models.answers(samples)


_SHARED: dict[str, Any] = {"group": "large", "prepare": large_models.make, "warm": warm}
_TRIES: list[tuple[str, str, Callable[[Case], None], int]] = [
    ("disk-full", "saves to a disk that is full at some point", full, 150),
    ("disk-output", "runs commands that write to a full disk", command_on_full_disk, 60),
    ("descriptors", "saves, loads and reads with hardly a file descriptor left", descriptors, 100),
    ("forbidden", "saves and loads what another user may not touch", forbidden, 100),
]
ATTACKS = [Attack(name, tries, run_one, cases, 12.0, **_SHARED) for name, tries, run_one, cases in _TRIES]
