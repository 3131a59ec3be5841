"""Interpolated trees: their two ends, what holds on the way, and codes by frequency."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from labelwood.arrays.rows import as_labels
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.labels import pifa
from labelwood.trees import balanced, fano, huffman, interpolated, lam_of
from labelwood.trees.coverage import label_weights


def random_problem(seed, n_labels=None):
    rng = np.random.default_rng(seed)
    n_labels = n_labels or int(rng.integers(2, 40))
    shares = 1 / (1 + rng.permutation(n_labels)) ** rng.uniform(0, 2)
    Y = rng.random((60, n_labels)) < np.clip(shares, 0.02, 0.9)
    X = rng.random((60, 15)) * (rng.random((60, 15)) < 0.3)
    return pifa(sparse.csr_array(X.astype(np.float32)), sparse.csr_array(Y.astype(np.float32))), Y


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a.arrays().values(), b.arrays().values(), strict=True))


@given(st.integers(0, 2**31), st.sampled_from([1, 2, 5]))
def test_lam_0_is_the_balanced_tree(seed, max_leaf):
    vectors, Y = random_problem(seed)
    assert same(
        interpolated(vectors, Y, lam=0, max_leaf=max_leaf, seed=3), balanced(vectors, max_leaf=max_leaf, seed=3)
    )


def entropy(weights):
    shares = weights[weights > 0] / weights.sum()
    return float(-(shares * np.log2(shares)).sum())


@given(st.integers(0, 2**31))
def test_lam_2_without_smoothing_is_a_fano_code(seed):
    vectors, Y = random_problem(seed)
    covering = label_weights(as_labels(Y, len(Y)), "marginal")[1]
    tree = interpolated(vectors, Y, lam=2, smoothing=0, max_leaf=1)
    assert (0.5 ** tree.label_depths.astype(float)).sum() == 1
    if covering.any():
        assert tree.expected_depth(covering) <= entropy(covering) + 1


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60))
def test_codes_are_complete_and_within_a_bit_of_the_entropy(counts):
    counts = np.array(counts, float)
    for build in (huffman, fano):
        tree = build(counts)
        assert (0.5 ** tree.label_depths.astype(float)).sum() == 1
        if counts.any():
            assert tree.expected_depth(counts) <= entropy(counts) + 1 + 1e-9
    if counts.any():
        assert huffman(counts).expected_depth(counts) <= fano(counts).expected_depth(counts) + 1e-9


@given(st.lists(st.integers(1, 30), min_size=2, max_size=6))
def test_huffman_is_as_short_as_any_code(counts):
    depths = range(1, len(counts))
    complete = (d for d in itertools.product(depths, repeat=len(counts)) if sum(0.5**x for x in d) == 1)
    best = min(np.dot(d, counts) for d in complete) / sum(counts)
    assert huffman(counts).expected_depth(counts) == pytest.approx(best)


HOW = st.fixed_dictionaries(
    {
        "lam": st.sampled_from([0.3, 1.0, 1.4, 1.9, 2.0]),
        "rule": st.sampled_from(["marginal", "greedy", 0.5]),
        "midpoint": st.booleans(),
        "smooth": st.sampled_from(["node", "root"]),
        "smoothing": st.sampled_from([0.0, 0.1]),
    }
)


@given(st.integers(0, 2**31), HOW)
def test_every_label_has_its_leaf_and_no_side_is_empty(seed, how):
    vectors, Y = random_problem(seed)
    tree = interpolated(vectors, Y, max_leaf=1, **how)
    assert sorted(tree.labels.tolist()) == list(range(Y.shape[1]))
    assert set(np.diff(tree.child_ptr)) <= {0, 2}
    assert tree.leaf_sizes.max() == 1


@given(st.integers(0, 2**31), HOW)
def test_labels_in_another_order_and_any_number_of_threads_give_the_same_tree(seed, how):
    vectors, Y = random_problem(seed, n_labels=30)
    rng = np.random.default_rng(seed)
    order = rng.permutation(30)
    how = {**how, "max_leaf": 2, "row_weights": rng.random(len(Y))}  # no two labels are as frequent
    tree = interpolated(vectors, Y, n_threads=1, **how)
    assert same(tree, interpolated(vectors, Y, n_threads=4, **how))
    rule = how.get("rule", "marginal")
    before, after = (label_weights(as_labels(M, len(M)), rule, how["row_weights"])[1] for M in (Y, Y[:, order]))
    # Of labels that cover the same rows of those that are left, the greedy rule takes the first.
    if len(np.unique(vectors.toarray(), axis=0)) == 30 and (rule != "greedy" or np.allclose(after, before[order])):
        moved = interpolated(vectors[order], Y[:, order], **how)
        np.testing.assert_array_equal(moved.label_depths, tree.label_depths[order])


def test_labels_that_cover_rows_come_nearer_to_the_root_with_lam():
    vectors, Y = random_problem(5, n_labels=200)
    covering = label_weights(as_labels(Y, len(Y)), "marginal")[1]
    depths = [interpolated(vectors, Y, lam=lam, max_leaf=1).expected_depth(covering) for lam in (0, 1, 2)]
    assert depths[2] < depths[1] < depths[0]


def test_a_row_counts_for_its_most_frequent_label_or_for_the_one_that_covers_most():
    Y = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 1], [0, 1, 1], [0, 1, 0], [0, 1, 0]])
    frequency, marginal = label_weights(as_labels(Y, 6), "marginal")
    assert frequency.tolist() == [3, 4, 2]
    assert marginal.tolist() == [2, 4, 0]
    assert label_weights(as_labels(Y, 6), "greedy")[1].tolist() == [2, 4, 0]
    assert label_weights(as_labels(Y, 6), "marginal", [0, 1, 1, 1, 1, 1])[1].tolist() == [2, 3, 0]
    mixed = label_weights(as_labels(Y, 6), 0.5)[1]
    np.testing.assert_allclose(mixed, (np.array([3, 4, 2]) / 9 + np.array([2, 4, 0]) / 6) / 2)


@given(st.integers(0, 2**31))
def test_the_greedy_rule_is_what_a_slow_loop_does(seed):
    rng = np.random.default_rng(seed)
    Y = rng.random((20, 8)) < 0.25
    live, slow = np.ones(20, bool), np.zeros(8)
    while (Y[live].sum(axis=0) > 0).any():
        label = int(np.argmax(Y[live].sum(axis=0)))
        slow[label] = Y[live].sum(axis=0)[label]
        live &= ~Y[:, label]
    assert label_weights(as_labels(Y, 20), "greedy")[1].tolist() == slow.tolist()


@pytest.mark.parametrize(
    "wrong",
    [
        {"lam": 2.1},
        {"lam": float("nan")},
        {"smoothing": -0.1},
        {"smoothing": float("inf")},
        {"rule": "best"},
        {"rule": 1.5},
        {"row_weights": [1.0]},
        {"row_weights": [1.0, float("inf"), 1.0]},
    ],
)
def test_parameters_out_of_range_are_named(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        interpolated(np.eye(3), np.eye(3), **wrong)


def test_vectors_and_rows_of_other_labels_are_refused():
    with pytest.raises(LabelwoodError, match="vectors has 3 labels and Y 2"):
        interpolated(np.eye(3), np.ones((4, 2)))


def test_labels_that_cannot_be_told_apart_and_have_no_rows_still_make_a_tree():
    tree = interpolated(np.zeros((9, 2)), np.zeros((3, 9)), lam=1.5, max_leaf=1)
    assert sorted(tree.labels.tolist()) == list(range(9))


def test_the_scale_from_zero_to_infinity_is_lam_from_zero_to_two():
    assert [lam_of(scale) for scale in (0, 1, 3, np.inf)] == [0, 1, 1.5, 2]


@pytest.mark.parametrize("lam", [0.0, 0.6, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("arity", [3, 8])
def test_wider_nodes_are_shallower_and_no_wider_than_asked_for(lam, arity):
    vectors, Y = random_problem(7, n_labels=120)
    binary, wide = (interpolated(vectors, Y, lam=lam, arity=a, max_leaf=3, seed=1) for a in (2, arity))
    assert np.diff(wide.child_ptr).max() == arity
    assert wide.leaf_sizes.max() <= 3
    assert wide.expected_depth() < binary.expected_depth()


@given(st.integers(0, 2**31), st.sampled_from([2, 5]))
def test_lam_0_is_the_balanced_tree_of_any_arity(seed, arity):
    vectors, Y = random_problem(seed)
    assert same(interpolated(vectors, Y, lam=0, arity=arity, max_leaf=2), balanced(vectors, arity=arity, max_leaf=2))
