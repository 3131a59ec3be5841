"""The command line: arguments, names of files, and standard streams that are not what they should be."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from attack import file_samples, mutations
from attack.commands import check_command, run, warm_commands
from attack.protocol import FILE, HANG, MESSAGE, Attack, Case, Failure

COMMANDS = ["train", "predict", "evaluate", "explain", "impute", "compress", "info", "convert"]
OPTIONS = [
    "-o",
    "--output",
    "--json",
    "--set",
    "-k",
    "--split",
    "--format",
    "--label-file",
    "--filter-file",
    "--threads",
]
OPTIONS += ["--text-column", "--label-separator", "--config", "--model", "--preset", "--ks", "--min-score", "--include"]
OPTIONS += ["--exclude", "--grouped", "--eagle", "--to", "--features", "--part", "--no-verify", "--unknown", "-x", "--"]
VALUES = [
    "",
    "0",
    "-1",
    "nan",
    "1e999",
    "9" * 400,
    "a=b",
    "n_trees=0",
    "=",
    "params=1",
    "a.b.c=1",
    "\n",
    "x\ny",
    "\x1b[31m",
]
VALUES += ["tree", "centroid", "[", "é" * 200, "x" * 5000, "%s{}", "~", "1,2", "true", "k = 3", "jsonl", "csv"]


def arguments(case: Case) -> None:
    """Commands with options and values that do not belong to them."""
    rows = case.folder / "rows.jsonl"
    shutil.copy(case.samples / "rows.jsonl" / "rows.jsonl", rows)
    places: list[Any] = [rows, case.samples / "model", case.folder / "out", case.folder / "out.jsonl", case.folder]
    words: list[Any] = [case.rng.choice([*COMMANDS, *COMMANDS, *COMMANDS, "", "unknown", "--version"])]
    words += case.rng.sample(places, case.rng.choice([1, 2, 2, 3]))
    for _ in range(case.rng.choice([0, 1, 2])):
        words += [case.rng.choice(OPTIONS), case.rng.choice([*VALUES, case.folder / "out2", rows])]
    if case.rng.random() < 0.3:
        words.append(case.rng.choice(VALUES))
    before = rows.read_bytes()
    try:
        check_command(case, words)
    finally:
        if not rows.exists() or (rows.read_bytes() != before and words[0] != "convert"):
            raise Failure(FILE, f"{words[0]} changed the rows that it was given")


def names(case: Case) -> None:
    """Files whose names are hostile: line ends, bytes that are not UTF-8, options, devices, very long ones."""
    name = odd_name(case.rng)
    folder = os.fsencode(case.folder)
    path = name if name.startswith(b"/") else os.path.join(folder, name)
    inside = path.startswith(folder)
    if inside and case.rng.random() < 0.6 and not os.path.isdir(path):
        with suppress(OSError):
            Path(os.fsdecode(path)).write_bytes((case.samples / "rows.jsonl" / "rows.jsonl").read_bytes())
    model, rows = case.samples / "model", case.samples / "rows.jsonl" / "rows.jsonl"
    command = case.rng.choice([
        ["info", path], ["predict", model, path], ["predict", path, rows], ["convert", path, case.folder / "out.jsonl"],
        ["train", path, "-o", case.folder / "out", "--model", "centroid"], ["evaluate", model, path],
        *([["convert", rows, path + b".jsonl"], ["train", rows, "-o", path, "--model", "centroid"],
           ["predict", model, rows, "-o", path], ["predict", model, rows, "--include", path]] if inside else []),
    ])  # fmt: skip
    if any(b"\0" in word for word in command if isinstance(word, bytes)):
        return  # no shell can pass it
    check_command(case, command)


def odd_name(rng: Random) -> bytes:
    """A name that no well-meaning user gives a file."""
    made = [
        b"a\nb.jsonl", b"\xff\xfe.jsonl", b"\xed\xa0\x80.csv", b"x" * 255 + b".jsonl", b"x" * 5000, b"--help", b"-o",
        b" ", b"..",
        b".", b"", b"a\x1b[31m.jsonl", b"\r.jsonl", b"labels.jsonl", b"manifest.json", b"~", b"$(touch x).jsonl",
        b"'\"`.jsonl",
        b"/dev/null", b"/dev/zero", b"/dev/full", b"/proc/self/mem", b"/proc/self/environ", b"/proc/1/root",
        b"/etc/shadow",
        "\u202egnp.jsonl".encode(), "e\u0301.jsonl".encode(), b"a/b/c/d.jsonl", b"//", b"%s%n.jsonl", b"CON.jsonl",
        b".gz",
        b".jsonl", b"a.jsonl.gz.xz", b"a.unknown", b"{}.jsonl", b"*.jsonl", b"a\tb.jsonl", "\u2028.jsonl".encode(),
    ]  # fmt: skip
    return rng.choice(made)


def streams(case: Case) -> None:
    """Standard output that is closed, full or read by nobody, and standard input that is closed or holds anything."""
    model, rows = case.samples / "model", case.samples / "rows.jsonl" / "rows.jsonl"
    given = case.rng.choice([rows, rows, "-", "/dev/stdin"])
    command = case.rng.choice(
        [["predict", model, given], ["info", rows], ["evaluate", model, rows], ["--help"], ["info", model]]
    )
    output = case.rng.choice(["closed", "nobody", "/dev/full", "kept"])
    source = case.rng.choice(["closed", "/dev/null", "rows", "anything"])
    anything = case.folder / "anything"
    anything.write_bytes(mutations.spoilt(case.rng, rows.read_bytes()))

    def rearrange() -> None:
        if source == "closed":
            os.close(0)
        else:
            place = {"rows": rows, "anything": anything}.get(source, source)
            os.dup2(os.open(place, os.O_RDONLY), 0)
        if output == "closed":
            os.close(1)
        elif output == "nobody":
            reader, writer = os.pipe()
            os.dup2(writer, 1)
            os.close(reader)
            os.close(writer)
        elif output == "/dev/full":
            os.dup2(os.open(output, os.O_WRONLY), 1)

    try:
        ended = run_program(case, command, rearrange)
    except Failure as failure:
        raise Failure(failure.kind, f"{command[0]}, output {output}, input {source}: {failure.detail}") from None
    if "Traceback" in ended.err or "Exception ignored" in ended.err or len(ended.err.splitlines()) > 1:
        told = ascii(ended.err.strip()[-200:])
        raise Failure(MESSAGE, f"{command[0]}, output {output}, input {source}, status {ended.status}: {told}")
    # 1 is what programs end with whose output nobody reads, 120 what Python ends with where it cannot be flushed.
    if ended.status not in {0, 2} and not (ended.status in {1, 120} and output != "kept"):
        raise Failure(MESSAGE, f"{command[0]}, output {output}, input {source}: status {ended.status}")


def run_program(case: Case, command: list[Any], rearrange: Any) -> Any:
    """Runs the program in an interpreter of its own, whose streams are made from the descriptors there are."""
    import sys

    words = [sys.executable, "-W", "ignore", "-c", "from labelwood.cli import main; main()", *map(str, command)]

    def call() -> None:
        rearrange()
        os.execv(sys.executable, words)

    return run(case.folder, call, wait=30.0)


def pipes(case: Case) -> None:
    """Named pipes and folders where files are expected; an end must come."""
    names = ["rows.jsonl", "labels.jsonl", "model", "out.jsonl", "rows.csv.gz", "filter_test.txt"]
    place = case.folder / case.rng.choice(names)
    if case.rng.random() < 0.7:
        os.mkfifo(place)
    else:
        place.mkdir()
    sound = case.folder / "test.jsonl"
    shutil.copy(case.samples / "rows.jsonl" / "rows.jsonl", sound)
    model = case.samples / "model"
    command = case.rng.choice([
        ["evaluate", model, sound], ["train", sound, "-o", place], ["convert", sound, place], ["info", case.folder],
        ["predict", model, sound, "-o", place], ["info", place], ["predict", place, sound],
    ])  # fmt: skip
    try:
        check_command(case, command, wait=6.0)
    except Failure as failure:
        if not (failure.kind == HANG and place in command):  # who names a pipe waits for what comes through it
            raise


def warm(samples: Path) -> None:
    """Loads commands."""
    del samples
    warm_commands()


_SHARED: dict[str, Any] = {"group": "files", "prepare": file_samples.write_all, "warm": warm}
ATTACKS = [
    Attack(
        "command-arguments",
        "gives commands options and values that do not belong to them",
        arguments,
        500,
        15.0,
        **_SHARED,
    ),
    Attack("command-names", "names files with line ends, broken UTF-8, devices, options", names, 400, 15.0, **_SHARED),
    Attack("command-streams", "closes, fills and abandons standard input and output", streams, 60, 15.0, **_SHARED),
    Attack("command-pipes", "puts named pipes and folders where files belong", pipes, 60, 15.0, **_SHARED),
]
