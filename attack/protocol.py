"""What an attack is: a name, a sentence, and a function that tries one case with random numbers of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

MiB = 1 << 20

# What counts as withstanding an attack.
REFUSED = "refused"  # a LabelwoodError whose message is one line
ANSWERED = "answered"  # no error, and every check of the answer holds

# What counts as a failure; in the order of the report.
CRASH, ABORT, CODE, NETWORK, FILE, WRONG, MEMORY, HANG, UNTYPED, MESSAGE = FAILURES = (
    "crash",  # a signal such as SIGSEGV
    "abort",  # SIGABRT: an exception that nobody caught, or a sanitizer's report
    "code executed",
    "network access",
    "file lost or changed",
    "wrong answer",
    "memory over the cap",
    "hang",  # no end within the limits of CPU and time
    "untyped error",  # an error that is not a LabelwoodError
    "unclear message",  # a message of several lines, or lines on standard error besides it
)


class Failure(BaseException):
    """A failure that an attack has found itself. Nothing that is attacked may catch it."""

    def __init__(self, kind: str, detail: str) -> None:
        assert kind in FAILURES
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail


@dataclass(frozen=True)
class Case:
    """One case: the same seed and number give the same random numbers, whatever ran before."""

    number: int
    rng: Random
    folder: Path  # its own, empty, and removed afterwards
    samples: Path  # what `Attack.prepare` made; not to be changed


@dataclass(frozen=True)
class Attack:
    """Something hostile that is tried many times.

    `run` tries one case. It returns where the attack is withstood or without effect, and raises `Failure` where an
    answer is wrong or something was lost. A `LabelwoodError` may pass through it: that is a refusal. Every other
    error that passes through it is a failure.
    """

    name: str
    tries: str  # what it tries, in a sentence for the table
    run: Callable[[Case], None]
    cases: int  # how many, in a run of the usual length
    budget: float  # seconds for all cases together, in a run of the usual length
    seconds: int = 15  # of CPU for a case; four times as much may pass on the clock
    memory: int = 512 * MiB  # for a case, beyond what the process had before it
    watched: bool = True  # whether code that runs, files that change and connections are noticed
    native: bool = False  # whether sanitizers have something to look at
    group: str = ""  # attacks of a group share their samples
    prepare: Callable[[Path], None] | None = None  # makes the samples, once for each run
    warm: Callable[[Path], None] | None = None  # loads what cases need, so that it does not count as their memory


def random_of(seed: int, name: str, number: int) -> Random:
    """The random numbers of a case."""
    return Random(f"{seed}/{name}/{number}")
