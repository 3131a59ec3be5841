"""The process that runs cases, one after the other: python -m attack.worker NAME SEED FIRST LAST WORK PIPE.

It announces each case before it runs, so that the runner knows which one killed it.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import resource
import shutil
import signal
import sys
import tempfile
import warnings
from pathlib import Path
from typing import IO, Any

from attack import judging, sanitized
from attack.protocol import Attack, Case, MiB, random_of
from attack.watching import Watch

# Stacks of threads and arenas of the allocator take address space that is never used.
_SLACK = 768 * MiB


def main(arguments: list[str]) -> None:
    """Runs cases `first` to `last` - 1."""
    name, seed, first, last, work, pipe = arguments
    from attack.attacks import find

    attack, folder = find(name), Path(work)
    with os.fdopen(int(pipe), "w") as out:
        os.set_inheritable(out.fileno(), False)
        warnings.simplefilter("ignore")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        sanitized.load()
        samples = prepared(attack, folder / "samples")
        if attack.warm is not None:
            attack.warm(samples)
        import labelwood  # noqa: F401  # so that it does not count as a case's memory

        tell(out, ready=True)

        tempfile.gettempdir()  # tries out where it can write, when it is first asked
        watch, scratch = Watch(), folder / f"scratch-{os.getpid()}"
        cap_memory(attack.memory + _SLACK)
        for number in range(int(first), int(last)):
            tell(out, begin=number)
            cap_cpu(attack.seconds)
            case = Case(number, random_of(int(seed), name, number), scratch / str(number), samples)
            case.folder.mkdir(parents=True)
            verdict = judging.judged(attack, case, watch, printed)
            tell(out, end=number, **verdict.plain())
            shutil.rmtree(scratch, ignore_errors=True)


def prepared(attack: Attack, samples: Path) -> Path:
    """The samples of the attack's group, made by whoever comes first."""
    folder = samples / (attack.group or attack.name)
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / ".done"
    with (samples / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if attack.prepare is not None and not done.exists():
            attack.prepare(folder)
        done.touch()
    return folder


def cap_memory(allowance: int) -> None:
    """Lets the process have so much more address space than it has now. Sanitizers need all there is."""
    if "ASAN_OPTIONS" not in os.environ:
        limit = judging.virtual() + allowance
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))  # a case may cap itself again


def cap_cpu(seconds: int) -> None:
    """Ends the process after so many more seconds of CPU."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = usage.ru_utime + usage.ru_stime
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(used) + seconds, resource.RLIM_INFINITY))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)


def printed() -> int:
    """How many bytes went to standard output and error, which are one file."""
    sys.stdout.flush()
    sys.stderr.flush()
    return os.fstat(2).st_size


def tell(out: IO[str], **message: Any) -> None:
    """Writes a line to the runner."""
    out.write(json.dumps(message) + "\n")
    out.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
