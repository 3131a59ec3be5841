"""Small files that become large: packed ones, numbers that claim much, deep nesting, words that meet in one place."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from attack.attacks.readers import check_dataset
from attack.file_samples import COMPRESS
from attack.protocol import Attack, Case, MiB

_PIECE, _TIMES = 16 * MiB, 192  # 3 GiB
# What is packed: one endless line, rows that are sound, empty lines, and zeros.
_INSIDE = {
    "line": b"x",
    "csv": b"text,labels\n",
    "jsonl": b'{"text": "a dog", "labels": ["animal"]}\n',
    "lines": b"\n",
    "zeros": b"\0",
    "numbers": b"0 0:1\n",
}
_NAMES = ("rows.csv", "rows.jsonl", "train.txt", "rows.svm", "rows.parquet", "labels.jsonl", "rows.fasttext")
_HUGE = (2**31 - 2, 2**31 - 1, 2**30, 10**8, 2**31, 2**40, 2**62)


def pack(folder: Path) -> None:
    """Makes the bombs. Every packing allows files that follow each other, so that one piece is packed once."""
    for what, line in _INSIDE.items():
        piece = (line * (_PIECE // len(line) + 1))[:_PIECE] if len(line) == 1 else line * (_PIECE // len(line))
        for suffix, compress in COMPRESS.items():
            packed = compress(piece)
            (folder / f"{what}{suffix}").write_bytes(packed * _TIMES)
    (folder / "arrays.npz").write_bytes(_zipped_zeros())
    _write_runs(folder / "runs.parquet")


def _zipped_zeros() -> bytes:
    """npz: a matrix of 2 GiB of zeros."""
    import numpy as np

    out, header = io.BytesIO(), io.BytesIO()
    rows = 1 << 21
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (rows, 256)})
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name in ("x_train.npy", "y_train.npy"):
            with file.open(name, "w", force_zip64=True) as entry:
                entry.write(header.getvalue())
                for _ in range(rows * 1024 // _PIECE if name[0] == "x" else 1):
                    entry.write(bytes(_PIECE))
    return out.getvalue()


def _write_runs(path: Path) -> None:
    """Parquet: a few kilobytes of runs that stand for 400 million equal rows."""
    import pyarrow as pa
    from pyarrow import parquet

    text = pa.array(["a dog"] * (1 << 21)).dictionary_encode()
    table = pa.table({"text": text, "labels": text})
    with parquet.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for _ in range(200):
            writer.write_table(table, row_group_size=1 << 21)


def packed(case: Case) -> None:
    """Reads a packed bomb under some name."""
    files = sorted(file for file in case.samples.iterdir() if not file.name.startswith("."))
    file = files[case.number % len(files)]
    if file.suffix in COMPRESS:
        name = case.rng.choice(_NAMES) + case.rng.choice([file.suffix, file.suffix, ""])
    else:
        name = file.name
    target = case.folder / name
    target.symlink_to(file)
    if name.startswith("labels"):
        (case.folder / "rows.jsonl").write_text('{"text": "a", "labels": ["x"]}\n')
        target = case.folder / "rows.jsonl"
    _use(case, target)


def claims(case: Case) -> None:
    """Reads a few bytes that claim huge counts and ids, and learns from them."""
    claim = case.rng.choice(CLAIMS)
    path = claim(case.rng, case.folder, case.rng.choice(_HUGE))
    _use(case, path)


def nested(case: Case) -> None:
    """Reads what is nested deeply, or has very many keys, columns or labels."""
    n = case.rng.choice([100, 1000, 10_000, 100_000, 1_000_000])
    texts: list[tuple[str, Callable[[], str]]] = [
        ("rows.jsonl", lambda: "[" * n),
        ("rows.jsonl", lambda: '{"text":' * n),
        ("rows.jsonl", lambda: '{"text": "a", "labels": ' + "[" * n + "]" * n + "}"),
        ("rows.jsonl", lambda: '{"text": "a", "more": ' + '{"a":' * n + "1" + "}" * n + "}"),
        ("rows.jsonl", lambda: '{"text": "a", ' + ", ".join(f'"k{i}": 1' for i in range(n)) + "}"),
        ("rows.jsonl", lambda: json.dumps({"text": "a", "labels": [f"l{i}" for i in range(n)]})),
        ("rows.jsonl", lambda: '{"text": "a", "labels": [' + "9" * n + "]}"),
        ("trn.json", lambda: '{"uid": "1", "content": "a", "target_ind": [' + "0," * n + "0]}"),
        ("rows.csv", lambda: "text,labels\n" + '"' * n),
        ("rows.csv", lambda: ",".join(f"c{i}" for i in range(n)) + "\n" + "," * (n - 1) + "\n"),
        ("rows.csv", lambda: "text,labels\na," + ";" * n),
        ("rows.svm", lambda: "1" + " 1:1" * n),
        ("rows.svm", lambda: ",".join(["1"] * n) + " 1:1"),
        ("rows.svm", lambda: "1 1:0." + "9" * n),
        ("train.txt", lambda: "9" * n + " 1 1\n0 0:1\n"),
        ("rows.fasttext", lambda: "__label__a " * n),
    ]
    name, make = case.rng.choice(texts)
    (case.folder / name).write_text(make())
    _use(case, case.folder / name)


def _use(case: Case, path: Path) -> None:
    import labelwood as lw

    data = lw.read(path)
    check_dataset(data)
    if data.Y is not None and data.Y.nnz and case.rng.random() < 0.7:
        kind = case.rng.choice(["centroid", "tree", "one-vs-rest", "softmax-tree"])
        lw.TextClassifier(model=kind, n_threads=1).fit_dataset(data)


def _svmlight(rng: Random, folder: Path, n: int) -> Path:
    """Nineteen bytes."""
    path = folder / "rows.svm"
    path.write_text(rng.choice([f"1 {n}:1\n", f"{n} 1:1\n", f"{n},{n - 1} 1:1\n", f"1 1:1\n1 {n}:1\n"]))
    return path


def _header(rng: Random, folder: Path, n: int) -> Path:
    path = folder / rng.choice(["train.txt", "trn_X_Xf.txt"])
    path.write_text(
        rng.choice([f"1 {n} 2\n0 0:1\n", f"1 2 {n}\n0 0:1\n", f"{n} 2 2\n0 0:1\n", f"1 {n} {n}\n{n - 1} {n - 1}:1\n"])
    )
    return path


def _label_numbers(rng: Random, folder: Path, n: int) -> Path:
    path = folder / rng.choice(["rows.jsonl", "trn.json"])
    key, text = ("labels", "text") if path.name == "rows.jsonl" else ("target_ind", "content")
    path.write_text(json.dumps({"uid": "1", text: "a dog", key: [n]}) + "\n")
    return path


def _npy_header(rng: Random, folder: Path, n: int) -> Path:
    """An array that is said to be huge, with nothing behind its header."""
    import numpy as np

    path = folder / "rows.npz"
    with zipfile.ZipFile(path, "w") as file:
        for name in ("x_train.npy", "y_train.npy"):
            header = io.BytesIO()
            shape = rng.choice([(n, 1), (1, n), (2, 2)])
            np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": shape})
            file.writestr(name, header.getvalue() + bytes(16))
    return path


def _sparse_npz(rng: Random, folder: Path, n: int) -> Path:
    """Matrices with huge shapes and hardly an entry."""
    import numpy as np

    for letter in "XY":
        shape = rng.choice([[1, n], [1, n], [n, 1], [1, 2]])
        stream = io.BytesIO()
        parts = {"format": np.array(b"csr"), "shape": np.array(shape), "data": np.ones(1, np.float32)}
        parts |= {"indices": np.array([min(shape[1] - 1, 2**31 - 1)], np.int32), "indptr": np.array([0, 1], np.int32)}
        np.savez(stream, **parts)
        (folder / f"{letter}.trn.npz").write_bytes(stream.getvalue())
    return folder / "X.trn.npz"


def _filter(rng: Random, folder: Path, n: int) -> Path:
    (folder / "test.jsonl").write_text('{"text": "a", "labels": ["x"]}\n')
    (folder / "filter_test.txt").write_text(rng.choice([f"0 {n}\n", f"{n} 0\n", f"{n} {n}\n"]))
    return folder / "test.jsonl"


CLAIMS = [_svmlight, _svmlight, _header, _header, _label_numbers, _npy_header, _sparse_npz, _filter]


def warm(samples: Path) -> None:
    """Loads what reading and learning need."""
    import labelwood as lw

    del samples
    data = lw.Dataset.from_texts(["a dog", "a rose"], [["x"], ["y"]])
    for kind in ("centroid", "tree", "one-vs-rest", "softmax-tree"):
        lw.TextClassifier(model=kind, n_threads=1).fit_dataset(data)


_SMALL: dict[str, Any] = {"native": True, "warm": warm, "group": "claims", "memory": 256 * MiB}
ATTACKS = [
    Attack(
        "bombs-packed",
        "reads kilobytes that unpack to gigabytes",
        packed,
        40,
        30.0,
        8,
        group="bombs",
        prepare=pack,
        warm=warm,
        memory=768 * MiB,  # content of 500 times a file's size is read, and takes several times as much in memory
    ),
    Attack(
        "bombs-claims", "reads and learns from a few bytes that claim huge counts and ids", claims, 500, 12.0, **_SMALL
    ),
    Attack(
        "bombs-nested",
        "reads what is nested deeply or very long",
        nested,
        200,
        12.0,
        **(_SMALL | {"memory": 512 * MiB}),
    ),
]
