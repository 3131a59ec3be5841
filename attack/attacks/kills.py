"""Signals that end a save or a command at any moment."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from functools import cache
from pathlib import Path
from typing import Any

from attack import large_models
from attack.commands import command, run, warm_commands
from attack.protocol import FILE, Attack, Case, Failure

_OLD = b'{"text": "old", "labels": ["old"]}\n'


def save(case: Case) -> None:
    """SIGKILL, SIGINT or SIGTERM while a model is saved over another one."""
    place, notes = case.folder / "model", b"my notes"
    shutil.copytree(case.samples / "0", place)
    (place / "notes.txt").write_bytes(notes)
    sign = case.rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
    delay = case.rng.random() * 1.3 * save_seconds(case.samples)
    new = large_models.models(case.samples)[1]
    run(case.folder, lambda: new.save(place), meanwhile=lambda child: _signal(child, sign, delay))
    large_models.check_old_or_new(place, case.samples)
    if (place / "notes.txt").read_bytes() != notes:
        raise Failure(FILE, "a file of the user's in the model's folder was changed")
    if sign != signal.SIGKILL:
        whole = {name for number in "01" for name in os.listdir(case.samples / number)}  # the old files may stay
        large_models.check_files(place, whole | {"notes.txt"})
    new.save(place)
    large_models.check_files(place, {*os.listdir(case.samples / "1"), "notes.txt"})


def output(case: Case) -> None:
    """The same while a command writes a file over another one."""
    source, target = case.samples / "rows.jsonl", case.folder / "out.jsonl"
    words: dict[str, list[Any]] = {
        "convert": ["convert", source, target],
        "predict": ["predict", case.samples / "text", source, "-o", target],
    }
    name = case.rng.choice(sorted(words))
    existed = case.rng.random() < 0.7
    if existed:
        target.write_bytes(_OLD)
    sign = case.rng.choice([signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
    delay = case.rng.random() * 1.2 * command_seconds(case.samples, name)
    run(case.folder, command(words[name]), meanwhile=lambda child: _signal(child, sign, delay))
    if existed or target.exists():
        content = target.read_bytes() if target.exists() else b""
        if content != _OLD and [len(content.splitlines()), _last(content)] != [20_000, True]:
            raise Failure(FILE, f"{name} left neither the old file nor a whole new one")
    if sign != signal.SIGKILL:
        large_models.check_files(case.folder, {"out.jsonl"} if target.exists() else set())


def _last(content: bytes) -> bool:
    try:
        return bool(json.loads(content.splitlines()[-1]))
    except ValueError:
        return False


def _signal(child: int, sign: int, delay: float) -> None:
    time.sleep(delay)
    os.kill(child, sign)


@cache
def save_seconds(samples: Path) -> float:
    """How long a save takes."""
    return large_models.seconds_of(samples, samples.parent / f"timing-{os.getpid()}")


@cache
def command_seconds(samples: Path, name: str) -> float:
    """How long a command takes."""
    folder = samples.parent / f"timing-{name}-{os.getpid()}"
    folder.mkdir()
    words: list[Any] = ["convert", samples / "rows.jsonl", folder / "out.jsonl"]
    if name == "predict":
        words = ["predict", samples / "text", samples / "rows.jsonl", "-o", folder / "out.jsonl"]
    started = time.monotonic()
    run(folder, command(words))
    return time.monotonic() - started


def warm(samples: Path) -> None:
    """Loads the models and measures how long saves and commands take."""
    warm_commands()
    large_models.answers(samples)
    save_seconds(samples)
    for name in ("convert", "predict"):
        command_seconds(samples, name)


_SHARED: dict[str, Any] = {"group": "large", "prepare": large_models.make, "warm": warm}
ATTACKS = [
    Attack("kill-save", "ends a save over another model at any moment", save, 400, 20.0, **_SHARED),
    Attack("kill-output", "ends convert and predict while they write over a file", output, 120, 20.0, **_SHARED),
]
