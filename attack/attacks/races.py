"""Other processes, some of another user, that are in the same folder at the same time."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from attack import large_models
from attack.commands import forked, run, waited
from attack.protocol import HANG, Attack, Case, Failure

_OTHER_USER = 65_534


def savers(case: Case) -> None:
    """Several processes save to one folder while others load from it."""
    place = case.folder / "model"
    shutil.copytree(case.samples / "0", place)
    models = large_models.models(case.samples)

    def save_some(which: int) -> None:
        for _ in range(3):
            models[which].save(place)

    def load_some() -> None:
        for _ in range(6):
            large_models.check_old_or_new(place, case.samples)

    tasks: list[Callable[[], None]] = [lambda: save_some(0), lambda: save_some(1), lambda: save_some(1), load_some]
    children = []
    for number, task in enumerate(tasks[1:]):
        folder = case.folder / str(number)
        folder.mkdir()
        children.append((folder, forked(task, None, folder / ".out", folder / ".err")))
    ended = run(case.folder, tasks[0])
    statuses = [waited(child, 40.0) for _, child in children]
    for folder, _ in children:
        _raise_failure(folder)
    if any([ended.status, *statuses]):
        raise Failure(HANG, f"a process ended with {ended.status} {statuses}: {ended.err[-300:]}")
    which = large_models.check_old_or_new(place, case.samples)
    large_models.check_files(place, set(os.listdir(case.samples / str(which))))


def swapped(case: Case) -> None:
    """The model's folder is swapped for a link to another folder, again and again, by another user if that can be."""
    case.folder.chmod(0o777)
    place, aside = case.folder / "model", case.folder / "aside"
    victim = large_models.plant_victim(case.folder)
    shutil.copytree(case.samples / "0", place)
    place.chmod(0o777)
    new = large_models.models(case.samples)[1]
    pause = case.rng.random() * 0.004

    def swap() -> None:
        if os.geteuid() == 0:
            os.setgid(_OTHER_USER)
            os.setuid(_OTHER_USER)
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            with suppress(OSError):
                place.rename(aside)
                place.symlink_to(victim)
            time.sleep(pause)
            with suppress(OSError):
                place.unlink()
                aside.rename(place)
            time.sleep(pause)

    attacker = forked(swap, None, case.folder / ".out", case.folder / ".err")
    try:
        for _ in range(4):
            with suppress(ValueError):  # a LabelwoodError is one; a refusal is fine here
                new.save(place)
    finally:
        waited(attacker, 20.0)
        large_models.check_victim(victim)


def planted(case: Case) -> None:
    """Pipes, links and folders lie where a save or a load has files of its own."""
    place = case.folder / "model"
    victim = large_models.plant_victim(case.folder)
    shutil.copytree(case.samples / "0", place)
    own = [name for name in os.listdir(case.samples / "1") if name.startswith("arrays-")]
    names = [".saving-abcd_123", ".saving-00000000", "arrays-0123456789abcdef.safetensors", "manifest.json", *own]
    name = case.rng.choice(names)
    with suppress(FileNotFoundError):
        (place / name).unlink()
    kind = case.rng.choice(["pipe", "link to a file", "link to a folder", "dangling link", "folder", "folder of links"])
    spot = place / name
    if kind == "pipe":
        os.mkfifo(spot)
    elif kind == "link to a file":
        spot.symlink_to(victim / "thesis.txt")
    elif kind == "link to a folder":
        spot.symlink_to(victim)
    elif kind == "dangling link":
        spot.symlink_to(case.folder / "nothing")
    else:
        spot.mkdir()
        (spot / "manifest.json").symlink_to(victim / "manifest.json")
        os.mkfifo(spot / "draft")
    new = large_models.models(case.samples)[1]

    def save_and_load() -> None:
        import labelwood as lw

        with suppress(ValueError):
            new.save(place)
        with suppress(ValueError):
            lw.load(place)

    try:
        ended = run(case.folder, save_and_load, wait=8.0)
    except Failure as failure:
        raise Failure(failure.kind, f"{kind} named {name[:12]}: {failure.detail}") from None
    finally:
        large_models.check_victim(victim)
    if ended.status:
        raise Failure(HANG, f"{kind} named {name}: the process ended with {ended.status}: {ended.err[-300:]}")


def _raise_failure(folder: Path) -> None:
    if (folder / ".failure").exists():
        raise Failure(*json.loads((folder / ".failure").read_text()))


def warm(samples: Path) -> None:
    """Loads the models."""
    large_models.answers(samples)


_SHARED: dict[str, Any] = {"group": "large", "prepare": large_models.make, "warm": warm}
ATTACKS = [
    Attack("race-savers", "saves to one folder from several processes while others load", savers, 40, 15.0, **_SHARED),
    Attack(
        "race-links",
        "swaps the folder for a link elsewhere during saves, as another user",
        swapped,
        15,
        15.0,
        **_SHARED,
    ),
    Attack("race-planted", "plants pipes, links and folders where a save has its files", planted, 60, 20.0, **_SHARED),
]
