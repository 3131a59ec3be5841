"""Data that a format can hold is read back unchanged, in any compression, with the format detected."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.data.samples import (
    PLAIN_NAMES,
    SUFFIXES,
    TEXTS,
    assert_same,
    grouped,
    labelled,
    listed,
    matrices,
    maybe_ids,
    numeric_rows,
    strings,
    text_rows,
)

from labelwood.data import Dataset, read, read_batches, write
from labelwood.data.joining import concat
from labelwood.errors import LabelwoodError

quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NO_WHITE_SPACE = st.text(min_size=1, max_size=6).filter(lambda name: not re.search(r"[ \t\n\v\f\r\0]", name))
ONE_LINE = TEXTS.map(lambda t: t.replace("\n", " ").replace("\r", " ").removeprefix("\ufeff"))


def there_and_back(data, name, suffix, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / (name + suffix)
        write(data, path)
        got = read(path, **options)
        assert_same(concat(read_batches(path, **options)), got)
        return got


suffixes = st.sampled_from(SUFFIXES)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
@quick
@given(data=labelled(texts=text_rows(), ids=maybe_ids), suffix=suffixes)
def test_any_texts_and_names(name, data, suffix):
    assert_same(there_and_back(data, name, suffix), data)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
@quick
@given(data=grouped(), suffix=suffixes)
def test_groups(name, data, suffix):
    assert_same(there_and_back(data, name, suffix), data)


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv"])
@quick
@given(data=labelled(PLAIN_NAMES, texts=text_rows(), ids=maybe_ids), suffix=suffixes)
def test_delimited(name, data, suffix):
    assert_same(there_and_back(data, name, suffix), data)


@pytest.mark.parametrize("name", ["train_texts.txt", "train_raw_texts.txt"])
@quick
@given(data=labelled(PLAIN_NAMES, texts=text_rows(ONE_LINE)), suffix=suffixes)
def test_attentionxml(name, data, suffix):
    assume(any(listed(data.texts)) or len(data) > 1)
    assert_same(there_and_back(data, name, suffix), data)


@quick
@given(data=labelled(NO_WHITE_SPACE, texts=text_rows()), suffix=suffixes)
def test_fasttext_keeps_names_and_words(data, suffix):
    words = [re.sub(r"[ \t\n\v\f\r\0]+", " ", text).strip(" ") for text in listed(data.texts)]
    got = there_and_back(data, "rows.fasttext", suffix)
    assert_same(got, replace(data, texts=strings(words)))
    assert_same(there_and_back(got, "rows.fasttext", suffix), got, ids_of_labels=True)


@quick
@given(data=labelled(texts=text_rows(), ids=maybe_ids), suffix=suffixes)
def test_xc_json(data, suffix):
    got = there_and_back(data, "trn.json", suffix)
    numbered = strings([str(i) for i in range(len(data))])
    assert_same(got, data if data.ids is not None else replace(data, ids=numbered), ids_of_labels=True)


@pytest.mark.parametrize("name", ["train.txt", "trn_X_Xf.txt", "X.trn.npz"])
@quick
@given(data=labelled(sparse=numeric_rows), suffix=suffixes)
def test_numeric_formats_keep_names_and_numbers(name, data, suffix):
    assert_same(there_and_back(data, name, suffix), data, ids_of_labels=True)


@quick
@given(data=labelled(sparse=numeric_rows), suffix=suffixes)
def test_svmlight(data, suffix):
    empty = (np.diff(data.sparse.indptr) == 0) & (np.diff(data.Y.indptr) == 0)
    if empty.any():
        with pytest.raises(LabelwoodError, match=f"row {empty.argmax()} has neither"):
            there_and_back(data, "rows.svm", suffix)
        return
    got = there_and_back(data, "rows.svm", suffix)
    assume(data.sparse.nnz)
    width = data.sparse.indices.max() + 1
    assert_same(got, replace(data, sparse=data.sparse[:, :width]), ids_of_labels=False)
    assert got.sparse.shape[1] == width  # without a header, only the highest index gives the number of columns


@quick
@given(st.data(), suffixes)
def test_label_features_travel_with_the_split_format(draw, suffix):
    data = draw.draw(labelled(sparse=numeric_rows))
    features = draw.draw(matrices(data.n_labels, 3))
    got = there_and_back(replace(data, label_features=features), "trn_X_Xf.txt", suffix)
    assert_same(got, replace(data, label_features=features), ids_of_labels=True)


@quick
@given(st.data(), suffixes)
def test_dense_arrays(draw, suffix):
    X = np.array(
        draw.draw(st.lists(st.lists(st.floats(-9, 9, width=32), min_size=2, max_size=2), min_size=1, max_size=4))
    )
    labels = draw.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X)))
    data = replace(
        Dataset.from_texts([""] * len(X), [[f"n{i}"] for i in labels]), texts=None, dense=X.astype(np.float32)
    )
    assert_same(there_and_back(data, "rows.npz", suffix), data, ids_of_labels=True)


@pytest.mark.parametrize(
    "name", ["rows.jsonl", "rows.parquet", "rows.csv", "train_texts.txt", "trn.json", "a.fasttext"]
)
def test_label_texts_travel_beside_the_rows(name, tmp_path):
    data = replace(Dataset.from_texts(["a", "b"], [["x"], ["y", "x"]]), label_texts=strings(["the x", ""]))
    write(data, tmp_path / name)
    got = read(tmp_path / name)
    assert got.labels == data.labels
    assert listed(got.label_texts) == ["the x", ""]


@pytest.mark.parametrize("name", ["train.txt", "trn_X_Xf.txt", "X.trn.npz", "rows.svm"])
def test_64_bit_indices_are_written(name, tmp_path):
    data = Dataset.from_texts(["", ""], [["x"], ["y"]])
    wide = data.Y.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert wide.indices.dtype == np.int64
    data = replace(data, texts=None, sparse=wide, Y=wide)
    write(data, tmp_path / name)
    assert_same(read(tmp_path / name), data, ids_of_labels=True)


def test_labels_without_rows_and_rows_without_labels(tmp_path):
    data = Dataset.from_texts(["", "", ""], [[], ["used"], []])
    data.labels.add(["unused"])
    Y = data.Y
    data = replace(data, texts=None, sparse=Y)
    for name in ("train.txt", "trn_X_Xf.txt", "X.trn.npz"):
        folder = tmp_path / name
        folder.mkdir()
        write(data, folder / name)
        got = read(folder / name)
        assert list(got.labels) == ["used", "unused"]
        assert got.Y.toarray().tolist() == [[0, 0], [1, 0], [0, 0]]


def test_unlabelled_rows_stay_unlabelled(tmp_path):
    for name in ("a.jsonl", "a.csv", "a.parquet"):
        write(Dataset.from_texts(["one", "two"]), tmp_path / name)
        got = read(tmp_path / name)
        assert listed(got.texts) == ["one", "two"]
        assert got.Y is None
        assert got.labels is None
