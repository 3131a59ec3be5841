"""Datasets: parts that fit together, alignment to another label index, joined pieces."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.data.samples import assert_same, grouped, labelled, listed, names_of, strings, text_rows

from labelwood.data import Dataset, Groups, read
from labelwood.data.dataset import from_names
from labelwood.data.joining import GrowingCsr, concat
from labelwood.errors import LabelwoodError
from labelwood.labels import LabelIndex


def test_parts_must_fit_together():
    with pytest.raises(LabelwoodError, match="texts has 1, dense has 2"):
        Dataset(texts=strings(["a"]), dense=np.ones((2, 1), np.float32))
    with pytest.raises(LabelwoodError, match="needs a name for each"):
        Dataset(Y=sparse.csr_array((1, 2)), labels=LabelIndex(["a"]))
    with pytest.raises(LabelwoodError, match="no rows"):
        _ = Dataset().X
    assert len(Dataset()) == 0


def test_labels_given_as_one_string_are_refused():
    with pytest.raises(LabelwoodError, match="'animal'; give a list"):
        Dataset.from_texts(["a dog"], ["animal"])
    with pytest.raises(LabelwoodError, match="different numbers of rows"):
        Dataset.from_texts(["a dog"], [])


@given(st.lists(st.lists(st.sampled_from("abcde"), max_size=4), max_size=5))
def test_names_become_a_matrix_of_ones(rows):
    index = LabelIndex()
    Y = from_names(rows, index)
    assert [set(row) for row in names_of(Y, index)] == [set(row) for row in rows]
    assert Y.has_sorted_indices
    assert set(Y.data) <= {1.0}


@settings(max_examples=50, deadline=None)
@given(
    data=labelled(texts=text_rows()) | grouped(),
    others=st.lists(st.text(min_size=1, max_size=2), max_size=4, unique=True),
)
def test_align_changes_ids_but_neither_names_nor_the_original(data, others):
    before = Dataset(**{name: getattr(data, name) for name in ("texts", "Y", "labels", "ids")}, groups=data.groups)
    kept = None if data.groups is None else data.groups.Y.toarray()
    aligned = data.align(LabelIndex(others))
    assert list(aligned.labels[: len(others)]) == others
    assert_same(aligned, data)
    assert_same(data, before)
    if kept is not None:
        assert (data.groups.Y.toarray() == kept).all()


def test_align_keeps_texts_and_filters():
    data = Dataset.from_texts(["x"], [["a", "b"]])
    data = Dataset(
        texts=data.texts, Y=data.Y, labels=data.labels, label_texts=strings(["A", "B"]), filters=np.array([[0, 0]])
    )
    aligned = data.align(LabelIndex(["b", "c"]))
    assert list(aligned.labels) == ["b", "c", "a"]
    assert listed(aligned.label_texts) == ["B", "", "A"]
    assert aligned.filters.tolist() == [[0, 2]]


def test_pieces_may_lack_labels_or_ids_anywhere():
    index = LabelIndex(["a", "b"])
    bare = Dataset(texts=strings(["x"]))
    full = Dataset(
        texts=strings(["y"]), Y=sparse.csr_array(np.array([[0, 1]], np.float32)), labels=index, ids=strings(["i"])
    )
    for order in ([bare, full, bare], [bare, full], [full, bare]):
        joined = concat(order)
        assert joined.labels is index
        assert joined.Y.shape == (len(order), 2)
        assert listed(joined.ids) == ["i" if piece is full else "" for piece in order]


def test_groups_are_joined_with_or_without_ids():
    Y = sparse.csr_array(np.array([[2.0]], np.float32))
    one = Dataset(texts=strings(["a", "b"]), labels=LabelIndex(["l"]), groups=Groups(np.array([0, 0]), Y))
    two = Dataset(texts=strings(["c"]), labels=one.labels, groups=Groups(np.array([0]), Y, strings(["g"])))
    joined = concat([one, two]).groups
    assert joined.of_row.tolist() == [0, 0, 1]
    assert listed(joined.ids) == ["", "g"]
    assert joined.Y.toarray().tolist() == [[2], [2]]


def test_growing_csr_accepts_64_bit_indices_growing_widths_and_missing_pieces():
    narrow = sparse.csr_array(np.array([[0, 1.0], [2, 0]], np.float32))
    wide = sparse.csr_array((np.ones(1), np.array([2], np.int64), np.array([0, 1], np.int64)), shape=(1, 3))
    grown = GrowingCsr()
    for piece, n_rows in ((narrow, 2), (None, 2), (wide, 1)):
        grown.append(piece, n_rows)
    assert grown.joined().toarray().tolist() == [[0, 1, 0], [2, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert grown.joined().indices.dtype == np.int32


def test_reading_never_holds_two_whole_copies(tmp_path, monkeypatch):
    from labelwood.data import source

    monkeypatch.setattr(source, "_BLOCK", 1 << 16)
    row = "0 " + " ".join(f"{i}:1" for i in range(100))
    n_rows = 20_000
    (tmp_path / "train.txt").write_text(f"{n_rows} 100 1\n" + f"{row}\n" * n_rows)
    tracemalloc.start()
    data = read(tmp_path / "train.txt")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The memory of the parser is not traced: only the joined copy is, and little more.
    assert data.sparse.nnz == 100 * n_rows
    assert data.sparse.indices.dtype == data.Y.indices.dtype == np.int32
    assert peak < 1.3 * 8 * data.sparse.nnz + (4 << 20)


def test_describe_counts_the_parts_of_a_dataset():
    data = Dataset.from_texts(["a", "b"], [["x", "y"], []])
    assert data.describe() == {
        "rows": 2,
        "texts": True,
        "labels": 2,
        "labels_used": 2,
        "labels_per_row": 1.0,
        "rows_without_labels": 1,
    }


def test_take_keeps_all_parts_of_the_rows():
    data = Dataset(
        texts=strings(["a", "b", "c"]),
        sparse=sparse.csr_array(np.diag([1.0, 2.0, 3.0])),
        dense=np.array([[1], [2], [3]], np.float32),
        Y=sparse.csr_array(np.eye(3)),
        labels=LabelIndex(["x", "y", "z"]),
        ids=strings(["1", "2", "3"]),
        filters=np.array([[0, 1], [2, 0], [2, 1]]),
    )
    taken = data.take([2, 1])
    assert taken.texts.to_pylist() == ["c", "b"]
    assert taken.ids.to_pylist() == ["3", "2"]
    assert taken.sparse.toarray().tolist() == [[0, 0, 3], [0, 2, 0]]
    assert taken.dense.tolist() == [[3], [2]]
    assert taken.Y.toarray().tolist() == [[0, 0, 1], [0, 1, 0]]
    assert list(taken.labels) == ["x", "y", "z"]
    assert taken.filters.tolist() == [[0, 0], [0, 1]]
    assert len(data) == 3


def test_take_refuses_rows_in_groups():
    groups = Groups(np.array([0, 0]), from_names([["x"]], LabelIndex()))
    with pytest.raises(LabelwoodError, match="labels are the group's"):
        Dataset(texts=strings(["a", "b"]), groups=groups, labels=LabelIndex(["x"])).take([0])
