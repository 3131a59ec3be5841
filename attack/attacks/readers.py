"""Files of every format: bytes changed, structure changed, packed, and handed to the commands."""

from __future__ import annotations

import io
import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from attack import file_samples, hostile_arrays, mutations
from attack.commands import check_command, warm_commands
from attack.protocol import WRONG, Attack, Case, Failure

# What formats give a meaning to, so that changes get past the first check.
PIECES = [
    b"-1",
    b"999999999999",
    b"nan",
    b":",
    b",",
    b"\n",
    b"\r",
    b'"',
    b"null",
    b"[",
    b"]",
    b"{}",
    b"\xff",
    b"\0",
    b" ",
]
PIECES += [
    b"1e99",
    b"#",
    b"__label__",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    b"\\u0000",
    b"\\ud800",
    b"0x1",
    b"1_0",
    b"+1",
    b"\t",
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {},
    {},
    {"split": "test"},
    {"format": "jsonl"},
    {"format": "csv"},
    {"format": "xc"},
]


def edited(rng: Random, data: bytes) -> bytes:
    """Bytes with pieces put in, lines repeated, swapped or joined."""
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        at = rng.randrange(len(data) + 1)
        way = rng.randrange(6)
        if way < 3:
            data = data[:at] + rng.choice(PIECES) + data[at + rng.choice([0, 0, 1, 4]) :]
        elif way == 3:
            data = data[:at] + data[at + rng.choice([1, 2, 30]) :]
        elif way == 4:
            lines = data.split(b"\n")
            rng.shuffle(lines)
            data = rng.choice([b"\n", b"\r\n", b"\r", b"\n\n"]).join(lines)
        else:
            data = mutations.spoilt(rng, data)
    return data


def spoilt_bytes(case: Case) -> None:
    """One file of a format with other bytes."""
    name = case.rng.choice(file_samples.NAMES)
    file_samples.copied(case.samples / name, case.folder / "data")
    file = case.rng.choice(sorted((case.folder / "data").iterdir()))
    file.write_bytes(edited(case.rng, file.read_bytes()))
    check_reading(case, case.folder / "data" / name)


def spoilt_structure(case: Case) -> None:
    """A file that is sound as JSON, as Parquet or as a table, and holds what does not belong there."""
    make = case.rng.choice([_json_lines, _parquet, _arrays, _sparse_text, _table])
    path = make(case.rng, case.folder)
    check_reading(case, path)


def packed(case: Case) -> None:
    """A packed file with other bytes, cut short, or of another packing than its name says."""
    name = case.rng.choice(["rows.csv", "rows.jsonl", "train.txt", "rows.svm", "rows.parquet"])
    inner = (case.samples / name / name).read_bytes()
    suffix = case.rng.choice(sorted(file_samples.COMPRESS))
    data = file_samples.COMPRESS[suffix](edited(case.rng, inner) if case.rng.random() < 0.3 else inner)
    if case.rng.random() < 0.3:
        data += case.rng.choice([data, b"\0" * 100, b"rest", data[: len(data) // 2]])
    if case.rng.random() < 0.7:
        data = mutations.spoilt(case.rng, data)
    path = case.folder / (name + case.rng.choice([suffix, suffix, suffix, "", *file_samples.COMPRESS]))
    path.write_bytes(data)
    check_reading(case, path)


def beside(case: Case) -> None:
    """A catalogue, a filter or label names of any content next to sound rows."""
    (case.folder / "test.jsonl").write_text('{"text": "a", "labels": ["x"]}\n{"text": "b", "labels": ["y"]}\n')
    good = {
        "labels.jsonl": b'{"id": "x", "text": "ex"}\n{"id": "y", "text": "why"}\n',
        "label_names.txt": b"x\ny\n",
        "filter_test.txt": b"0 0\n1 1\n",
    }
    for name in case.rng.sample(sorted(good), case.rng.choice([1, 2])):
        (case.folder / name).write_bytes(edited(case.rng, good[name]))
    check_reading(case, case.folder / "test.jsonl")


def by_command(case: Case) -> None:
    """The same files on the command line."""
    name = case.rng.choice(file_samples.NAMES)
    file_samples.copied(case.samples / name, case.folder / "data")
    file = case.rng.choice(sorted((case.folder / "data").iterdir()))
    file.write_bytes(edited(case.rng, file.read_bytes()))
    model, path, out = case.samples / "model", case.folder / "data" / name, case.folder / "out"
    command = case.rng.choice([
        ["convert", path, f"{out}.jsonl"],
        ["convert", path, f"{out}.txt"],
        ["convert", path, f"{out}.parquet"],
        ["info", path],
        ["evaluate", model, path],
        ["predict", model, path],
        ["predict", model, path, "-o", f"{out}.jsonl"],
        ["train", path, "-o", out, "--model", "centroid"],
        ["train", path, "-o", out, "--model", "tree"],
        ["impute", path, "-o", f"{out}.jsonl"],
    ])  # fmt: skip
    before = {file: file.read_bytes() for file in path.parent.iterdir()}
    check_command(case, command)
    if {file: file.read_bytes() for file in path.parent.iterdir()} != before:
        raise Failure(WRONG, f"{command[0]} changed the files that it read")


def check_reading(case: Case, path: Path) -> None:
    """Reads a file at once and in pieces; what was read must be whole, and the same after it was written."""
    import labelwood as lw

    options = case.rng.choice(OPTIONS)
    data = lw.read(path, **options)
    check_dataset(data)
    if "format" not in options and case.rng.random() < 0.3:
        pieces = list(lw.read_batches(path, **options))
        if sum(map(len, pieces)) != len(data):
            raise Failure(WRONG, "the pieces have another number of rows than the whole")
    if data.groups is None and data.texts is not None:
        place = case.folder / "again" / "rows.jsonl"
        place.parent.mkdir()
        lw.write(data, place)
        again = lw.read(place)
        if again.texts.to_pylist() != data.texts.to_pylist() or labels_of(again) != labels_of(data):
            raise Failure(WRONG, "what was read is not the same after it was written as JSON lines")


def check_dataset(data: Any) -> None:
    """A dataset whose parts fit each other."""
    data.describe()
    for name in ("sparse", "Y", "label_features"):
        matrix = getattr(data, name)
        if matrix is not None:
            matrix.check_format(full_check=True)
            if not np.isfinite(matrix.data).all():
                raise Failure(WRONG, f"{name} holds NaN or infinity")
    if data.texts is not None:
        data.texts.validate(full=True)
    if data.Y is not None and data.Y.shape[1] > len(data.labels):
        raise Failure(WRONG, "there are labels without a name")


def labels_of(data: Any) -> list[set[str]]:
    """The names of each row's labels."""
    if data.Y is None or data.Y.nnz == 0:
        return [set()] * len(data)
    names = list(data.labels)
    return [{names[i] for i in data.Y.indices[a:b]} for a, b in zip(data.Y.indptr[:-1], data.Y.indptr[1:], strict=True)]


def _json_lines(rng: Random, folder: Path) -> Path:
    rows = [{"id": "r1", "text": "a dog", "labels": ["x", "y"]}, {"id": 2, "text": "b", "labels": ["y"]}]
    if rng.random() < 0.3:
        rows = json.loads(json.dumps(file_samples.GROUPS))
    for _ in range(rng.choice([1, 2, 3])):
        holder, key = rng.choice(list(mutations.leaves(rows)))
        holder[key] = mutations.value(rng, holder[key], ["x", "text", "labels"])
    if not all(isinstance(row, dict) for row in rows) or rng.random() < 0.2:
        rows = [*rows, rng.choice([None, [], 3, {"text": None}, {"labels": []}, {"text": "a", "labels": {"x": 2.5}}])]
    path = folder / "rows.jsonl"
    path.write_bytes("\n".join(json.dumps(row) for row in rows).encode() + b"\n")
    return path


def _parquet(rng: Random, folder: Path) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    texts: list[Any] = [
        ["a", "b"], ["a", None], [b"\xff", b"a"], [1, 2], [[["a"]], [["b"]]], ["", "x" * 10_000], [1.5, np.nan],
    ]  # fmt: skip
    labels: list[Any] = [
        [["x"], ["y"]], [None, ["x"]], [[None], ["x"]], ["x;y", ""], [[1], [2]], [[1.5], [2.0]], [{"a": 1}, {"a": 2}],
        [[["x"]], [["y"]]], [[-1], [2**40]], [b"\xff", b"x"], [True, False],
    ]  # fmt: skip
    table = pa.table({"text": rng.choice(texts), "labels": rng.choice(labels)})
    for _ in range(rng.choice([0, 0, 1])):
        table = table.append_column(rng.choice(["id", "text", "group", "labels"]), pa.array([1, None]))
    if rng.random() < 0.3:
        table = (
            table.slice(0, 0) if rng.random() < 0.5 else pa.table({"text": pa.array(["a", "b"]).dictionary_encode()})
        )
    path = folder / "rows.parquet"
    parquet.write_table(table, path, compression=rng.choice(["none", "snappy", "gzip", "zstd"]), row_group_size=1)
    if rng.random() < 0.4:
        path.write_bytes(mutations.spoilt(rng, path.read_bytes()))
    return path


def _arrays(rng: Random, folder: Path) -> Path:
    """npz files, of arrays and of scipy's matrices, with hostile parts."""
    if rng.random() < 0.5:
        parts: dict[str, Any] = {
            "format": np.array(b"csr"),
            "shape": np.array([3, 3]),
            "data": np.ones(3, np.float32),
            "indices": np.array([0, 1, 2], np.int32),
            "indptr": np.array([0, 1, 2, 3], np.int32),
        }
        name = "X.trn.npz"
        (folder / "Y.trn.npz").write_bytes(_npz(parts))
    else:
        parts = {"x_train": np.ones((3, 2), np.float32), "y_train": np.eye(3, dtype=np.float32)}
        name = "rows.npz"
    key = rng.choice(sorted(parts))
    if rng.random() < 0.2:
        parts[key] = rng.choice(
            [np.array(b"csc"), np.array([2**40, 2**40]), np.array("x"), hostile_arrays.resized(rng, np.arange(4))]
        )
    elif parts[key].dtype.kind in "iuf":
        parts[key] = mutations.array(rng, parts[key])
    else:
        parts.pop(key)
    path = folder / name
    path.write_bytes(mutations.spoilt(rng, _npz(parts)) if rng.random() < 0.2 else _npz(parts))
    return path


def _npz(parts: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **parts)
    return stream.getvalue()


def _sparse_text(rng: Random, folder: Path) -> Path:
    """Lines of labels and features with numbers at the limits."""
    numbers = [
        "0",
        "1",
        "2",
        "-1",
        "2147483647",
        "2147483648",
        "99999999999999999999",
        "1.5",
        "nan",
        "",
        "00",
        "1e3",
        "+1",
    ]
    lines = []
    for _ in range(rng.choice([1, 2, 3])):
        labels = ",".join(
            rng.choice(numbers[:3] if rng.random() < 0.7 else numbers) for _ in range(rng.choice([0, 1, 2]))
        )
        pairs = [
            f"{rng.choice(numbers[:3] if rng.random() < 0.7 else numbers)}:{rng.choice(['1', '0.5', *numbers])}"
            for _ in range(rng.choice([0, 1, 3]))
        ]
        lines.append(" ".join([labels, *pairs]))
    if rng.random() < 0.6:
        lines.insert(
            0, " ".join(rng.choice([str(len(lines)), "3", *numbers]) for _ in range(rng.choice([2, 3, 3, 3, 4])))
        )
    path = folder / rng.choice(["train.txt", "rows.svm", "trn_X_Xf.txt"])
    path.write_text("\n".join(lines) + rng.choice(["\n", "", "\r\n"]))
    return path


def _table(rng: Random, folder: Path) -> Path:
    """CSV with odd quotes, columns and separators."""
    cells = [
        "a",
        "",
        '"a"',
        '"a\nb"',
        '"a""b"',
        "a;b",
        '"',
        "a,b",
        "\u2028",
        "\x00",
        "é",
        "1",
        "nan",
        "\ufeff",
        " a ",
        "[]",
        '["x"]',
    ]
    heads = [
        "text,labels",
        "id,text,labels",
        "text",
        "text,text",
        "",
        "labels,text,labels",
        '"text","labels"',
        "\ufefftext,labels",
    ]
    lines = [rng.choice(heads)] + [
        ",".join(rng.choice(cells) for _ in range(rng.choice([1, 2, 2, 3]))) for _ in range(3)
    ]
    path = folder / rng.choice(["rows.csv", "rows.tsv"])
    path.write_bytes(
        rng.choice(["\n", "\r\n", "\r"])
        .join(lines)
        .encode(rng.choice(["utf-8", "utf-8", "latin-1", "utf-16"]), "replace")
    )
    return path


def warm(samples: Path) -> None:
    """Loads what readers need."""
    import labelwood as lw

    warm_commands()
    for name in file_samples.NAMES:
        lw.read(samples / name / name)


_SHARED: dict[str, Any] = {"native": True, "group": "files", "prepare": file_samples.write_all, "warm": warm}
ATTACKS = [
    Attack("readers-bytes", "reads files of every format with other bytes", spoilt_bytes, 4000, 25.0, **_SHARED),
    Attack(
        "readers-structure",
        "reads sound files that hold what does not belong there",
        spoilt_structure,
        4000,
        25.0,
        **_SHARED,
    ),
    Attack("readers-packed", "reads packed files that are damaged, cut or joined", packed, 1500, 12.0, **_SHARED),
    Attack(
        "readers-beside", "reads hostile catalogues, names and filters beside sound rows", beside, 1000, 10.0, **_SHARED
    ),
    Attack(
        "readers-commands",
        "converts, trains, evaluates and predicts from damaged files",
        by_command,
        800,
        20.0,
        **_SHARED,
    ),
]
