"""The same matrices for all contenders, made once and kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import labelwood as lw
from labelwood.data.source import Source

PARTS = ("X.trn", "Y.trn", "X.tst", "Y.tst")


def prepare(data: Path, cache: Path) -> Path:
    """A folder with the four matrices of `data`: itself if it holds them, else one in the cache."""
    if all((data / f"{part}.npz").exists() for part in PARTS):
        return data
    folder = cache / "data" / data.resolve().name
    mark = folder / "facts.json"
    if not mark.exists():
        folder.mkdir(parents=True, exist_ok=True)
        train, test = read_split(data, "train"), read_split(data, "test")
        X_trn, X_tst = features(train, test)
        Y_trn, Y_tst = labels(train, test)
        for part, M in zip(PARTS, (X_trn, Y_trn, X_tst, Y_tst), strict=True):
            save(folder, part, M)
        facts = {"rows": len(train), "test rows": len(test), "features": X_trn.shape[1], "labels": Y_trn.shape[1]}
        mark.write_text(json.dumps(facts))
    return folder


def read_split(data: Path, split: str) -> Any:
    """The rows of one split; where records have a title, it comes before the text, as rivals' figures have it."""
    path = split_file(data, split)
    with_title = b'"title":' in Source(path).head
    return lw.read(path, columns=lw.Columns(text=("title", "text")) if with_title else None)


def split_file(data: Path, split: str) -> Path:
    """`train.jsonl.xz`, `eurlex_train.txt.xz`: the only file of a folder named after the split."""
    found = [path for path in sorted(data.iterdir()) if split in path.name and "filter" not in path.name]
    if len(found) != 1:
        raise SystemExit(f"{data}: {len(found)} files are named after the split {split!r}, one is needed")
    return found[0]


def features(train: Any, test: Any) -> tuple[Any, Any]:
    """Numeric rows at unit norm, or tf-idf of the texts, learned from training rows."""
    if train.texts is None:
        return unit_rows(train.sparse), unit_rows(test.sparse)
    vectorizer = lw.TextVectorizer(min_token=1, min_df=2)
    return vectorizer.fit_transform(train.texts), vectorizer.transform(test.texts)


def labels(train: Any, test: Any) -> tuple[Any, Any]:
    """Labels with the same ids in both. Of a catalogue beside texts, those that no row has are left out."""
    aligned = test.align(train.labels)
    Y_trn, Y_tst = sparse.csr_matrix(train.Y), sparse.csr_matrix(aligned.Y)
    Y_trn.resize(Y_trn.shape[0], aligned.n_labels)
    Y_tst.resize(Y_tst.shape[0], aligned.n_labels)
    if train.texts is None:
        return Y_trn, Y_tst
    used = np.union1d(Y_trn.indices, Y_tst.indices)
    return Y_trn[:, used], Y_tst[:, used]


def unit_rows(X: Any) -> Any:
    """Rows divided by their length; rows of zeros stay."""
    X = sparse.csr_matrix(X, dtype=np.float32)
    X.eliminate_zeros()
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(norms, np.diff(X.indptr))
    return X


def save(folder: Path, part: str, M: Any) -> None:
    """Writes a matrix as the older scipy of some environments can read it: `csr_matrix`, 32-bit."""
    M = sparse.csr_matrix(M, dtype=np.float32)
    M.sort_indices()
    M.indices, M.indptr = M.indices.astype(np.int32), M.indptr.astype(np.int32)
    sparse.save_npz(folder / f"{part}.npz", M, compressed=False)
