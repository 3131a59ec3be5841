"""The formats of index:value pairs and of matrices: the input they accept, and the line that their errors name."""

from __future__ import annotations

import io

import numpy as np
import pytest
from scipy import sparse

from labelwood.data import read, read_batches, source
from labelwood.data.joining import concat
from labelwood.errors import InputError


def read_text(folder, text, name="train.txt", **options):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(folder / name, **options)


XC = "3 5 4\n2,0,2 4:1 1:0.5 4:2\n 3:-1e-3\n\n"


@pytest.mark.parametrize(
    "text", [XC, XC.replace("\n", "\r\n"), XC.removesuffix("\n") + " ", "\ufeff" + XC, XC + "\n\n \n"]
)
def test_unsorted_and_repeated_ids_blank_rows_marks_and_line_ends(text, tmp_path):
    data = read_text(tmp_path, text)
    assert data.sparse.toarray() == pytest.approx(np.array([[0, 0.5, 0, 0, 3], [0, 0, 0, -1e-3, 0], [0] * 5]))
    assert data.Y.toarray().tolist() == [[1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert data.sparse.has_sorted_indices
    assert list(data.labels) == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.txt", "4 9 3\n0,2 1:1 8:0.25\n\n1 7:1\n 2:3\n"),
        ("trn_X_Xf.txt", "4 9\n1:1 8:0.25\n\n7:1\n2:3\n"),
        ("rows.svm", "# comment\n0,2 1:1 8:0.25 # more\n\n1 qid:3 7:1\n 2:3\n5 0:1"),
    ],
)
def test_block_borders_at_every_place_change_nothing(name, text, tmp_path, monkeypatch):
    (tmp_path / "trn_X_Y.txt").write_text("4 3\n0:1\n\n2:1\n1:1 0:0\n")
    whole = read_text(tmp_path, text, name)
    for size in range(1, len(text) + 1):
        monkeypatch.setattr(source, "_BLOCK", size)
        for got in (read(tmp_path / name), concat(read_batches(tmp_path / name))):
            assert (got.sparse != whole.sparse).nnz == 0
            assert (got.Y != whole.Y).nnz == 0
            assert got.labels == whole.labels


def test_more_chunks_than_one_are_joined(tmp_path):
    rows = [f"{i % 7} {i % 1000}:{i % 13 + 1}" for i in range(60_000)]
    data = read_text(tmp_path, f"{len(rows)} 1000 7\n" + "\n".join(rows))
    assert data.sparse.shape == (60_000, 1000)
    assert data.sparse.indices.tolist() == [i % 1000 for i in range(60_000)]
    assert data.Y.indices.tolist() == [i % 7 for i in range(60_000)]


def test_a_huge_line_takes_linear_time(tmp_path):
    text = "1 2000000 1\n0 " + " ".join(f"{i}:1" for i in range(2_000_000))
    assert read_text(tmp_path, text).sparse.nnz == 2_000_000


def test_a_row_with_only_a_label_is_not_taken_for_an_empty_end(tmp_path):
    with pytest.raises(InputError, match="line 1: the header says 1 rows but 2 follow"):
        read_text(tmp_path, "1 2 2\n0 0:1\n1\n")
    assert read_text(tmp_path, "2 2 2\n0 0:1\n1\n").Y.toarray().tolist() == [[1, 0], [0, 1]]


def test_a_header_alone_gives_no_rows(tmp_path):
    for text in ("0 5 3", "0 5 3\n"):
        data = read_text(tmp_path, text)
        assert data.sparse.shape == (0, 5)
        assert data.Y.shape == (0, 3)
    assert read_text(tmp_path, "0 5\n", "trn_X_Xf.txt").sparse.shape == (0, 5)


BAD_ROWS = [
    ("4 0:1", "label 4 is out of range: ids run from 0 to 3"),
    ("-1 0:1", "label -1 is negative"),
    ("1,x 0:1", "'x' is not a whole number"),
    ("1 5:1", "feature 5 is out of range: ids run from 0 to 4"),
    ("1 -5:1", "feature -5 is negative"),
    ("1 2:nan", "not a finite"),
    ("1 2:-inf", "not a finite"),
    ("1 2:1e39", "not a finite"),
    ("1 2:3e38 2:3e38", "adds up to no finite"),
    ("1 2:abc", "is not a number"),
    ("1 2", "feature:value"),
    ("1 99999999999999999999:1", "feature:value"),
    ("1 2:1\0", "is not a number"),
]


@pytest.mark.parametrize(("row", "words"), BAD_ROWS)
@pytest.mark.parametrize("size", [10, 1 << 20])
def test_the_line_at_fault_is_named(row, words, size, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_BLOCK", size)
    with pytest.raises(InputError, match=r"train.txt, line 4: ") as caught:
        read_text(tmp_path, f"4 5 4\n0 0:1\n\n{row}\n1 1:1\n")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "header",
    ["2 x 4", "2 5", "2 5 4 1", "2 -5 4", "--2 5 4", "2 5 " + "9" * 5000, "2 99999999999 4", "2 5 999999999", "２ 5 4"],
)
def test_a_header_without_counts_is_named(header, tmp_path):
    with pytest.raises(InputError, match=r"train.txt, line 1: "):
        read_text(tmp_path, f"{header}\n0 0:1\n1 1:1\n", format="xc")


@pytest.mark.parametrize("n_rows", [0, 1, 3, 10**17])
def test_a_header_with_a_wrong_number_of_rows_is_an_error(n_rows, tmp_path):
    with pytest.raises(InputError, match=f"line 1: the header says {n_rows} rows but 2 follow"):
        read_text(tmp_path, f"{n_rows} 5 4\n0 0:1\n1 1:1\n")
    (tmp_path / "trn_X_Y.txt").write_text(f"{n_rows} 1\n" + "0:1\n" * min(n_rows, 9))
    with pytest.raises(InputError, match="rows"):
        read_text(tmp_path, f"{n_rows} 5\n0:1\n1:1\n", "trn_X_Xf.txt")


def test_split_files_that_do_not_belong_together(tmp_path):
    (tmp_path / "trn_X_Y.txt").write_text("3 2\n0:1\n\n\n")
    with pytest.raises(InputError, match=r"trn_X_Y.txt, line 1: has 3 rows where .*trn_X_Xf.txt has 2"):
        read_text(tmp_path, "2 2\n0:1\n1:1\n", "trn_X_Xf.txt")
    (tmp_path / "trn_X_Y.txt").write_text("2 2\n0:1\n2:1\n")
    with pytest.raises(InputError, match=r"trn_X_Y.txt, line 3: feature 2 is out of range"):
        read_text(tmp_path, "2 2\n0:1\n1:1\n", "trn_X_Xf.txt")
    (tmp_path / "trn_X_Y.txt").write_text("2 2\n0:1\n1:1\n")
    (tmp_path / "lbl_X_Xf.txt").write_text("1 9\n0:1\n")
    with pytest.raises(InputError, match=r"lbl_X_Xf.txt, line 1: has 1 rows where there are 2 labels"):
        read_text(tmp_path, "2 2\n0:1\n1:1\n", "trn_X_Xf.txt")


def test_svmlight_numbers_and_catalogue(tmp_path):
    data = read_text(tmp_path, "1.0,3 1:1\n\n", "a.svm")
    assert data.Y.toarray().tolist() == [[0, 1, 0, 1]]
    (tmp_path / "label_names.txt").write_text("a\nb\nc\nd\ne\n")
    assert list(read(tmp_path / "a.svm").labels) == list("abcde")
    with pytest.raises(InputError, match=r"a.svm, line 2: label 5 is out of range"):
        read_text(tmp_path, "1 1:1\n5 1:1\n", "a.svm")
    assert read_text(tmp_path, "# only a comment\n", "a.svm").sparse.shape[0] == 0


def npz(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def saved(matrix):
    stream = io.BytesIO()
    sparse.save_npz(stream, matrix)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_stored_zeros_are_dropped_from_labels_and_kept_in_features(kind, tmp_path):
    Y = sparse.csr_matrix(([5.0, 0.0], ([0, 1], [1, 0])), shape=(2, 2)).asformat(kind)
    (tmp_path / "Y.trn.npz").write_bytes(saved(Y))
    data = read_text(tmp_path, saved(sparse.csr_matrix(np.eye(2)).asformat(kind)), "X.trn.npz")
    assert data.Y.toarray().tolist() == [[0, 1], [0, 0]]
    assert data.Y.nnz == 1
    assert data.sparse.dtype == np.float32


def test_pecos_labels_lie_beside_or_above_with_names(tmp_path):
    folder = tmp_path / "tfidf"
    folder.mkdir()
    (tmp_path / "Y.trn.npz").write_bytes(saved(sparse.csr_matrix(np.eye(2))))
    assert read_text(folder, saved(sparse.csr_matrix(np.eye(2))), "X.trn.npz").n_labels == 2
    (folder / "output-items.txt").write_text("first\nsecond\n")
    assert list(read(folder).labels) == ["first", "second"]


PARTS = {
    "format": np.array(b"csr"),
    "shape": np.array([2, 2]),
    "data": np.ones(2, np.float32),
    "indices": np.array([0, 1], np.int32),
    "indptr": np.array([0, 1, 2], np.int32),
}


@pytest.mark.parametrize(
    "changes",
    [
        {"indices": np.array([0, 2])},
        {"indices": np.array([0, -1])},
        {"indices": np.array([0, 2]), "format": np.array(b"csc")},
        {"indptr": np.array([0, 2, 1])},
        {"indptr": np.array([0, 2, 1]), "format": np.array(b"csc")},
        {"indptr": np.array([0, 1])},
        {"data": np.array([1.0, np.nan])},
        {"data": np.array([1.0, 1e300])},
        {"data": np.array([1j, 1])},
        {"data": np.array([None, {}], object)},
        {"shape": np.array([2, 2, 2])},
        {"format": np.array(b"lil")},
    ],
)
def test_unsound_matrices_are_refused(changes, tmp_path):
    with pytest.raises(InputError, match=r"X.trn.npz: "):
        read_text(tmp_path, npz(**(PARTS | changes)), "X.trn.npz")


def test_matrices_that_do_not_belong_together(tmp_path):
    (tmp_path / "Y.trn.npz").write_bytes(saved(sparse.csr_matrix(np.eye(3))))
    with pytest.raises(InputError, match=r"Y.trn.npz: has 3 rows where .*X.trn.npz has 2"):
        read_text(tmp_path, saved(sparse.csr_matrix(np.eye(2))), "X.trn.npz")


def test_arrays_of_any_shape_and_split(tmp_path):
    arrays = {
        "x_train": np.zeros((2, 2, 3), np.uint8),
        "y_train": np.array([0, 1]),
        "x_test": np.ones((1, 6)),
        "y_test": [4],
    }
    data = read_text(tmp_path, npz(**arrays), "set.npz")
    assert (data.dense.shape, data.dense.dtype, data.n_labels) == ((2, 6), np.float32, 5)
    assert read(tmp_path, split="test").Y.toarray().tolist() == [[0, 0, 0, 0, 1]]
    empty = read_text(tmp_path, npz(x_train=np.zeros((0, 4)), y_train=np.zeros(0, int)), "set.npz")
    assert empty.dense.shape == (0, 4)


@pytest.mark.parametrize(
    "arrays",
    [
        {"x_train": np.array([["a"]])},
        {"x_train": np.array([[None]], object)},
        {"x_train": np.array([[np.inf]])},
        {"x_train": np.array([[1e300]])},
        {"x_train": np.ones(3)},
        {"x_test": np.ones((1, 1))},
        {"x_train": np.ones((1, 1)), "y_train": np.array([-1])},
        {"x_train": np.ones((1, 1)), "y_train": np.array([0.5])},
        {"x_train": np.ones((1, 1)), "y_train": np.array([1, 2])},
        {"x_train": np.ones((1, 1)), "y_train": np.array([2**40])},
    ],
)
def test_unsound_arrays_are_refused(arrays, tmp_path):
    with pytest.raises(InputError, match=r"set.npz: "):
        read_text(tmp_path, npz(**arrays), "set.npz")


def test_a_single_array_is_not_an_archive(tmp_path):
    stream = io.BytesIO()
    np.save(stream, np.ones(3))
    with pytest.raises(InputError, match="single array"):
        read_text(tmp_path, stream.getvalue(), "set.npz", format="arrays")
