"""Commands of the command line in a process of their own, and what holds for every one of them."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from attack.protocol import ABORT, CRASH, HANG, MESSAGE, UNTYPED, Case, Failure

_LONGEST = 3000
_WAIT = 40.0


class Ended(NamedTuple):
    """How a process ended: its status, negative after a signal, and the end of what it printed."""

    status: int
    out: str
    err: str


def check_command(case: Case, arguments: Sequence[Any], **options: Any) -> Ended:
    """Runs a command: it succeeds, or says in one line on standard error why it cannot and returns 2."""
    from labelwood.errors import LabelwoodError

    ended = run(case.folder, command(arguments), **options)
    name = " ".join(map(ascii, arguments))[:200].replace(str(case.folder), "…")
    if ended.status < 0:
        kind = ABORT if ended.status == -signal.SIGABRT else CRASH
        raise Failure(kind, f"{signal.Signals(-ended.status).name} in {name}: {ended.err[-200:]}")
    if "Traceback (most recent call last)" in ended.err:
        raise Failure(UNTYPED, f"{ended.err.strip().splitlines()[-1][:200]} in {name}")
    if ended.status not in {0, 2, 130, 143}:
        raise Failure(UNTYPED, f"exit status {ended.status} in {name}: {ended.err[-200:]}")
    lines = ended.err.splitlines()
    if ended.status == 2:
        if len(lines) != 1 or not lines[0].startswith("labelwood: ") or len(lines[0]) > _LONGEST:
            raise Failure(MESSAGE, f"{len(lines)} lines, {len(ended.err)} characters in {name}: {ended.err[:150]!a}")
        raise LabelwoodError(lines[0])
    if ended.status == 0 and lines:
        raise Failure(MESSAGE, f"success with lines on standard error in {name}: {ended.err[:150]!a}")
    return ended


def command(arguments: Sequence[Any]) -> Callable[[], None]:
    """The command line's own entry."""

    def call() -> None:
        from labelwood.cli import main

        main([os.fsdecode(a) if isinstance(a, bytes) else str(a) for a in arguments])

    return call


def run(
    folder: Path,
    call: Callable[[], Any],
    *,
    before: Callable[[], Any] | None = None,
    meanwhile: Callable[[int], Any] | None = None,
    wait: float = _WAIT,
) -> Ended:
    """Calls a function in a fork; `before` runs there first, and `meanwhile` here, with the fork's number."""
    out, err = folder / ".out", folder / ".err"
    child = forked(call, before, out, err)
    if meanwhile is not None:
        meanwhile(child)
    status = waited(child, wait)
    found = folder / ".failure"
    if found.exists():
        raise Failure(*json.loads(found.read_text()))
    printed = [path.read_bytes().decode("utf-8", "replace") if path.exists() else "" for path in (out, err)]
    for path in (out, err):
        path.unlink(missing_ok=True)
    return Ended(status, *printed)


def forked(call: Callable[[], Any], before: Callable[[], Any] | None, out: Path, err: Path) -> int:
    """A fork that calls a function; signals reach it when it is ready for them."""
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    child = os.fork()
    if child == 0:
        _be_the_child(call, before, out, err)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    return child


def waited(child: int, seconds: float) -> int:
    """The status of a child that is killed if it does not end."""
    fd = os.pidfd_open(child)
    try:
        ended = bool(select.select([fd], [], [], seconds)[0])
    finally:
        os.close(fd)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not ended:
        raise Failure(HANG, f"no end within {seconds:.0f} seconds")
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGXCPU:
        raise Failure(HANG, "no end within the limit of CPU")
    return code


def _be_the_child(call: Callable[[], Any], before: Callable[[], Any] | None, out: Path, err: Path) -> None:
    """Never returns."""
    status = 1
    try:
        for number, path in ((1, out), (2, err)):
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(fd, number)
            os.close(fd)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, _end)
        resource.setrlimit(resource.RLIMIT_CPU, (20, resource.RLIM_INFINITY))
        if before is not None:
            before()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
        call()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})  # nothing is left to interrupt
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except KeyboardInterrupt:
        status = 130
    except Failure as failure:
        (out.parent / ".failure").write_text(json.dumps([failure.kind, failure.detail]))
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            status = 120
        os._exit(status)


def _end(*_: object) -> None:
    """As the command line does at SIGTERM, so that what is half-written is removed on the way out."""
    raise SystemExit(128 + signal.SIGTERM)


def warm_commands() -> None:
    """Imports what commands need, so that forks have it."""
    for name in (
        "labelwood.cli",
        "labelwood.tagger.classifier",
        "labelwood.data.read",
        "labelwood.data.write",
        "pyarrow.csv",
    ):
        import_module(name)
    for name in ("tree", "centroid"):
        import_module(f"labelwood.contract.kinds.{name}")
    for name in ("pyarrow.json", "pyarrow.parquet", "tqdm", "pyarrow.ipc", "labelwood.metrics.ranking"):
        import_module(name)
