"""CentroidClassifier and PIFA against slow, obvious versions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import labelwood as lw
from labelwood.arrays.rows import as_features, as_labels
from labelwood.labels import pifa
from labelwood.labels.representations import members_of, sparse_label_vectors


def slow_pifa(X, Y):
    sums = Y.T.astype(np.float64) @ X.astype(np.float64)
    lengths = np.sqrt((sums**2).sum(axis=1, keepdims=True))
    return np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, features, labels = (draw(st.integers(1, n)) for n in (30, 40, 100))
    X = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < draw(st.sampled_from([0.05, 0.3, 1.0])))
    return X.astype(np.float32), (rng.random((rows, labels)) < 0.1).astype(np.float32)


@given(problems())
def test_pifa_is_the_unit_length_sum_of_a_labels_rows(problem):
    X, Y = problem
    np.testing.assert_allclose(pifa(X, Y), slow_pifa(X, Y), atol=1e-5)
    np.testing.assert_allclose(pifa(sparse.csr_array(X), sparse.csr_array(Y)).toarray(), slow_pifa(X, Y), atol=1e-5)


@given(problems(), st.integers(1, 10))
def test_of_a_label_vector_the_largest_features_are_kept_and_brought_to_unit_length(problem, most):
    X, Y = problem
    rows, labels = as_features(sparse.csr_array(X)), as_labels(Y, len(X))
    found = sparse_label_vectors(rows, members_of(labels), most, 1).to_scipy().toarray()
    for vector, exact in zip(found, slow_pifa(X, Y), strict=True):
        kept = np.argsort(-np.abs(exact))[:most]
        length = np.sqrt((exact[kept] ** 2).sum())
        np.testing.assert_allclose(np.abs(vector[kept]), np.abs(exact[kept]) / max(length, 1e-30), atol=1e-5)
        assert np.count_nonzero(vector) <= most


@given(problems(), st.integers(1, 8))
def test_scores_are_inner_products_with_the_label_vectors(problem, k):
    X, Y = problem
    exact = X.astype(np.float64) @ slow_pifa(X, Y).T
    for rows in (X, sparse.csr_array(X)):
        top = lw.CentroidClassifier().fit(rows, Y).predict_topk(rows, k)
        for i in range(len(X)):
            real = top.ids[i] >= 0
            np.testing.assert_allclose(top.scores[i][real], exact[i, top.ids[i][real]], atol=1e-4)
            best = np.sort(exact[i])[::-1][: real.sum()]
            if not sparse.issparse(rows):
                np.testing.assert_allclose(top.scores[i][real], best, atol=1e-4)


def test_labels_without_a_common_feature_are_no_answers_for_sparse_rows():
    model = lw.CentroidClassifier().fit(sparse.eye_array(3, dtype=np.float32).tocsr(), np.eye(3))
    assert model.predict_topk(sparse.csr_array([[0.0, 2.0, 0.0]]), k=3).ids.tolist() == [[1, -1, -1]]


def test_dense_and_sparse_rows_mix():
    X, Y = np.eye(3, dtype=np.float32), np.eye(3)
    trained_sparse = lw.CentroidClassifier().fit(sparse.csr_array(X), Y)
    trained_dense = lw.CentroidClassifier().fit(X, Y)
    assert (
        trained_sparse.predict_topk(X, 1).ids.tolist()
        == trained_dense.predict_topk(sparse.csr_array(X), 1).ids.tolist()
    )


def test_a_hostile_state_is_refused(tmp_path):
    from dataclasses import replace

    from labelwood.errors import ModelError

    state = lw.CentroidClassifier().fit(sparse.eye_array(3, dtype=np.float32).tocsr(), np.eye(3)).state()
    arrays = dict(state.arrays)
    for name, wrong in {
        "indices": arrays["indices"] + 7,
        "indptr": arrays["indptr"][::-1].copy(),
        "values": arrays["values"][:1],
    }.items():
        with pytest.raises(ModelError):
            lw.CentroidClassifier.from_state(replace(state, arrays={**arrays, name: wrong}))
    with pytest.raises(ModelError):
        lw.CentroidClassifier.from_state(replace(state, fitted={**state.fitted, "n_labels": 2}))


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_dense_centroids_that_are_not_finite_are_refused(number):
    from dataclasses import replace

    from labelwood.errors import ModelError

    state = lw.CentroidClassifier().fit(np.eye(3, dtype=np.float32), np.eye(3)).state()
    wrong = replace(state, arrays={"centroids": np.where(np.eye(3) > 0, np.float32(number), np.float32(0))})
    with pytest.raises(ModelError, match="the centroids are not all finite numbers: save the model again"):
        lw.CentroidClassifier.from_state(replace(wrong, verify=True))


def test_very_large_values_do_not_overflow_the_sums():
    X = np.full((4, 2), 3e38, np.float32)
    assert pifa(X, np.ones((4, 1))).tolist() == pytest.approx(np.full((1, 2), 0.5**0.5))
    assert pifa(sparse.csr_array(X), np.ones((4, 1))).toarray() == pytest.approx(np.full((1, 2), 0.5**0.5))
