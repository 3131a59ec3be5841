"""Runs one case and says what came of it."""

from __future__ import annotations

import resource
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time
from typing import Any

from attack.protocol import ANSWERED, MEMORY, MESSAGE, REFUSED, UNTYPED, Attack, Case, Failure, MiB
from attack.watching import Watch

_LONGEST_MESSAGE = 2000


@dataclass
class Verdict:
    """What came of a case: `REFUSED`, `ANSWERED` or one of `FAILURES`; what happened, and what it cost."""

    outcome: str
    detail: str = ""
    peak: int = 0  # bytes
    cpu: float = 0.0

    def plain(self) -> dict[str, Any]:
        """As JSON takes it."""
        return asdict(self)


def judged(attack: Attack, case: Case, watch: Watch, printed: Callable[[], int]) -> Verdict:
    """Runs a case; `printed` says how many bytes were printed so far."""
    before, started, silence = resident(), spent(), printed()
    forget_peak()
    if attack.watched:
        watch.begin(case.folder)
    outcome, detail = outcome_of(attack, case)
    noticed = watch.end()
    verdict = Verdict(outcome, detail, max(0, peak() - before), spent() - started)
    if noticed:
        verdict.outcome, verdict.detail = noticed[0]
    elif verdict.peak > attack.memory and outcome in {REFUSED, ANSWERED}:
        verdict.outcome, verdict.detail = MEMORY, f"{verdict.peak // MiB} MiB; {outcome} {detail}"
    elif printed() > silence and outcome in {REFUSED, ANSWERED}:
        verdict.outcome, verdict.detail = MESSAGE, f"{printed() - silence} bytes printed besides it: {detail}"
    return verdict


def outcome_of(attack: Attack, case: Case) -> tuple[str, str]:
    """What a case ends with, seen from inside."""
    from labelwood.errors import LabelwoodError

    try:
        attack.run(case)
    except Failure as failure:
        return failure.kind, failure.detail
    except LabelwoodError as error:
        return told(str(error), case.folder)
    except MemoryError as error:
        return MEMORY, place_of(error)
    except BaseException as error:
        return UNTYPED, place_of(error)
    return ANSWERED, ""


def told(message: str, folder: Path) -> tuple[str, str]:
    """A refusal, if it is one line that can be printed."""
    line = message.replace(str(folder), "…")
    fault = next(
        (
            fault
            for fault, found in {
                "the message is empty": not line.strip(),
                "the message has several lines": len(message.splitlines()) > 1,
                "the message is very long": len(line) > _LONGEST_MESSAGE,
                "the message cannot be printed": not _encodes(message),
            }.items()
            if found
        ),
        None,
    )
    return (REFUSED, line) if fault is None else (MESSAGE, f"{fault}: {line[:200]!a}")


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def place_of(error: BaseException) -> str:
    """An error's type and text, and where in Labelwood it came from, or in the attack if that is at fault."""
    import labelwood

    frames, home = traceback.extract_tb(error.__traceback__), str(Path(labelwood.__file__).parent)
    inside = [frame for frame in frames if frame.filename.startswith(home)]
    last = (inside or frames)[-1]
    where = (
        f"{Path(last.filename).name}:{last.lineno}" if inside else f"{Path(last.filename).name} in the attack itself"
    )
    return f"{type(error).__name__} at {where}: {ascii(str(error))[:200]}"


def spent() -> float:
    """Seconds of CPU that this process and its children have spent."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def resident() -> int:
    """Bytes of memory that the process has now."""
    return _status("VmRSS")


def peak() -> int:
    """The most bytes of memory that it has had since `forget_peak`."""
    return _status("VmHWM")


def forget_peak() -> None:
    """Begins to measure the peak anew."""
    Path("/proc/self/clear_refs").write_text("5")


def virtual() -> int:
    """Bytes of address space that the process has now."""
    return _status("VmSize")


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    sys.exit(f"/proc/self/status has no {name}: run the attacks on Linux")
