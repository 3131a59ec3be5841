"""Runs attacks in child processes, on all cores, and gathers what came of every case."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from attack.judging import Verdict
from attack.protocol import ABORT, CRASH, HANG, Attack

ROOT = Path(__file__).parents[1]
_BLOCK = 250  # cases a child runs at most, so that all cores have something to do to the end
_LEAST = 10.0  # seconds for an attack, with the start of its processes
_STARTING = 120.0  # seconds until the first case, with samples to be made on a busy machine
_REPORT = re.compile(r"ERROR: AddressSanitizer: \S+|runtime error: .*|terminate called.*|.*[Aa]ssert.*failed.*")


@dataclass
class Run:
    """What all children of a run share."""

    seed: int
    work: Path  # for samples, logs and scratch folders
    lock: threading.Lock = field(default_factory=threading.Lock)  # for what follows, and for results
    children: set[subprocess.Popen[bytes]] = field(default_factory=set)
    is_stopped: bool = False

    def stop(self) -> None:
        """Ends all children and lets no other begin."""
        with self.lock:
            self.is_stopped = True
            for process in self.children:
                end(process)


@dataclass
class Result:
    """What came of an attack: the verdicts by the numbers of the cases that ran."""

    attack: Attack
    planned: int
    budget: float
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    used: float = 0.0  # seconds on the clock, of all children together
    deaths: int = 0  # how many children a case has ended
    broken: str = ""  # why the attack could not be run at all

    @property
    def is_over(self) -> bool:
        """Whether its time is up."""
        return self.used > self.budget or bool(self.broken)


def run_all(attacks: list[Attack], seed: int, scale: float, work: Path, jobs: int) -> list[Result]:
    """Runs attacks with `scale` times their usual number of cases."""
    results = [
        Result(attack, max(1, round(attack.cases * scale)), max(attack.budget * scale, _LEAST)) for attack in attacks
    ]
    blocks = [
        (result, first, min(first + _BLOCK, result.planned))
        for first in range(0, max(result.planned for result in results), _BLOCK)
        for result in results
        if first < result.planned
    ]
    run = Run(seed, work)
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for waiting in [pool.submit(run_block, run, *block) for block in blocks]:
                waiting.result()
        except BaseException:
            run.stop()
            raise
    return results


def run_block(run: Run, result: Result, first: int, last: int) -> None:
    """Runs cases `first` to `last` - 1, in as many children as it takes."""
    while first < last and not result.is_over and not run.is_stopped:
        first = run_child(run, result, first, last)


def run_child(run: Run, result: Result, first: int, last: int) -> int:
    """Runs cases in one child until it ends or must be ended; returns the number of the case to go on with."""
    announced, started = None, time.monotonic()
    log = run.work / f"log-{threading.get_ident()}"
    with child(run, result.attack, first, last, log) as (process, lines):
        limit, pending = _STARTING, ""
        while True:
            ready, _, _ = select.select([lines], [], [], limit)
            piece = os.read(lines, 1 << 16) if ready else b""
            if not piece:
                break
            *messages, pending = (pending + piece.decode()).split("\n")
            limit = 4.0 * result.attack.seconds
            for message in map(json.loads, messages):
                announced = message.get("begin")
                if "ready" in message:  # a start takes none of the attack's time, unless a case made it necessary
                    started = started if result.deaths else time.monotonic()
                elif announced is None:
                    number = message.pop("end")
                    with run.lock:
                        result.verdicts[number] = Verdict(**message)
                        result.used += time.monotonic() - started
                    first, started = number + 1, time.monotonic()
            if announced is None and result.is_over:
                return last
        silent = not ready
        if silent:
            end(process)
        status = process.wait()
    if announced is None and first == last and status == 0:
        return last
    if announced is None and status < 0 and first - 1 in result.verdicts:
        announced = first - 1  # what it broke was noticed only when the process ended
    if announced is None:
        result.broken = log.read_text("utf-8", "replace").strip()[-1500:] or f"the child ended with status {status}"
        return last
    with run.lock:
        result.deaths += 1
        result.verdicts[announced] = died(status, silent=silent, log=log)
        result.used += time.monotonic() - started
    return announced + 1


def died(status: int, *, silent: bool, log: Path) -> Verdict:
    """The verdict on a case during which its process ended."""
    if silent:
        return Verdict(HANG, "no end within the time limit")
    if status == -signal.SIGXCPU:
        return Verdict(HANG, "no end within the limit of CPU")
    reports = _REPORT.findall(log.read_text("utf-8", "replace"))
    name = signal.Signals(-status).name if status < 0 else f"exit status {status}"
    kind = CRASH if status < 0 and status != -signal.SIGABRT else ABORT
    return Verdict(kind, ": ".join([name, *reports[:1]]))


@contextmanager
def child(run: Run, attack: Attack, first: int, last: int, log: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A child that runs cases, and the end of the pipe that its messages come from."""
    ours, theirs = os.pipe()
    command = [sys.executable, "-m", "attack.worker", attack.name]
    command += map(str, (run.seed, first, last, run.work, theirs))
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(theirs,),
                start_new_session=True,
            )
        os.close(theirs)
        try:
            with run.lock:
                run.children.add(process)
            yield process, ours
        finally:
            with run.lock:
                run.children.discard(process)
            end(process)
            process.wait()
    finally:
        os.close(ours)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a child with all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def environment() -> dict[str, str]:
    """What a child sees: nothing of the user's that changes what happens."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
    return kept | {
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(ROOT),
        "MALLOC_ARENA_MAX": "2",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "LC_ALL": "C.UTF-8",
    }
