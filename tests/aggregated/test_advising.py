"""Advice on groups, and iterations chosen on groups that are held out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.aggregated import advice, choose_iterations, clustered_groups, merged_labels, mixedness, random_groups
from labelwood.errors import LabelwoodError, ParameterError


def classes(n=600, n_classes=12, seed=0):
    rng = np.random.default_rng(seed)
    owner = rng.integers(n_classes, size=n)
    X = np.eye(n_classes, 30)[owner] + 0.1 * rng.standard_normal((n, 30))
    return X.astype(np.float32), np.eye(n_classes)[owner]


@pytest.mark.parametrize("size", [2, 5, 20])
def test_random_groups_are_mixed_whatever_their_size(size):
    X, _ = classes()
    assert mixedness(sparse.csr_array(X), random_groups(len(X), size)) == pytest.approx(1, abs=0.06)


def test_mixedness_is_the_lack_of_likeness_within_groups():
    X, _ = classes(60)
    groups = random_groups(60, 4)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    cosines, others = unit @ unit.T, ~np.eye(60, dtype=bool)
    within = cosines[(groups[:, None] == groups) & others].mean()
    assert mixedness(X, groups) == pytest.approx(min((1 - within) / (1 - cosines[others].mean()), 1), abs=1e-4)
    assert mixedness(X, np.arange(60)) == 0


def test_assignment_is_advised_for_mixed_groups_and_the_baseline_for_groups_that_share_labels():
    X, Y = classes()
    mixed, alike = random_groups(len(X), 6), clustered_groups(X, 7)
    for merge in ("list", "set"):
        assert advice(X, mixed, merged_labels(Y, mixed, merge)).use == "assignment"
    found = advice(X, alike, merged_labels(Y, alike))
    assert found.use == "baseline"
    assert found.wrong_rows < 0.5
    assert "better choice" in found.reason


def test_advice_needs_a_label():
    with pytest.raises(LabelwoodError, match="holds no label"):
        advice(np.eye(2), [0, 0], [[0]])


def test_iterations_are_chosen_by_groups_that_are_held_out():
    rng = np.random.default_rng(1)
    centers = rng.standard_normal((50, 64)) / 8
    owner = rng.integers(50, size=2000)
    X = centers[owner] + 0.12 * rng.standard_normal((2000, 64))
    groups = random_groups(2000, 20, 1)
    found = choose_iterations(X, groups, merged_labels(np.eye(50)[owner], groups), candidates=(0, 5, 20))
    assert found.iterations > 0
    assert found.scores[found.iterations] == max(found.scores.values())
    assert found.scores[0] + found.error < found.scores[found.iterations] <= 1


def test_held_out_scores_are_near_one_half_where_labels_have_nothing_to_do_with_rows():
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((1000, 20)), random_groups(1000, 5)
    found = choose_iterations(
        X, groups, (rng.random((200, 10)) < 0.3) * 1, candidates=(0, 10), eagle=lw.Eagle(step=0.2)
    )
    assert all(abs(score - 0.5) < 0.1 for score in found.scores.values())


def test_choosing_needs_labels_of_two_groups_and_sound_arguments():
    with pytest.raises(LabelwoodError, match="no label has two groups"):
        choose_iterations(np.eye(2), [0, 1], np.eye(2))
    with pytest.raises(ParameterError, match="held_out must lie"):
        choose_iterations(np.eye(2), [0, 1], np.eye(2), held_out=1.0)
