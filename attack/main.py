"""The command: reads its options, runs the attacks, prints the table. Its status says whether anything failed."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from attack import page, sanitized
from attack.attacks import all_attacks, find
from attack.protocol import FAILURES, Attack
from attack.running import Result, Run, run_all, run_block

USUAL = 5.0  # minutes


def main(arguments: list[str] | None = None) -> int:
    """Runs what the command line asks for; 0 if nothing failed."""
    options = parsed(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that no child is left behind
    if options.sanitize:
        sanitized.use()  # before anything that takes time
    work = Path(tempfile.mkdtemp(prefix="labelwood-attack-"))
    started = time.monotonic()
    try:
        attacks = chosen(options)
        if options.case is not None:
            results = [one_case(attacks[0], options.case, options.seed, work)]
        else:
            results = run_all(attacks, options.seed, options.minutes / USUAL, work, options.jobs)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(page.table(results))
    print(page.failures(results, options.seed), end="")
    print(f"{time.monotonic() - started:.0f} seconds")
    if options.json:
        Path(options.json).write_text(json.dumps([page.facts(result) for result in results], indent=1) + "\n")
    if options.page:
        Path(options.page).write_text(page.rendered(results, options.seed, command_of(options)))
    return int(any(failed(result) for result in results))


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description="Attacks Labelwood.")
    parser.add_argument("names", nargs="*", help="attacks, or beginnings of their names; all if not given")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=USUAL, help="about how long a run on two cores takes")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", help="one attack")
    parser.add_argument("--case", type=int, help="one case of it")
    parser.add_argument("--sanitize", action="store_true", help="only what is native, with a build under sanitizers")
    parser.add_argument("--page", help="where to write the page of results")
    parser.add_argument("--json", help="where to write every failure")
    options = parser.parse_args(arguments)
    if options.case is not None and options.only is None:
        parser.error("--case needs --only")
    return options


def chosen(options: argparse.Namespace) -> list[Attack]:
    """The attacks that the options name."""
    if options.only:
        return [find(options.only)]
    names = tuple(options.names) or ("",)
    return [
        attack for attack in all_attacks() if attack.name.startswith(names) and (attack.native or not options.sanitize)
    ]


def one_case(attack: Attack, number: int, seed: int, work: Path) -> Result:
    """Repeats one case."""
    result = Result(attack, 1, attack.budget)
    run_block(Run(seed, work), result, number, number + 1)
    return result


def failed(result: Result) -> bool:
    """Whether a case failed, or none ran."""
    return not result.verdicts or any(verdict.outcome in FAILURES for verdict in result.verdicts.values())


def command_of(options: argparse.Namespace) -> str:
    """How to get the same page again."""
    changed = f" SEED={options.seed}" if options.seed else ""
    changed += f" MINUTES={options.minutes:g}" if options.minutes != USUAL else ""
    return f"make attack{changed}{' SANITIZE=1' if options.sanitize else ''}"
