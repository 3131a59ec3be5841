"""The report: a table of attempts and failures, on the terminal and as a page."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from attack.protocol import ANSWERED, FAILURES, REFUSED, MiB
from attack.running import ROOT, Result

_HEAD = ("attack", "what it tries", "cases", "refused", "answered", "failures", "peak", "CPU")

INTRODUCTION = """\
# Attacks

`{command}` wrote this page on {date} for commit `{commit}`. The same seed ({seed}) gives the same cases on every
machine; how many of them run in the time that an attack has depends on the machine, and the table says so ("180 of
200").

Each attack tries many cases in processes of their own, under limits of memory, CPU and time. A case is withstood if
Labelwood **refuses** it with an error of its own and one line of text, or **answers** it and the answer is right as far
as that can be checked: ids that exist and are in order, the same answer for one row and for many, the same model after
another save. Everything else is a **failure**: a crash, an abort, an error of another type, no end within the limits,
more memory than the cap, a wrong answer, a file that is lost or changed, a connection to the network, code that ran.

What is attacked: saved models of every kind (changed with all sizes and hashes made right again), arrays that callers
pass, files of every format, bombs that are small and become large, saves and outputs that are killed, raced, or meet a
full disk, and the command line. What is not: the machine, the packages that Labelwood uses beyond the ways in which it
calls them, side channels, and models that learned from poisoned data. A run of some minutes shows that simple mistakes
are absent, not that all are.

Files and connections are watched from Python: what native code of other packages opens on its own is not seen.
"""


def facts(result: Result) -> dict[str, Any]:
    """A result as JSON takes it."""
    return {
        "attack": result.attack.name,
        "planned": result.planned,
        "ran": len(result.verdicts),
        "seconds": round(result.used, 1),
        "broken": result.broken,
        "outcomes": dict(Counter(verdict.outcome for verdict in result.verdicts.values())),
        "failures": {
            number: verdict.plain()
            for number, verdict in sorted(result.verdicts.items())
            if verdict.outcome in FAILURES
        },
    }


def table(results: list[Result]) -> str:
    """The table in Markdown, with a line for the sum."""
    lines = ["| " + " | ".join(_HEAD) + " |", "| --- | --- |" + " ---: |" * 3 + " --- |" + " ---: |" * 2]
    lines += ["| " + " | ".join(row(result)) + " |" for result in results]
    total = Counter(verdict.outcome for result in results for verdict in result.verdicts.values())
    cpu = sum(verdict.cpu for result in results for verdict in result.verdicts.values())
    counts = (str(total.total()), str(total[REFUSED]), str(total[ANSWERED]), listed(total))
    lines.append(f"| **all** | | {' | '.join(counts)} | | {cpu:.0f} s |")
    return "\n".join(lines)


def row(result: Result) -> list[str]:
    """An attack's cells."""
    verdicts = result.verdicts.values()
    counts = Counter(verdict.outcome for verdict in verdicts)
    ran = str(len(verdicts)) if len(verdicts) == result.planned else f"{len(verdicts)} of {result.planned}"
    peak = max((verdict.peak for verdict in verdicts), default=0) // MiB
    cpu = sum(verdict.cpu for verdict in verdicts)
    failures = listed(counts) if not result.broken else f"could not run; {listed(counts)}"
    return [
        f"`{result.attack.name}`",
        result.attack.tries,
        ran,
        str(counts[REFUSED]),
        str(counts[ANSWERED]),
        failures,
        f"{peak} MiB",
        f"{cpu:.0f} s",
    ]


def listed(counts: Counter[str]) -> str:
    """How many failures of each kind."""
    return ", ".join(f"{counts[kind]} × {kind}" for kind in FAILURES if counts[kind]) or "none"


def failures(results: list[Result], seed: int) -> str:
    """An example of each failure of its own kind and place, with the command that repeats it."""
    lines = []
    for result in results:
        if result.broken:
            lines.append(f"{result.attack.name} could not run: {_without_places(result.broken)}")
        seen: Counter[str] = Counter()
        for number, verdict in sorted(result.verdicts.items()):
            cause = f"{verdict.outcome}: {verdict.detail.partition(': ')[0][:60]}"
            seen[cause] += verdict.outcome in FAILURES
            if verdict.outcome in FAILURES and seen[cause] == 1:
                detail = _without_places(verdict.detail)[:250]
                lines.append(f"{result.attack.name}: {verdict.outcome}: {detail}")
                lines.append(f"    python -m attack.run --only {result.attack.name} --case {number} --seed {seed}")
    return "".join(line + "\n" for line in lines)


def _without_places(text: str) -> str:
    """One line that does not say where on this machine things lie."""
    return re.sub(r"/[^ '\"]*/labelwood-attack-\w+/", "…/", text.replace(f"{ROOT}/", "").replace("\n", " "))


def rendered(results: list[Result], seed: int, command: str) -> str:
    """The page."""
    head = INTRODUCTION.format(command=command, date=datetime.now(UTC).date().isoformat(), commit=commit(), seed=seed)
    found = failures(results, seed)
    end = f"\n## Failures\n\nEach with the command that repeats it.\n\n```text\n{found}```\n" if found else ""
    return f"{head}\n{table(results)}\n{end}"


def commit() -> str:
    """The commit that was attacked, and whether files differ from it."""
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return told.stdout.strip() or "unknown"
