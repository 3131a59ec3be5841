"""What models over features promise for dense rows and every container; `test_every_kind.py` has what all promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.errors import LabelwoodError, NotFittedError, ParameterError


def same(a, b):
    return np.array_equal(a.ids, b.ids) and np.array_equal(a.scores, b.scores)


def test_answers_are_sorted_unique_and_of_the_right_shape(make, data):
    X, Y = data
    top = make().fit(X, Y).predict_topk(X, k=7)
    assert top.ids.shape == top.scores.shape == (X.shape[0], 7)
    assert top.ids.dtype == np.int32
    assert top.scores.dtype == np.float32
    real = top.ids >= 0
    assert (top.ids < Y.shape[1]).all()
    assert (np.diff(np.where(real, top.scores, -np.inf), axis=1)[real[:, 1:]] <= 0).all()
    assert np.isneginf(top.scores[~real]).all()
    for ids in top.ids:
        kept = ids[ids >= 0]
        assert len(set(kept)) == len(kept)
        assert (ids[len(kept) :] == -1).all(), "padding comes last"


def test_it_learns_more_than_popularity(make, data):
    X, Y = data
    model = make().fit(X, Y)
    popular = np.asarray(Y.sum(axis=0)).ravel().max() / Y.shape[0]
    assert model.score(X, Y) > popular + 0.1


def test_one_row_many_rows_and_any_chunking_give_the_same_answer(make, data):
    X, Y = data
    model = make().fit(X, Y)
    whole = model.predict_topk(X, k=5)
    for step in (1, 7, 64):
        for start in range(0, 128, step):
            part = model.predict_topk(X[start : start + step], k=5)
            assert np.array_equal(part.ids, whole.ids[start : start + step])
            assert np.array_equal(part.scores, whole.scores[start : start + step])


def test_native_rows_give_the_answer_of_sparse_rows(make):
    texts = [f"common w{i % 7} w{i % 5} w{i * i % 11}" for i in range(60)] + [""]
    Y = sparse.csr_array(np.eye(7, dtype=np.float32)[np.arange(61) % 7])
    vectorizer = lw.TextVectorizer()
    X = vectorizer.fit_transform(texts)
    model = make().fit(X, Y)
    n_features = X.shape[1]
    for some in ([], texts[:1], texts[-1:], texts):
        rows = vectorizer.native_rows(some, n_features)
        for limits in ({}, {"exclude": [0, 3]}, {"min_score": 0.1}):
            for k in (1, 5, 9):
                expected = model.predict_topk(vectorizer.transform(some), k, **limits)
                assert same(model.predict_topk(rows, k, **limits), expected)
    with pytest.raises(LabelwoodError, match=f"X has {n_features + 1} features, but"):
        model.predict_topk(vectorizer.native_rows(["w1"], n_features + 1))


def test_a_smaller_k_gives_the_beginning_of_a_larger_one(make, data):
    X, Y = data
    model = make().fit(X, Y)
    many = model.predict_topk(X, k=10)
    few = model.predict_topk(X, k=3)
    assert np.array_equal(few.ids, many.ids[:, :3])


def test_permuted_labels_give_permuted_answers(make, data):
    X, Y = data
    order = np.random.default_rng(1).permutation(Y.shape[1])
    plain = make().fit(X, Y).predict_topk(X, k=3)
    permuted = make().fit(X, Y[:, order]).predict_topk(X, k=3)
    assert np.array_equal(permuted.scores, plain.scores)
    for ids, other_ids, scores in zip(plain.ids, permuted.ids, plain.scores, strict=True):
        # Labels that score the same may stand in another order, and at the end another one of them.
        above = scores > scores[-1]
        assert set(ids[above]) == set(order[other_ids[above]])


def test_empty_rows_and_labels_without_rows_are_fine(make):
    X = sparse.csr_array(np.array([[1.0, 0], [0, 1], [0, 0], [1, 1]], np.float32))
    Y = sparse.csr_array(np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 0]], np.float32))
    model = make().fit(X, Y)
    top = model.predict_topk(sparse.csr_array((3, 2), dtype=np.float32), k=2)
    assert top.ids.shape == (3, 2)
    assert np.array_equal(top.ids[0], top.ids[2])
    assert model.predict_topk(X[:0], k=2).ids.shape == (0, 2)


def test_one_row_one_feature_one_label_are_enough(make):
    model = make().fit(np.ones((1, 1)), np.ones((1, 1)))
    assert model.predict_topk(np.ones((2, 1)), k=1).ids.tolist() == [[0], [0]]


def test_read_only_and_memory_mapped_input_is_left_alone(make, tmp_path):
    from tests.contract.conftest import generated

    X, Y = generated()
    expected = make().fit(X, Y).predict_topk(X, k=5)
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(X, name))
    arrays = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("data", "indices", "indptr")]
    mapped = sparse.csr_array(tuple(arrays), shape=X.shape)
    for part in (mapped.data, mapped.indices, Y.data, Y.indices, Y.indptr):
        part.flags.writeable = False
    assert same(make().fit(mapped, Y).predict_topk(mapped, k=5), expected)
    dense = X.toarray()
    dense.flags.writeable = False
    assert make().fit(dense, Y).predict_topk(dense, k=5).ids.shape == (X.shape[0], 5)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_array])
def test_every_sparse_container_gives_the_same_answer(make, container):
    from tests.contract.conftest import generated

    X, Y = generated()
    expected = make().fit(X, Y).predict_topk(X, k=5)
    assert same(make().fit(container(X), container(Y)).predict_topk(container(X), k=5), expected)


def test_64_bit_indices_unsorted_columns_and_duplicates_give_the_same_answer(make):
    from tests.contract.conftest import generated

    X, Y = generated()
    expected = make().fit(X, Y).predict_topk(X, k=5)
    wide = sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    assert same(make().fit(wide, Y).predict_topk(wide, k=5), expected)
    backwards = X.copy()
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        backwards.indices[start:end] = X.indices[start:end][::-1]
        backwards.data[start:end] = X.data[start:end][::-1]
    backwards.has_sorted_indices = backwards.has_canonical_format = False
    assert same(make().fit(backwards, Y).predict_topk(backwards, k=5), expected)


def test_values_of_y_other_than_zero_all_mean_the_same(make, data):
    X, Y = data
    weighted = Y * 3.0
    boolean = Y.astype(bool)
    expected = make().fit(X, Y).predict_topk(X, k=5)
    assert same(make().fit(X, weighted).predict_topk(X, k=5), expected)
    assert same(make().fit(X, boolean).predict_topk(X, k=5), expected)


def test_same_seed_same_bytes_for_any_number_of_threads(make, data, tmp_path):
    X, Y = data
    saved = []
    for n_threads in (1, 2, 8):
        model = make(n_threads=n_threads).fit(X, Y)
        model.save(tmp_path / str(n_threads))
        files = sorted((tmp_path / str(n_threads)).iterdir())
        saved.append({file.name: file.read_bytes() for file in files})
        assert same(model.predict_topk(X, k=5), make(n_threads=1).fit(X, Y).predict_topk(X, k=5))
    assert saved[0] == saved[1] == saved[2]


@pytest.mark.parametrize("verify", [True, False])
def test_save_and_load_give_identical_answers(make, data, tmp_path, verify):
    X, Y = data
    model = make().fit(X, Y)
    model.save(tmp_path / "model")
    loaded = lw.load(tmp_path / "model", verify=verify)
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert (loaded.n_labels_, loaded.n_features_in_) == (model.n_labels_, model.n_features_in_)
    assert same(loaded.predict_topk(X, k=5), model.predict_topk(X, k=5))
    loaded.save(tmp_path / "again")
    assert {f.name: f.read_bytes() for f in (tmp_path / "model").iterdir()} == {
        f.name: f.read_bytes() for f in (tmp_path / "again").iterdir()
    }


def test_predict_marks_the_best_labels(make, data):
    X, Y = data
    model = make().fit(X, Y)
    marks = model.predict(X, k=2)
    top = model.predict_topk(X, k=2)
    assert sparse.issparse(marks)
    assert marks.shape == Y.shape
    assert [sorted(ids[ids >= 0]) for ids in top.ids] == [
        marks.indices[a:b].tolist() for a, b in zip(marks.indptr[:-1], marks.indptr[1:], strict=True)
    ]
    assert model.predict(X).sum() / X.shape[0] <= round(Y.sum() / Y.shape[0])


def test_training_again_forgets_what_was_learned_before(make, data):
    X, Y = data
    model = make().fit(X[:, :10], Y[:, :5])
    assert same(model.fit(X, Y).predict_topk(X, 5), make().fit(X, Y).predict_topk(X, 5))


def test_answers_keep_within_limits(make, data):
    X, Y = data
    model = make().fit(X, Y)
    every = model.predict_topk(X, k=40)
    include = [3, 5, 8, 20]
    some = model.predict_topk(X, k=4, include=include)
    assert np.isin(some.ids[some.ids >= 0], include).all()
    for row, ids in zip(every.ids, some.ids, strict=True):
        kept = row[np.isin(row, include)]
        assert np.array_equal(kept, ids[: len(kept)])
    assert not np.isin(model.predict_topk(X, k=30, exclude=include).ids, include).any()
    assert (model.predict_topk(X, k=2, include=[7], exclude=[7]).ids == -1).all()
    lowest = float(np.median(every.scores[every.ids >= 0]))
    high = model.predict_topk(X, k=40, min_score=lowest)
    assert (high.scores[high.ids >= 0] >= lowest * (1 - 1e-5)).all()
    assert 0 < (high.ids >= 0).sum() < (every.ids >= 0).sum()
    for wrong in ([40], [-1], [0.5], ["a"]):
        with pytest.raises(ParameterError, match="label ids from 0 to 39"):
            model.predict_topk(X, include=wrong)
    with pytest.raises(ParameterError, match="min_score"):
        model.predict_topk(X, min_score=float("nan"))


def test_rows_that_count_more_are_like_rows_that_are_there_more_often(make, data):
    X, Y = data
    more, times = np.arange(50), 8
    weights = np.ones(X.shape[0])
    weights[more] = times
    rows = np.concatenate([np.arange(X.shape[0]), np.repeat(more, times - 1)])

    def scores(model):
        return model.predict_topk(X[more], k=Y.shape[1]).to_scipy(Y.shape[1]).toarray()

    often = scores(make().fit(X[rows], Y[rows]))
    weighted = scores(make().fit(X, Y, row_weights=weights))
    plain = scores(make().fit(X, Y))
    assert abs(weighted - often).mean() < 0.75 * abs(plain - often).mean()
    for wrong in (weights[:-1], -weights, weights * np.nan, np.zeros(len(weights))):
        with pytest.raises(ParameterError, match="row_weights"):
            make().fit(X, Y, row_weights=wrong)


def test_wrong_input_gets_a_sentence(make):
    model = make()
    with pytest.raises(NotFittedError, match="call fit first"):
        model.predict_topk(np.eye(2))
    with pytest.raises(NotFittedError, match="call fit first"):
        model.save("never-written")
    for bad, words in [
        ((np.eye(3), np.eye(2)), "Y has 2 rows and X has 3"),
        ((np.eye(3)[:0], np.eye(3)[:0]), "at least one row"),
        ((np.full((2, 2), np.nan), np.eye(2)), "NaN or infinity"),
        ((sparse.csr_array([[np.inf]]), np.ones((1, 1))), "NaN or infinity"),
        ((np.array(["a text"]), np.ones((1, 1))), "TextClassifier"),
        ((np.ones(3), np.eye(3)), "two"),
        ((np.eye(2), np.zeros((2, 0))), "at least one label"),
        ((np.eye(2) * 1j, np.eye(2)), "Complex data not supported"),
        ((np.eye(2), None), "Y is missing"),
    ]:
        with pytest.raises(LabelwoodError, match=words):
            model.fit(*bad)
    with pytest.raises(LabelwoodError, match=r"X has 2 features, but .* is expecting 3 features"):
        model.fit(np.eye(3), np.eye(3)).predict_topk(np.eye(2))
