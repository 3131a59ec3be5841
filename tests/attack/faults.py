"""Planted faults: cases that end in every way in which a case can end."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from attack.protocol import (
    ABORT,
    ANSWERED,
    CODE,
    CRASH,
    FILE,
    HANG,
    MEMORY,
    MESSAGE,
    NETWORK,
    REFUSED,
    UNTYPED,
    WRONG,
    Attack,
    Case,
    Failure,
    MiB,
)

from labelwood.errors import LabelwoodError


def refuse(case: Case) -> None:
    raise LabelwoodError(f"{case.rng.random()} is refused in one line")


def answer(case: Case) -> None:
    (case.folder / "own").write_text("a case may write into its own folder")


def crash(case: Case) -> None:
    ctypes.string_at(0)


def abort(case: Case) -> None:
    os.abort()


def run_code(case: Case) -> None:
    exec(compile("1", str(case.folder / "hostile.py"), "exec"))


def run_command(case: Case) -> None:
    with contextlib.suppress(OSError):
        os.execv("/no/such/program", ["x"])


def connect(case: Case) -> None:
    with contextlib.suppress(OSError), socket.socket() as there:
        there.connect(("127.0.0.1", 9))


def write_elsewhere(case: Case) -> None:
    (case.samples / "written").write_text("x")


def remove_elsewhere(case: Case) -> None:
    with contextlib.suppress(OSError):
        (case.samples / "no such file").unlink()


def answer_wrongly(case: Case) -> None:
    raise Failure(WRONG, "a check of the attack itself found it")


def take_memory(case: Case) -> None:
    assert len(b"x" * (300 * MiB))


def ask_for_memory(case: Case) -> None:
    bytearray(1 << 42)


def sleep(case: Case) -> None:
    time.sleep(60)


def turn(case: Case) -> None:
    while True:
        pass


def raise_another(case: Case) -> None:
    raise KeyError("a type that no user expects")


def panic(case: Case) -> None:
    raise BaseException("as what other languages throw")


def say_two_lines(case: Case) -> None:
    raise type("TwoLines", (LabelwoodError,), {"__str__": lambda _: "one line\nand another"})


def print_besides(case: Case) -> None:
    sys.stderr.write("a warning\n")


FAULTS: list[tuple[Callable[[Case], None], str]] = [
    (answer, ANSWERED),
    (refuse, REFUSED),
    (crash, CRASH),
    (answer, ANSWERED),
    (abort, ABORT),
    (run_code, CODE),
    (run_command, CODE),
    (connect, NETWORK),
    (write_elsewhere, FILE),
    (remove_elsewhere, FILE),
    (answer_wrongly, WRONG),
    (take_memory, MEMORY),
    (ask_for_memory, MEMORY),
    (sleep, HANG),
    (turn, HANG),
    (raise_another, UNTYPED),
    (panic, UNTYPED),
    (say_two_lines, MESSAGE),
    (print_besides, MESSAGE),
    (refuse, REFUSED),
]


def fault(case: Case) -> None:
    FAULTS[case.number][0](case)


def cannot_prepare(samples: Path) -> None:
    raise RuntimeError("there are no samples")


ATTACKS = [
    Attack("tests.attack.faults:planted", "ends in every way", fault, len(FAULTS), 60.0, 1, 256 * MiB),
    Attack("tests.attack.faults:refused", "is refused", refuse, 9, 60.0),
    Attack("tests.attack.faults:another", "raises another error", raise_another, 1, 60.0),
    Attack("tests.attack.faults:unprepared", "has no samples", refuse, 1, 60.0, prepare=cannot_prepare),
]
