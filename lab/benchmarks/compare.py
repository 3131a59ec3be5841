"""Labelwood beside its rivals on one dataset: time, memory, size and accuracy, in turns and repeated.

Usage: python -m lab.benchmarks.compare DATA [--rivals …] [--settings …] [--repeats 3] [--json FILE]

DATA is a folder with a train and a test file: the field's text format (rows are brought to unit norm) or JSONL with
texts (tf-idf, the same matrix for all), or X.trn.npz, Y.trn.npz, X.tst.npz and Y.tst.npz as `generate.py` writes them.
Each contender trains with two threads and predicts with one, each in a fresh process of its own environment, which
`rivals/environments.py` makes where it is missing. One that fails is reported as failed and the others go on.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from dataclasses import replace
from pathlib import Path

from lab.benchmarks.rivals import environments, report
from lab.benchmarks.rivals.contenders import RIVALS, SETTINGS, Entry
from lab.benchmarks.rivals.prepared import prepare
from lab.benchmarks.rivals.stages import Course, StageError


def main() -> None:
    """Runs the comparison that the command line asks for and prints its tables."""
    options = parse()
    chosen = {**pick(SETTINGS, options.settings, "setting"), **pick(RIVALS, options.rivals, "rival")}
    failures = missing_environments(chosen, options.cache)
    course = Course(prepare(options.data, options.cache), options.cache, options.timeout)
    runs: report.Runs = {name: [] for name in chosen}
    for repeat in range(options.repeats):
        for name, entry in chosen.items():
            if name in failures:
                continue
            try:
                runs[name].append(course.run(name, seeded(entry, repeat)))
                print(progress(repeat, name, runs[name][-1]), flush=True)
            except StageError as error:
                failures[name] = str(error)
                print(f"{repeat + 1}: {name} failed, {error}", flush=True)
    ours = {name: runs[name] for name in chosen if name in SETTINGS}
    found = report.summary(ours, {name: runs[name] for name in chosen if name in RIVALS}, failures)
    print(f"\n## {options.data.resolve().name}, {options.repeats} run(s) of each\n\n{report.markdown(found)}")
    if options.json:
        options.json.write_text(json.dumps({"data": options.data.resolve().name, **found}, indent=1))


def parse() -> argparse.Namespace:
    """The command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--rivals", help=f"names with commas, all or none; there are {', '.join(RIVALS)}")
    arguments.add_argument("--settings", help=f"of Labelwood, likewise; there are {', '.join(SETTINGS)}")
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--timeout", type=float, default=3600, help="seconds that a stage may take")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="where to write all figures")
    arguments.add_argument("--cache", type=Path, default=environments.default_cache())
    return arguments.parse_args()


def pick(table: dict[str, Entry], names: str | None, what: str) -> dict[str, Entry]:
    """The named entries of a table; without names, those that run by default."""
    if names is None:
        return {name: entry for name, entry in table.items() if entry.by_default}
    wanted = {"all": list(table), "none": []}.get(names, names.split(","))
    unknown = [name for name in wanted if name not in table]
    if unknown:
        raise SystemExit(f"no such {what}: {', '.join(unknown)}; there are {', '.join(table)}")
    return {name: table[name] for name in wanted}


def missing_environments(chosen: dict[str, Entry], cache: Path) -> dict[str, str]:
    """Makes the environments that are needed; says why for contenders whose environment cannot be made."""
    broken: dict[str, str] = {}
    for library in {entry.library for entry in chosen.values()} - {"labelwood"}:
        try:
            environments.make(library, cache)
        except subprocess.CalledProcessError as error:
            broken |= {name: f"no environment: {error}" for name, entry in chosen.items() if entry.library == library}
    return broken


def seeded(entry: Entry, repeat: int) -> Entry:
    """Another seed for every repeat, so that spreads show it; of the rivals, omikuji draws one itself."""
    return replace(entry, params={**entry.params, "seed": repeat}) if entry.library == "labelwood" else entry


def progress(repeat: int, name: str, figures: dict[str, float]) -> str:
    """One line a run, for those who watch."""
    return (
        f"{repeat + 1}: {name:<20} {figures['train_cpu_s']:8.2f} CPU s  {figures['batch_us']:8.1f} µs  "
        f"{figures['single_p50_ms']:7.3f} ms  {figures['model_bytes'] / 1e6:8.2f} MB  "
        f"{figures['P@1']:.2f} {figures['P@3']:.2f} {figures['P@5']:.2f}"
    )


if __name__ == "__main__":
    main()
