"""Files made to crash a reader or to fill the memory: small ones that claim, or unpack to, a great deal.

Each attack writes what it needs into a folder and says what reading it must come to: an `InputError` that holds some
words, or (no words) either rows or an `InputError`. `run` reads them in a process of their own under a cap of memory; a
harness can call it with other seeds.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import random
import resource
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from labelwood.errors import InputError, LabelwoodError

MEBI = 1 << 20
SECONDS = 120


class Attack(NamedTuple):
    """One hostile input."""

    name: str
    write: Callable[[Path, random.Random], Path]  # makes the files in a folder; returns what is to be read
    words: tuple[str, ...] = ()
    megabytes: int = 1536  # that reading it may take
    is_quick: bool = True


class Outcome(NamedTuple):
    """What became of an attack."""

    error: str | None  # the sentence; None where rows were read
    peak_megabytes: float
    crash: str | None  # anything but rows or an InputError


def zstd(data: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(data)
    return out.getvalue().to_pybytes()


PACK = {".gz": lambda data: gzip.compress(data, 9), ".xz": lzma.compress, ".bz2": bz2.compress, ".zst": zstd}


def bomb(name: str, suffix: str, head: bytes, row: bytes, n_bytes: int) -> Callable[[Path, random.Random], Path]:
    """A file of many compressed parts, each of the same rows."""

    def write(folder: Path, _: random.Random) -> Path:
        part = row * (8 * MEBI // len(row))
        packed, path = PACK[suffix](part), folder / (name + suffix)
        path.write_bytes(PACK[suffix](head + part) + packed * (n_bytes // len(part)))
        return path

    return write


def plain(name: str, content: bytes, **beside: bytes) -> Callable[[Path, random.Random], Path]:
    """A file, with others beside it (dots in their names written as double underscores)."""

    def write(folder: Path, _: random.Random) -> Path:
        for other, data in beside.items():
            (folder / other.replace("__", ".")).write_bytes(data)
        (folder / name).write_bytes(content)
        return folder / name

    return write


def stretched(name: str, start: bytes, n_bytes: int) -> Callable[[Path, random.Random], Path]:
    """A file that goes on with NULs, which take no room on the disk."""

    def write(folder: Path, _: random.Random) -> Path:
        path = folder / name
        path.write_bytes(start)
        os.truncate(path, n_bytes)
        return path

    return write


def table(name: str, make: Callable[[], Any], **how: Any) -> Callable[[Path, random.Random], Path]:
    """A Parquet file."""

    def write(folder: Path, _: random.Random) -> Path:
        pq.write_table(make(), folder / name, **({"compression": "zstd"} | how))
        return folder / name

    return write


def archive(name: str, zeros: int = 0, **members: bytes) -> Callable[[Path, random.Random], Path]:
    """A zip archive of these members, compressed, the first followed by zeros."""

    def write(folder: Path, _: random.Random) -> Path:
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
            for number, (member, data) in enumerate(members.items()):
                with out.open(member.replace("__", "."), "w") as stream:
                    stream.write(data)
                    for _ in range(0 if number else zeros // MEBI):
                        stream.write(bytes(MEBI))
        return folder / name

    return write


def npy(shape: tuple[int, ...], content: bytes, dtype: str = "<f4", fortran: bool = False) -> bytes:
    """An array's file that claims a shape."""
    header = repr({"descr": dtype, "fortran_order": fortran, "shape": shape}).encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def array(values: Any, dtype: Any = None) -> bytes:
    out = io.BytesIO()
    np.save(out, np.asarray(values, dtype))
    return out.getvalue()


def overlapping_archive(folder: Path, _: random.Random) -> Path:
    """All entries of the directory lead to one member's bytes."""
    path = archive("X.trn.npz", 64 * MEBI, data__npy=npy((64 * MEBI,), b"", "|u1"))(folder, random.Random(0))
    whole = path.read_bytes()
    directory = whole.rindex(b"PK\x01\x02")
    entry, end = whole[directory : whole.rindex(b"PK\x05\x06")], bytearray(whole[whole.rindex(b"PK\x05\x06") :])
    entries = [entry.replace(b"data.npy", b"dat%d.npy" % i) for i in range(10)] * 10
    struct.pack_into("<HHI", end, 8, len(entries), len(entries), sum(map(len, entries)))
    path.write_bytes(whole[:directory] + b"".join(entries) + end)
    return path


def many_keys(folder: Path, seed: random.Random) -> Path:
    path = folder / "rows.jsonl"
    record = {f"k{seed.randrange(10**9)}": i for i in range(200_000)} | {"text": "a", "labels": ["b"]}
    path.write_text(json.dumps(record) + "\n")
    return path


def crowding_words(folder: Path, seed: random.Random) -> Path:
    """Words that a hash of two fixed factors sends to one place of a table; a text each of them."""
    letters = np.random.default_rng(seed.randrange(2**32)).integers(97, 123, (2, 1 << 17, 8), np.uint8)
    first, last = letters.view("<u8")[..., 0]
    wanted = np.uint64(0x123456789ABCDEF0) - first * np.uint64(0xC2B2AE3D27D4EB4E)
    products = last * np.uint64(0x9E3779B97F4A7C15)
    order = np.argsort(products)
    begin = np.searchsorted(products[order], wanted)
    end = np.searchsorted(products[order], wanted + np.uint64(1 << 46))
    words = [
        (first[i].tobytes() + last[order[j]].tobytes()).decode()
        for i in range(len(first))
        for j in range(begin[i], end[i])
    ]
    path = folder / "words.txt"
    path.write_text(" ".join(words) + "\n")
    return path


def crowding_labels(folder: Path, seed: random.Random) -> Path:
    """Names of labels that have one and the same hash in an Arrow dictionary."""
    rng, path = np.random.default_rng(seed.randrange(2**32)), folder / "rows.jsonl"
    inverse = np.uint64(pow(14029467366897019727, -1, 2**64))
    names: list[str] = []
    while len(names) < 100_000:
        last = rng.integers(97, 123, (1 << 20, 8), np.uint8).view("<u8").ravel()
        of_last = (last * np.uint64(11400714785074694791)).byteswap()
        first = ((of_last ^ np.uint64(0x123456789ABCDEF0)).byteswap() * inverse).view(np.uint8).reshape(-1, 8)
        written = ((first >= 32) & (first < 127)).all(axis=1)
        whole = np.hstack([first[written], last[written].view(np.uint8).reshape(-1, 8)])
        names += [row.tobytes().decode() for row in whole]
    path.write_text(json.dumps({"text": "a dog", "labels": names}) + "\n")
    return path


def wide_dictionary(folder: Path, _: random.Random) -> Path:
    """The same as xz."""
    dictionary = {"id": lzma.FILTER_LZMA2, "dict_size": 300 * MEBI, "mode": lzma.MODE_FAST, "mf": lzma.MF_HC3}
    path = folder / "rows.txt.xz"
    path.write_bytes(lzma.compress(b"hello", filters=[dictionary]))
    return path


def wide_window(folder: Path, _: random.Random) -> Path:
    """A zstd frame of five bytes that wants 2 GiB to be unpacked in."""
    path = folder / "rows.txt.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd\x00" + bytes([21 << 3]) + b"\x29\0\0hello")
    return path


ROW = b'{"text": "a dog", "labels": ["animal"]}\n'
LONG = b'{"text": "' + b" " * MEBI + b'"}\n'  # what compresses best
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
    """Writes and reads attacks, all in one process that may take no more memory for each than it allows.

    Where one of them ends the process, a new one goes on after it.
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
    command = [sys.executable, __file__, *places]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
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
    """Of this process, not of the one that started it."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024


if __name__ == "__main__":
    for place in sys.argv[1:]:
        sys.stdout.write(json.dumps(_read_capped(*json.loads(place))._asdict()) + "\n")
        sys.stdout.flush()
