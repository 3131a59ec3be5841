"""Files made to crash a reader or to fill the memory: small files that claim, or unpack to, very much data.

Each attack writes its files into a folder and says how reading must end: with an `InputError` that contains some words,
or (without words) with rows or an `InputError`. `run` reads the files in another process with a memory limit; it also
takes other seeds.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from tests.data.hostile_writers import (
    MEBI,
    PACK,
    archive,
    array,
    bomb,
    crowding_labels,
    crowding_words,
    many_keys,
    npy,
    overlapping_archive,
    plain,
    stretched,
    table,
    wide_dictionary,
    wide_window,
)

from labelwood.errors import InputError, LabelwoodError

SECONDS = 120


class Attack(NamedTuple):
    """One hostile input."""

    name: str
    write: Callable[[Path, random.Random], Path]  # writes the files into a folder and returns the path to read
    words: tuple[str, ...] = ()
    megabytes: int = 1536  # memory that reading may use
    is_quick: bool = True


class Outcome(NamedTuple):
    """The result of an attack."""

    error: str | None  # the error message; None if rows were read
    peak_megabytes: float
    crash: str | None  # any other result than rows or an InputError


ROW = b'{"text": "a dog", "labels": ["animal"]}\n'
LONG = b'{"text": "' + b" " * MEBI + b'"}\n'  # compresses best
DEEP = b"[" * 1_000_000 + b"]" * 1_000_000
BOMBS = [
    Attack(
        f"rows{suffix}", bomb("rows.jsonl", suffix, b"", LONG, 2048 * MEBI), ("max_ratio",), is_quick=suffix != ".bz2"
    )
    for suffix in PACK
] + [
    Attack(
        "csv.zst", bomb("rows.csv", ".zst", b"text,labels\n", b"a dog,animal\n" * 4096, 2048 * MEBI), ("max_ratio",)
    ),
    Attack("empty lines", bomb("rows.txt", ".zst", b"", b"\n", 2048 * MEBI), ("max_ratio",), 3072),
    Attack(
        "fasttext.xz", bomb("rows.fasttext", ".xz", b"", b"__label__a b\n", 2048 * MEBI), ("max_ratio",), 3072, False
    ),
    Attack("svmlight.zst", bomb("rows.svm", ".zst", b"", b"1 1:1\n", 2048 * MEBI), ("max_ratio",), 2048, False),
    Attack(
        "an archive in zst", bomb("x.npz", ".zst", b"PK\3\4", b"\0" * 64, 2048 * MEBI), ("max_ratio",), is_quick=False
    ),
    Attack("parquet in gz", bomb("x.parquet", ".gz", b"PAR1", b"\0" * 64, 2048 * MEBI), ("max_ratio",), is_quick=False),
    Attack("zst with a window of 2 GiB", wide_window, ("compression",)),
    Attack(
        "xz with a dictionary of 300 MiB",
        wide_dictionary,
        ("compression",),
        is_quick=False,
    ),
]
LINES = [
    Attack("a line without end", stretched("rows.jsonl", b'{"text": "', 1024 * MEBI), ("line 1", "max_line"), 2048),
    Attack("a text without end", stretched("rows.csv", b'text,labels\n"a', 1024 * MEBI), ("rows.csv",), 4096, False),
    Attack("a header without end", stretched("rows.csv", b"text,", 1024 * MEBI), ("rows.csv",), 2048),
    Attack("a name without end", stretched("train_texts.txt", b"a", 1024 * MEBI), ("max_line",), 2048, False),
]
CSV = [
    Attack("csv: a million columns", plain("a.csv", b"text," + b",".join(b"c%d" % i for i in range(10**6)) + b"\na\n")),
    Attack("csv: NULs", plain("a.csv", b"text,labels\n\0\0,\0\n" * 3)),
    Attack("csv: a quote that is never closed", plain("a.csv", b'text,labels\n"a,b\n' + b"a,b\n" * 2_000_000)),
    Attack("csv: rows of other widths", plain("a.csv", b"text,labels\na,b\na\na,b,c\n"), ("well-formed",)),
]
JSON = [
    Attack("json: deep lists as a text", plain("a.jsonl", ROW + b'{"text": ' + DEEP + b"}\n")),
    Attack("json: deep lists elsewhere", plain("a.jsonl", ROW + b'{"x": ' + DEEP + b', "text": "a"}\n')),
    Attack("json: deep from the first", plain("a.jsonl", b'{"labels": ' + DEEP + b"}\n")),
    Attack("json: deep objects", plain("a.jsonl", ROW + b'{"x":' * 500_000 + b"1" + b"}" * 500_000 + b"\n")),
    Attack("json: a huge number", plain("a.jsonl", b'{"text": "a", "labels": [1e999999999]}\n'), ("line 1",)),
    Attack("json: many digits", plain("a.jsonl", b'{"text": "a", "labels": [' + b"9" * 10**5 + b"]}\n"), ("line 1",)),
    Attack("json: many digits unread", plain("a.jsonl", b'{"x": ' + b"9" * 10**5 + b', "text": "a"}\n')),
    Attack("json: a huge key", plain("a.jsonl", b'{"' + b"k" * (32 * MEBI) + b'": 1, "text": "a"}\n')),
    Attack("json: many keys", many_keys),
    Attack("json: half a pair", plain("a.jsonl", b'{"text": "\\ud800", "labels": ["\\udfff"]}\n'), ("line 1",)),
]
PARQUET = [
    Attack(
        "parquet: a billion equal rows",
        table(
            "a.parquet",
            lambda: pa.table({"text": pa.DictionaryArray.from_arrays(np.zeros(3 * 10**8, np.int8), pa.array(["a"]))}),
            row_group_size=3 * 10**8,
        ),
        ("max_ratio",),
        is_quick=False,
    ),
    Attack(
        "parquet: a long text in each row",
        table(
            "a.parquet",
            lambda: pa.table({"text": pa.array(["a" * MEBI]).dictionary_encode().take(pa.array([0] * 60_000))}),
        ),
        ("max_ratio",),
    ),
    Attack(
        "parquet: a million labels in each row",
        table(
            "a.parquet",
            lambda: pa.table(
                {
                    "text": ["a"] * 20,
                    "labels": pa.LargeListArray.from_arrays(
                        np.arange(21) * 10**7, pa.nulls(2 * 10**8, pa.int8()).fill_null(1)
                    ),
                }
            ),
        ),
        ("max_ratio",),
        is_quick=False,
    ),
    Attack("parquet: no directory", plain("a.parquet", b"PAR1" + bytes(1000) + b"\xff\xff\xff\x7fPAR1"), ("Parquet",)),
]
ARRAYS = [
    Attack("npz: a bomb", archive("a.npz", 1024 * MEBI, x_train__npy=npy((1024, MEBI), b"", "|u1")), ("max_ratio",)),
    Attack("npz: a claim", archive("a.npz", x_train__npy=npy((2**40, 2), b"")), ("npz",)),
    Attack("npz: rows without features", archive("a.npz", x_train__npy=npy((2**40, 0), b"")), ("x_train",)),
    Attack("npz: objects", archive("a.npz", x_train__npy=npy((1, 1), b"cos\nsystem\n", "|O")), ("npz",)),
    Attack(
        "npz: columns first",
        archive("a.npz", x_train__npy=npy((2, 2), bytes(16), fortran=True), y_train__npy=array([0, 1])),
    ),
    Attack(
        "npz: a name that leads out", archive("a.npz", **{"../../x_train__npy": npy((1, 1), bytes(4))}), ("x_train",)
    ),
    Attack(
        "npz: a huge label", archive("a.npz", x_train__npy=array([[1.0]]), y_train__npy=array([2**40])), ("max_labels",)
    ),
    Attack("pecos: overlapping members", overlapping_archive, ("X.trn.npz",)),
] + [
    Attack(
        f"pecos: {name}",
        archive(
            "X.trn.npz",
            **(
                {
                    "format__npy": array(b"csr"),
                    "shape__npy": array([2, 2]),
                    "data__npy": array([1.0, 1.0]),
                    "indices__npy": array([0, 1], np.int32),
                    "indptr__npy": array([0, 1, 2], np.int32),
                }
                | changes
            ),
        ),
        ("X.trn.npz",),
    )
    for name, changes in {
        "a negative index": {"indices__npy": array([0, -1], np.int32)},
        "an index beyond": {"indices__npy": array([0, 2**31 - 1], np.int32)},
        "an end beyond": {"indptr__npy": array([0, 1, 2**31 - 1], np.int32)},
        "values too few": {"data__npy": array([1.0])},
        "indices in two dimensions": {"indices__npy": array([[0, 1]], np.int32)},
        "no shape": {"shape__npy": array([2])},
        "a negative shape": {"shape__npy": array([-2, 2])},
        "columns claimed": {"shape__npy": array([2, 2**31 - 2])},
        "rows claimed by csc": {"format__npy": array(b"csc"), "shape__npy": array([2**31 - 2, 2])},
        "rows claimed by coo": {
            "format__npy": array(b"coo"),
            "shape__npy": array([2**40, 2]),
            "row__npy": array([0, 1]),
            "col__npy": array([0, 1]),
        },
    }.items()
]
NUMBERS = [
    Attack("svmlight: a huge feature", plain("a.svm", b"0 2147483646:1\n"), ("max_features",)),
    Attack("svmlight: a huge label", plain("a.svm", b"99999999 1:1\n"), ("max_labels",)),
    Attack("xc: rows claimed", plain("a.txt", b"1000000000000 2 2\n0 0:1\n"), ("1000000000000 rows",)),
    Attack("xc: labels claimed", plain("a.txt", b"1 2 99999999\n0 0:1\n"), ("max_labels",)),
    Attack("xc: features claimed", plain("a.txt", b"1 2147483647 2\n0 0:1\n"), ("max_features",)),
    Attack(
        "xc-split: rows claimed", plain("trn_X_Xf.txt", b"1 2\n0:1\n", trn_X_Y__txt=b"1000000000000 2\n"), ("rows",)
    ),
]
BESIDE = [
    Attack(
        "a bomb of label names",
        plain("a.jsonl", ROW, label_names__txt=PACK[".zst"](b"a label of some length\n" * 10**5) * 2000),
        ("label_names.txt", "max_ratio"),
        3072,
        is_quick=False,
    ),
    Attack("deep labels", plain("a.jsonl", ROW, labels__jsonl=b'{"id": ' + DEEP + b"}\n"), ("labels.jsonl, line 1",)),
]
WORDS = [
    Attack("words that crowd a table", crowding_words),
    Attack("labels that crowd a table", crowding_labels),
]

GROUPS = {
    "bombs": BOMBS,
    "lines": LINES,
    "csv": CSV,
    "json": JSON,
    "parquet": PARQUET,
    "arrays": ARRAYS,
    "numbers": NUMBERS,
    "beside": BESIDE,
    "words": WORDS,
}


def run(attacks: list[Attack], folder: Path, seed: int = 0) -> list[Outcome]:
    """Writes the attacks, and reads them in one process that limits its memory for each.

    If an attack ends the process, a new process continues with the next attack.
    """
    places = []
    for number, attack in enumerate(attacks):
        (folder / str(number)).mkdir()
        path = attack.write(folder / str(number), random.Random(seed))
        places.append(json.dumps([str(path), attack.megabytes]))
    outcomes: list[Outcome] = []
    while len(outcomes) < len(places):
        outcomes += _answers(places[len(outcomes) :])
    return outcomes


def _answers(places: list[str]) -> list[Outcome]:
    command = [sys.executable, "-m", "tests.data.hostile_files", *places]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            out, err = child.communicate(timeout=SECONDS * len(places))
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            err = "it took too long"
    answers = [Outcome(**json.loads(line)) for line in out.splitlines()]
    if len(answers) < len(places):
        answers.append(Outcome(None, 0.0, f"status {child.returncode}: {err[-500:]}"))
    return answers


def _read_capped(path: str, megabytes: int) -> Outcome:
    import labelwood as lw

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + megabytes * MEBI, hard))
    error = crash = None
    try:
        data = lw.read(path)
        data.describe()
        if data.texts is not None:
            lw.TextVectorizer(n_threads=1).fit(data.texts)
    except InputError as e:
        error = str(e)
    except BaseException as e:
        if not (isinstance(e, LabelwoodError) and "empty vocabulary" in str(e)):
            crash = repr(e)[:500]
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, hard))
    return Outcome(error, _peak_megabytes(), crash)


def _peak_megabytes() -> float:
    """The peak memory of this process, without its parent's."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024


if __name__ == "__main__":
    for place in sys.argv[1:]:
        sys.stdout.write(json.dumps(_read_capped(*json.loads(place))._asdict()) + "\n")
        sys.stdout.flush()
