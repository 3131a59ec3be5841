"""Runs numbered cases in child processes, so that one that ends its process counts, and the others still run."""

from __future__ import annotations

import json
import os
import resource
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

_NO_MEMORY = "AddressSanitizer: allocator is out of memory"
_SECONDS = 60  # that a case may take
# A thousand threads have room in the memory that a child may take.
_SMALL_STACKS = ("sh", "-c", 'ulimit -s 2048; exec "$@"', "sh")
_MEMORY = 8 << 30  # bytes; sanitizers reserve far more and are told their own limit


class Outcome(NamedTuple):
    """What became of a case: "refused", "right", "wrong", "untyped", "crash" or "hang"."""

    case: int
    name: str
    kind: str
    detail: str


def in_children(module: str, seed: int, n_cases: int, extra: tuple[str, ...] = ()) -> Iterator[Outcome]:
    """The outcomes of cases 0 … `n_cases` − 1 of a module that prints them; see `serve`."""
    first = 0
    while first < n_cases:
        for outcome in _one_child(module, seed, first, n_cases, extra):
            first = outcome.case + 1
            yield outcome


def _one_child(module: str, seed: int, first: int, n_cases: int, extra: tuple[str, ...]) -> Iterator[Outcome]:
    command = [*_SMALL_STACKS, sys.executable, "-W", "ignore", "-m", module, "--child", str(first), *extra]
    command += ["--cases", str(n_cases), "--seed", str(seed)]
    began = (first, "starting")
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as child,
    ):
        assert child.stdout is not None
        kind = "crash"
        for line in _lines(child):
            if line is None:
                kind = "hang"
                break
            said = json.loads(line)
            if len(said) == 2:
                began = said[0], said[1]
            else:
                yield Outcome(*said)
                began = said[0] + 1, "starting"
        if kind == "hang":
            child.kill()
        child.wait()
        if began[0] < n_cases:
            errors.seek(0)
            told = errors.read()
            if began == (first, "starting"):
                raise RuntimeError(f"the child that runs cases did not begin: {told[-2000:]}")
            # Sanitizers end a process that asks for too much memory, where Python would raise MemoryError.
            kind = "refused" if _NO_MEMORY in told else kind
            yield Outcome(*began, kind, f"exit {child.returncode}: {_told(told)}")


def _told(errors: str) -> str:
    """What a sanitizer reported, or else the last lines."""
    lines = errors.strip().splitlines()
    found = [line for line in lines if "ERROR: AddressSanitizer" in line or "runtime error:" in line]
    where = [line.strip() for line in lines if line.strip().startswith("#") and "/native/" in line]
    return " | ".join([*found[:1], *where[:2]] or lines[-3:])


def _lines(child: subprocess.Popen[str]) -> Iterator[str | None]:
    """Lines as they come; None where none comes for long."""
    assert child.stdout is not None
    pipe, rest = child.stdout.fileno(), b""
    while True:
        ready, _, _ = select.select([pipe], [], [], _SECONDS)
        if not ready:
            yield None
            return
        some = os.read(pipe, 1 << 16)
        if not some:
            return
        *lines, rest = (rest + some).split(b"\n")
        yield from (line.decode() for line in lines)


def serve(first: int, n_cases: int, made, run) -> None:
    """In the child: `made` gives a numbered case with a name, `run` its kind and detail."""
    if "LD_PRELOAD" not in os.environ:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    for number in range(first, n_cases):
        case = made(number)
        _say(number, case.name)
        kind, detail = run(case)
        _say(number, case.name, kind, detail)


def _say(*words) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()
