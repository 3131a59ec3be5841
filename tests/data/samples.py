"""Datasets made by hypothesis, and a comparison of two datasets."""

from __future__ import annotations

import bz2
import gzip
import lzma

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from scipy import sparse

from labelwood.data import Dataset, Groups
from labelwood.labels import LabelIndex

SUFFIXES = ("", ".gz", ".xz", ".bz2", ".zst")
TEXTS = st.text(max_size=12) | st.sampled_from(
    ["", "a\u2028b", "nul\0", "\ufeffbom", "l1\nl2\r\n", '"q", ;', "日本語 🙂"]
)
NAMES = st.text(min_size=1, max_size=6)
PLAIN_NAMES = st.text("abcxyz-é日", min_size=1, max_size=5)
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


def strings(values):
    return pa.array(values, pa.large_string())


def zstd(data: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(data)
    return out.getvalue().to_pybytes()


COMPRESS = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress, ".zst": zstd}


@st.composite
def matrices(draw, n_rows, n_cols, values=FLOATS):
    """A sparse matrix with a few entries, columns ascending."""
    rows = draw(st.lists(st.sets(st.integers(0, n_cols - 1), max_size=4), min_size=n_rows, max_size=n_rows))
    columns = [sorted(row) for row in rows]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in columns])]).astype(np.int64)
    indices = np.array([c for row in columns for c in row], np.int32)
    data = np.array([draw(values) for _ in indices], np.float32)
    return sparse.csr_array((data, indices, indptr), shape=(n_rows, n_cols))


@st.composite
def labelled(draw, names=NAMES, **parts):
    """A dataset of texts or numbers in which a row may have no labels."""
    index = LabelIndex(draw(st.lists(names, min_size=1, max_size=5, unique=True)))
    n_rows = parts.pop("n_rows", None) or draw(st.integers(1, 6))
    Y = draw(matrices(n_rows, len(index), st.just(1.0)))
    made = {name: draw(part(n_rows)) for name, part in parts.items()}
    return Dataset(Y=Y, labels=index, **made)


def text_rows(texts=TEXTS):
    return lambda n: st.lists(texts, min_size=n, max_size=n).map(strings)


def maybe_ids(n):
    return st.none() | st.lists(st.text(max_size=4), min_size=n, max_size=n).map(strings)


def numeric_rows(n):
    return matrices(n, 7)


@st.composite
def grouped(draw):
    """Groups of texts with the count of each label; a group may have no rows."""
    index = LabelIndex(draw(st.lists(NAMES, min_size=1, max_size=4, unique=True)))
    sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4).filter(any))
    Y = draw(matrices(len(sizes), len(index), st.sampled_from([1.0, 2.0, 3.0])))
    n_rows = sum(sizes)
    with_ids = draw(st.booleans())
    return Dataset(
        texts=draw(text_rows()(n_rows)),
        ids=strings([str(i) for i in range(n_rows)]) if with_ids else None,
        labels=index,
        groups=Groups(np.repeat(np.arange(len(sizes)), sizes), Y, strings(["g"] * len(sizes)) if with_ids else None),
    )


def names_of(Y, labels):
    """The labels of each row by name, with their values; ids do not matter."""
    rows = []
    for start, end in zip(Y.indptr[:-1], Y.indptr[1:], strict=True):
        rows.append({labels[int(j)]: float(v) for j, v in zip(Y.indices[start:end], Y.data[start:end], strict=True)})
    return rows


def listed(array):
    return None if array is None else array.to_pylist()


def assert_same(got: Dataset, wanted: Dataset, ids_of_labels: bool = False) -> None:
    """Asserts that both have the same rows with the same labels; with `ids_of_labels`, also the same label ids."""
    assert len(got) == len(wanted)
    assert listed(got.texts) == listed(wanted.texts)
    assert listed(got.ids) == listed(wanted.ids)
    for name in ("sparse", "label_features"):
        a, b = getattr(got, name), getattr(wanted, name)
        assert (a is None) == (b is None)
        if a is not None:
            assert a.shape == b.shape
            np.testing.assert_array_equal(a.indptr, b.indptr)
            np.testing.assert_array_equal(a.indices, b.indices)
            np.testing.assert_array_equal(a.data, b.data)
    assert (got.dense is None) == (wanted.dense is None)
    if got.dense is not None:
        np.testing.assert_array_equal(got.dense, wanted.dense)
    assert (got.Y is None) == (wanted.Y is None)
    if got.Y is not None:
        assert names_of(got.Y, got.labels) == names_of(wanted.Y, wanted.labels)
        assert got.Y.dtype == np.float32
    if ids_of_labels:
        assert got.labels == wanted.labels
        assert got.Y.shape == wanted.Y.shape
    assert (got.groups is None) == (wanted.groups is None)
    if got.groups is not None:
        assert got.groups.of_row.tolist() == wanted.groups.of_row.tolist()
        assert listed(got.groups.ids) == listed(wanted.groups.ids)
        assert names_of(got.groups.Y, got.labels) == names_of(wanted.groups.Y, wanted.labels)
