"""Compares Eagle with a slow and simple version of the published method, and tests its other features."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import labelwood as lw
from labelwood.errors import LabelwoodError, NotFittedError, ParameterError
from labelwood.groups import baseline_labels, merged_labels, random_groups
from labelwood.groups.grouped import GroupedLabels
from labelwood.labels import pifa


def unit(vector):
    length = np.sqrt((vector**2).sum(axis=-1, keepdims=True))
    return np.divide(vector, length, out=np.zeros_like(vector), where=length > 0)


def nearest(X, rows, e):
    """The nearest row, and its margin to the next one."""
    cosines = X[rows] @ e
    ordered = np.sort(cosines)
    return rows[np.argmax(cosines)], np.inf if len(rows) == 1 else ordered[-1] - ordered[-2]


def slow_label(X, members, weights, iterations, step):
    """Algorithm 1 of the paper for one label, whose groups have the rows `members`.

    Returns the vector, the rows that get the label, and the smallest margin between a nearest row and the next.
    """
    e = unit(sum(w * X[rows].sum(axis=0) for rows, w in zip(members, weights, strict=True)))
    margins = [np.inf]
    for t in range(iterations + 1):
        picked, apart = zip(*(nearest(X, rows, e) for rows in members), strict=True)
        margins.extend(apart)
        if t < iterations:
            e = unit(e + step * unit(np.array(weights) @ X[list(picked)]))
    return e, sorted(set(picked)), min(margins)


@st.composite
def problems(draw, overlap=True):
    """Rows of some classes with noise, in groups that may overlap, with counts of labels."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_groups, n_labels, n_features = draw(st.integers(1, 12)), draw(st.integers(1, 8)), draw(st.integers(2, 30))
    n_rows = draw(st.integers(n_groups, 50))
    groups = np.zeros((n_rows, n_groups))
    groups[np.arange(n_rows), np.r_[np.arange(n_groups), rng.integers(n_groups, size=n_rows - n_groups)]] = 1
    if overlap and draw(st.booleans()):
        groups[rng.random(groups.shape) < 0.1] = 1
    X = rng.gamma(0.5, size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < draw(st.sampled_from([0.3, 1])))
    return X.astype(np.float32), groups, rng.poisson(0.6, size=(n_groups, n_labels)).astype(np.float32)


def as_dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@given(problems(), st.sampled_from([0, 1, 7, 20]))
def test_vectors_and_labels_are_those_of_the_published_method(problem, iterations):
    X, groups, group_labels = problem
    unit_rows = unit(X.astype(np.float64))
    for rows in (X, sparse.csr_array(X)):
        eagle = lw.Eagle(iterations=iterations, step=0.3)
        Y = eagle.fit_transform(rows, sparse.csr_array(groups), sparse.csr_array(group_labels)).toarray()
        assert sparse.issparse(eagle.label_embeddings_) == sparse.issparse(rows)
        vectors = as_dense(eagle.label_embeddings_)
        for label in range(group_labels.shape[1]):
            having = np.flatnonzero(group_labels[:, label])
            if not len(having):
                assert not Y[:, label].any()
                continue
            members = [np.flatnonzero(groups[:, group]) for group in having]
            vector, getting, margin = slow_label(unit_rows, members, group_labels[having, label], iterations, 0.3)
            if margin > 1e-5:  # otherwise rounding decides, and later steps may differ
                np.testing.assert_allclose(vectors[label], vector, atol=1e-4)
                assert np.flatnonzero(Y[:, label]).tolist() == getting


@given(problems(overlap=False))
def test_groups_can_be_given_as_one_number_per_row(problem):
    X, groups, group_labels = problem
    by_matrix = lw.Eagle().fit_transform(X, groups, group_labels)
    by_number = lw.Eagle().fit_transform(X, groups.argmax(axis=1), group_labels)
    assert (by_matrix != by_number).nnz == 0


@given(problems(), st.sampled_from(["hard", "several", "soft"]), st.sampled_from(["multiset", "set", "topc"]))
def test_results_do_not_depend_on_threads(problem, how, repeats):
    X, groups, group_labels = problem
    one, many = (
        lw.Eagle(assign=how, repeats=repeats, negatives=0.5, n_threads=n).fit(sparse.csr_array(X), groups, group_labels)
        for n in (1, 3)
    )
    for name in ("rows", "labels", "groups", "cosines", "shares", "sureness"):
        assert getattr(one.assignment_, name).tobytes() == getattr(many.assignment_, name).tobytes()
    assert one.weights_.data.tobytes() == many.weights_.data.tobytes()


@given(problems(), st.sampled_from([0, 20]))
def test_groups_of_one_give_pifa_and_keep_their_labels(problem, iterations):
    X, _, _ = problem
    rng = np.random.default_rng(len(X))
    Y = (rng.random((len(X), 5)) < 0.3).astype(np.float32)
    for rows in (X, sparse.csr_array(X)):
        eagle = lw.Eagle(iterations=iterations)
        assert (eagle.fit_transform(rows, np.arange(len(X)), Y) != sparse.csr_array(Y)).nnz == 0
        np.testing.assert_allclose(as_dense(eagle.label_embeddings_), pifa(unit(X), Y), atol=1e-5)
        assert (eagle.assignment_.sureness == 1).all()


def test_among_equally_near_rows_the_first_gets_the_label():
    X = np.array([[0, 1], [1, 0], [1, 0], [1, 0], [0, 1]], np.float32)
    for rows in (X, sparse.csr_array(X)):
        given = lw.Eagle().fit(rows, [0, 0, 0, 1, 1], [[1], [1]]).assignment_
        assert given.rows.tolist() == [1, 3]
        assert given.sureness[0] == 0
        assert given.sureness[1] > 0.9


def test_a_label_given_several_times_weighs_more_and_can_go_to_several_rows():
    X = [[1, 0, 0], [0.9, 0.4, 0], [0, 0, 1], [0, 1, 0], [0.2, 0, 1]]
    groups, counts = [0, 0, 0, 1, 1], [[2], [1]]
    once = {how: lw.Eagle(repeats=how).fit(X, groups, counts) for how in ("multiset", "set", "topc")}
    assert [once[how].assignment_.labels.size for how in once] == [2, 2, 3]
    assert once["topc"].assignment_.rows[:2].tolist() == [0, 1]
    multiset, as_set = (once[how].label_embeddings_ for how in ("multiset", "set"))
    assert np.abs(multiset - as_set).max() > 0.01
    np.testing.assert_array_equal(as_set, lw.Eagle().fit(X, groups, [[1], [1]]).label_embeddings_)


def test_topc_gives_a_label_to_every_row_if_its_count_exceeds_the_rows():
    assert lw.Eagle(repeats="topc").fit_transform(np.eye(2), [0, 0], [[5]]).nnz == 2


def test_several_rows_get_a_label_if_they_are_nearly_as_near():
    X = [[1, 0], [0.99, 0.1], [0.8, 0.6], [0, 1], *[[1, 0]] * 6]
    groups, labels = [0, 0, 0, 0, 1, 2, 3, 4, 5, 6], np.ones((7, 1))
    near = lw.Eagle(assign="several", within=0.02).fit(X, groups, labels).assignment_
    assert near.rows[:-6].tolist() == [0, 1]
    most = lw.Eagle(assign="several", within=2.0, at_most=3).fit(X, groups, labels).assignment_
    assert most.rows[:-6].tolist() == [0, 1, 2]


def test_soft_shares_add_up_to_one_and_order_rows_by_nearness():
    X = np.random.default_rng(0).random((30, 6))
    groups = np.arange(30) // 5
    soft = lw.Eagle(assign="soft", min_share=0.0).fit(X, groups, np.ones((6, 2)))
    Y = soft.assignment_.to_scipy().toarray()
    np.testing.assert_allclose(Y.reshape(6, 5, 2).sum(axis=1), 1, atol=1e-5)
    hard = lw.Eagle().fit_transform(X, groups, np.ones((6, 2))).toarray()
    assert (Y.reshape(6, 5, 2).argmax(axis=1) == hard.reshape(6, 5, 2).argmax(axis=1)).all()
    few = lw.Eagle(assign="soft", min_share=0.3).fit_transform(X, groups, np.ones((6, 2)))
    assert 12 <= few.nnz < 60


def test_rows_that_cancel_out_are_told_apart_by_a_random_start():
    X = np.tile([[1.0, 0.0], [-1.0, 0.0]], (3, 1))
    for rows in (X, sparse.csr_array(X)):
        eagle = lw.Eagle().fit(rows, [0, 0, 1, 1, 2, 2], np.ones((3, 2)))
        assert np.abs(as_dense(eagle.label_embeddings_)[:, 0]).tolist() == [1, 1]
        for label in range(2):
            assert len(set(eagle.assignment_.rows[eagle.assignment_.labels == label] % 2)) == 1
    starts = {lw.Eagle(seed=s).fit(X, [0, 0, 1, 1, 2, 2], np.ones((3, 1))).label_embeddings_[0, 0] for s in range(20)}
    assert starts == {-1, 1}


def test_rows_of_zeros_get_labels_only_in_groups_without_other_rows():
    X = np.array([[0, 0], [1, 0], [0, 0]], np.float32)
    assert lw.Eagle().fit_transform(X, [0, 0, 1], [[1], [1]]).toarray().ravel().tolist() == [0, 1, 1]


def test_labels_without_groups_and_rows_without_groups_stay_empty():
    eagle = lw.Eagle().fit(np.eye(3), sparse.csr_array([[1.0], [1.0], [0.0]]), [[1, 0]])
    assert eagle.assignment_.to_scipy().toarray().sum(axis=1).tolist() == [1, 0, 0]
    assert eagle.label_embeddings_[1].tolist() == [0, 0, 0]


def test_a_row_that_gets_a_label_from_two_groups_has_it_once():
    Y = lw.Eagle().fit_transform(np.eye(2), sparse.csr_array([[1.0, 1.0], [0.0, 0.0]]), [[1], [1]])
    assert Y.toarray().tolist() == [[1], [0]]


def slow_coefficients(X, members, weights, iterations, step):
    """Each row's weight in a label's vector with `leave_out`; groups with negative weights push the vector away."""
    c = np.zeros(len(X))
    for rows, weight in zip(members, weights, strict=True):
        c[rows] += max(weight, 0)
    c /= np.linalg.norm(c @ X)
    for _ in range(iterations):
        picked = np.zeros(len(X))
        for rows, weight in zip(members, weights, strict=True):
            picked[rows[np.argmax(X[rows] @ (c @ X) - c[rows])]] += weight
        c += step * picked / np.linalg.norm(picked @ X)
        c /= np.linalg.norm(c @ X)
    return c


def test_negatives_and_leave_out_follow_their_definitions():
    X, Y, groups = planted(10, seed=2)
    group_labels = merged_labels(Y, groups)
    found = lw.Eagle(negatives=0.8, leave_out=True, iterations=6, seed=5).fit(X, groups, group_labels).weights_
    grouped = GroupedLabels.of(groups, group_labels, len(X))
    drawn = grouped.groups_without(5)
    for label in range(0, 50, 7):
        having, lacking = grouped.labels.to_scipy()[[label]], drawn[[label]]
        assert not set(having.indices) & set(lacking.indices)
        push = -0.8 * having.data.sum() / lacking.nnz
        weights = [*having.data, *[push] * lacking.nnz]
        members = [np.flatnonzero(groups == g) for g in [*having.indices, *lacking.indices]]
        exact = slow_coefficients(X, members, weights, 6, 0.1)
        np.testing.assert_allclose(found[[label]].toarray().ravel(), exact, atol=1e-4)


def planted(g, seed):
    """Fifty classes in 64 dimensions: a row is the direction of its class plus noise, in random groups of g."""
    rng = np.random.default_rng(seed)
    centers = unit(rng.standard_normal((50, 64)))
    classes = rng.integers(50, size=2000)
    X = unit(centers[classes] + 0.12 * rng.standard_normal((2000, 64)))
    return X, np.eye(50)[classes], random_groups(2000, g, seed)


def accuracy(X, Y, groups, **params):
    given = lw.Eagle(**params).fit(X, groups, merged_labels(Y, groups)).assignment_
    return Y[given.rows, given.labels].mean()


@pytest.mark.parametrize(("g", "start", "end"), [(10, 0.956, 1.0), (20, 0.478, 0.844)])
def test_planted_classes_are_recovered_and_iterations_help(g, start, end):
    found = np.array([[accuracy(*planted(g, s), iterations=t) for t in (0, 20)] for s in range(3)]).mean(axis=0)
    np.testing.assert_allclose(found, [start, end], atol=0.1)


def test_negatives_and_leave_out_recover_more_planted_classes():
    X, Y, groups = planted(20, seed=3)
    plain = accuracy(X, Y, groups)
    assert accuracy(X, Y, groups, negatives=0.7) > plain + 0.05
    assert accuracy(X, Y, groups, leave_out=True) > plain


def test_transform_assigns_labels_of_other_groups_by_the_learned_vectors():
    X, Y, groups = planted(5, seed=1)
    group_labels = merged_labels(Y, groups)
    for rows in (X.astype(np.float32), sparse.csr_array(X.astype(np.float32))):
        eagle = lw.Eagle()
        learned = eagle.fit_transform(rows, groups, group_labels)
        assert (eagle.transform(rows, groups, group_labels) != learned).nnz <= 2
        first = groups < 100
        part = eagle.transform(rows[first], groups[first], group_labels[:100])
        assert (part != learned[first]).nnz <= 2


def test_the_baseline_gives_every_row_all_labels_of_its_groups():
    groups = sparse.csr_array([[1, 0], [1, 1], [0, 0]])
    assert baseline_labels(groups, [[2, 0], [0, 1]]).toarray().tolist() == [[1, 0], [1, 1], [0, 0]]


GROUPS, LABELS = [0, 0, 1], [[1, 0], [0, 2]]


@pytest.mark.parametrize(
    ("X", "groups", "group_labels", "says"),
    [
        (np.eye(3), [0, 1], LABELS, "one whole number for each of the 3 rows"),
        (np.eye(3), [0.5, 0, 1], LABELS, "one whole number"),
        (np.eye(3), [[0], [0, 1], [1]], LABELS, "groups has rows of different lengths"),
        (np.eye(3), None, LABELS, "one whole number"),
        (np.eye(3), [0, 1, 2], LABELS, "numbers from 0 to 2, but there are 2 groups"),
        (np.eye(3), [0, -1, 1], LABELS, "number them from 0 to 1"),
        (np.eye(3), np.ones((3, 3)), LABELS, "groups has 3 columns and group_labels has 2 rows"),
        (np.eye(3), np.ones((2, 2)), LABELS, "groups has 2 rows and X has 3"),
        (np.eye(3), [0, 0, 0], LABELS, "group 1 has labels but no rows"),
        (np.eye(3), GROUPS, [[1, -1], [0, 1]], "whole numbers, not negative"),
        (np.eye(3), GROUPS, [[1, 0.5], [0, 1]], "whole numbers, not negative"),
        (np.eye(3), GROUPS, [[1, np.nan], [0, 1]], "group_labels contains NaN"),
        (np.eye(3), GROUPS, [1, 0], "group_labels has 1 dimension"),
        (np.full((3, 2), np.nan), GROUPS, LABELS, "X contains NaN"),
        ([1.0, 2.0, 3.0], GROUPS, LABELS, "X has 1 dimension"),
    ],
)
def test_unusable_input_is_refused_in_one_sentence(X, groups, group_labels, says):
    with pytest.raises(LabelwoodError, match=says) as e:
        lw.Eagle().fit(X, groups, group_labels)
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"iterations": -1}, "iterations is -1"),
        ({"step": 0.0}, "step is 0.0"),
        ({"repeats": "bag"}, "repeats is 'bag'"),
        ({"assign": "all"}, "assign is 'all'"),
        ({"negatives": -1.0}, "negatives is -1.0"),
        ({"at_most": 0}, "at_most is 0"),
    ],
)
def test_the_error_names_an_invalid_parameter(params, says):
    with pytest.raises(ParameterError, match=says):
        lw.Eagle(**params).fit(np.eye(3), GROUPS, LABELS)


def test_an_unfitted_eagle_raises_not_fitted():
    with pytest.raises(NotFittedError, match="has not learned yet"):
        lw.Eagle().transform(np.eye(3), GROUPS, LABELS)


def test_features_other_than_those_of_fit_are_refused():
    eagle = lw.Eagle().fit(np.eye(3), GROUPS, LABELS)
    with pytest.raises(LabelwoodError, match="X has 2 features and group_labels 2 labels, but fit was given 3 and 2"):
        eagle.transform(np.ones((3, 2)), GROUPS, LABELS)


def test_groups_without_any_labels_are_no_error():
    assert lw.Eagle(assign="several").fit_transform(np.eye(3), GROUPS, np.zeros((2, 4))).shape == (3, 4)


def test_a_label_of_two_rows_is_certain_if_no_third_row_is_equally_near():
    X = [[1.0, 0.0], [1.0, 0.01], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.02], [1.0, 0.0]]
    groups, given = [0, 0, 0, 1, 1, 1, 2], [[2], [1], [3]]
    found = {repeats: lw.Eagle(repeats=repeats).fit(X, groups, given).assignment_ for repeats in ("topc", "multiset")}
    assert found["topc"].rows.tolist() == [0, 1, 5, 6]
    np.testing.assert_allclose(found["topc"].sureness, [1, 1, 0, 1], atol=0.02)
    np.testing.assert_allclose(found["multiset"].sureness, [0, 0, 1], atol=0.02)
