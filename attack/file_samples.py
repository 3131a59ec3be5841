"""A small sound file of every format, each in a folder of its own with what belongs to it."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from dataclasses import replace
from pathlib import Path
from typing import Any

GROUPS = [{"id": "g", "rows": [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}], "labels": ["x", "x"]}] * 2


def zstd(data: bytes) -> bytes:
    import pyarrow as pa

    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(data)
    return out.getvalue().to_pybytes()


COMPRESS = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress, ".zst": zstd}
# The file to read in each folder.
NAMES = (
    "train.txt",
    "trn_X_Xf.txt",
    "trn.json",
    "X.trn.npz",
    "train_texts.txt",
    "rows.svm",
    "rows.fasttext",
    "rows.jsonl",
    "rows.csv",
    "rows.tsv",
    "rows.parquet",
    "rows.npz",
    "groups.jsonl",
)


def sound() -> dict[str, Any]:
    """The dataset in each file."""
    import numpy as np

    from labelwood.data import Dataset

    texts = Dataset.from_texts(["a dog", "a red rose", ""], [["animal"], ["plant", "garden"], []])
    numbers = replace(texts, texts=None, sparse=texts.Y)
    dense = replace(texts, texts=None, dense=np.ones((2, 3), np.float32), Y=texts.Y[:1][[0, 0]])
    two = replace(numbers, sparse=numbers.sparse[:2], Y=numbers.Y[:2])
    made = dict.fromkeys(("train.txt", "trn_X_Xf.txt", "X.trn.npz"), numbers) | {"rows.svm": two, "rows.npz": dense}
    return made | {name: texts for name in NAMES if name not in made and name != "groups.jsonl"}


def write_all(folder: Path) -> None:
    """Writes all of them."""
    import labelwood as lw

    for name, data in sound().items():
        (folder / name).mkdir()
        lw.write(data, folder / name / name)
    (folder / "groups.jsonl").mkdir()
    (folder / "groups.jsonl" / "groups.jsonl").write_text("".join(json.dumps(group) + "\n" for group in GROUPS))
    lw.TextClassifier(model="centroid").fit(["a dog", "a rose"], [["animal"], ["plant"]]).save(folder / "model")


def copied(folder: Path, target: Path) -> None:
    """Copies the files of one of the folders."""
    target.mkdir()
    for file in folder.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
