"""Assignment and baseline compared on held-out groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.arrays.topk import TopK
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.groups import advice, merged_labels, random_groups, try_both
from labelwood.groups.trying import joined


def mixed(n=2400, n_classes=20, seed=0):
    """Groups of rows of different classes: each label of a group belongs to one row."""
    rng = np.random.default_rng(seed)
    owner = rng.integers(n_classes, size=n)
    X = np.eye(n_classes, 30)[owner] + 0.3 * rng.standard_normal((n, 30))
    groups = random_groups(n, 6, seed)
    return X.astype(np.float32), groups, merged_labels(np.eye(n_classes)[owner], groups)


def shared(n_groups=200, seed=0):
    """Groups whose rows have features of all the group's labels, but different ones, so that rows look different."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n_groups, 20)) < 0.15) * 1.0
    Y[np.arange(n_groups), rng.integers(20, size=n_groups)] = 1
    rows = np.repeat(np.arange(n_groups), 5)
    signs = np.repeat(Y[rows], 8, axis=1) * (rng.random((len(rows), 160)) < 0.15)
    noise = rng.random((len(rows), 400)) < 0.05
    return sparse.csr_array(np.hstack([signs, noise]).astype(np.float32)), rows, Y


def test_assignment_is_better_if_each_label_belongs_to_one_row():
    found = try_both(*mixed(), k=3)
    assert found.use == "assignment"
    assert 100 >= found.assignment > found.baseline + 5


def test_the_baseline_is_better_if_different_rows_share_labels():
    X, groups, Y = shared()
    found = try_both(X, groups, Y, k=4)
    assert found.use == "baseline"
    assert found.baseline > found.assignment + 5
    assert advice(X, groups, Y).use == "assignment"  # similarity alone misleads


def test_the_same_seed_gives_the_same_trial_and_the_given_model_stays_unfitted():
    model = lw.OneVsRest()
    first, second = (try_both(*mixed(300), model=model, eagle=lw.Eagle(iterations=2)) for _ in range(2))
    assert first == second
    assert not hasattr(model, "n_labels_")


def test_rows_may_be_in_several_groups():
    X, groups, Y = mixed(300)
    members = sparse.csr_array((np.ones(300), (np.arange(300), groups)), shape=(300, 50))
    assert try_both(X, members, Y) == try_both(X, groups, Y)
    assert try_both(X, sparse.csr_array(members + members[::-1] > 0), Y).baseline >= 0


def test_labels_of_groups_are_joined_by_the_best_or_the_mean_of_rows():
    top = TopK(np.array([[0, 1], [1, -1], [2, 0]]), np.array([[0.9, 0.5], [0.6, 0.0], [0.3, 0.2]]))
    best, mean = (joined(top, np.array([0, 0, 2]), 3, 2, how) for how in ("best", "mean"))
    assert best.ids.tolist() == [[0, 1], [-1, -1], [2, 0]]
    assert mean.ids.tolist() == [[1, 0], [-1, -1], [2, 0]]


def test_trying_needs_groups_to_hold_out_and_valid_arguments():
    with pytest.raises(LabelwoodError, match="too few to hold some out"):
        try_both(np.eye(2), [0, 0], [[1]])
    with pytest.raises(ParameterError, match="held_out must be"):
        try_both(np.eye(2), [0, 1], [[1], [1]], held_out=0.0)
