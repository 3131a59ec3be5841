"""Advice on groups, and parameters chosen on held-out groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.groups import advice, choose_eagle, clustered_groups, merged_labels, mixedness, random_groups


def classes(n=600, n_classes=12, seed=0):
    rng = np.random.default_rng(seed)
    owner = rng.integers(n_classes, size=n)
    X = np.eye(n_classes, 30)[owner] + 0.1 * rng.standard_normal((n, 30))
    return X.astype(np.float32), np.eye(n_classes)[owner]


@pytest.mark.parametrize("size", [2, 5, 20])
def test_random_groups_are_mixed_whatever_their_size(size):
    X, _ = classes()
    assert mixedness(sparse.csr_array(X), random_groups(len(X), size)) == pytest.approx(1, abs=0.06)


def test_mixedness_compares_cosines_within_groups_and_overall():
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


def planted(n=2000, size=20, seed=1):
    rng = np.random.default_rng(seed)
    centers = rng.standard_normal((50, 64)) / 8
    owner = rng.integers(50, size=n)
    X = centers[owner] + 0.12 * rng.standard_normal((n, 64))
    groups = random_groups(n, size, seed)
    return X, groups, merged_labels(np.eye(50)[owner], groups)


def test_iterations_are_chosen_on_held_out_groups():
    candidates = [{"iterations": t} for t in (0, 5, 20)]
    found = choose_eagle(*planted(), candidates=candidates, eagle=lw.Eagle(step=0.2, seed=3))
    scores = [each.score for each in found.tried]
    assert [each.params for each in found.tried] == candidates
    assert found.eagle.iterations == candidates[np.argmax(scores)]["iterations"] > 0
    assert (found.eagle.step, found.eagle.seed) == (0.2, 3)
    assert scores[0] + found.tried[0].error < max(scores) <= 1


def test_negatives_are_chosen_if_groups_share_a_similar_row():
    rng = np.random.default_rng(0)
    owner = rng.integers(10, size=1000)
    X = np.eye(10, 40)[owner] + 0.4 * rng.standard_normal((1000, 40))
    X[::4] = np.eye(1, 40, 39)  # a footer in each group, without a label
    Y = np.eye(10)[owner]
    Y[::4] = 0
    groups = np.arange(1000) // 4
    found = choose_eagle(X, groups, merged_labels(Y, groups, "set"))
    assert found.eagle.negatives > 0
    chosen, published = (each.fit_transform(X, groups, merged_labels(Y, groups)) for each in (found.eagle, lw.Eagle()))
    assert (chosen.toarray() * Y).sum() > 2 * (published.toarray() * Y).sum()


def test_a_label_goes_to_as_many_rows_as_its_count_by_default():
    made = planted(400, 4)
    assert choose_eagle(*made).eagle.repeats == "topc"
    assert choose_eagle(*made, eagle=lw.Eagle()).eagle.repeats == "multiset"


def test_on_a_tie_the_first_candidate_is_chosen():
    twice = [{"iterations": 3, "sharpness": sharpness} for sharpness in (30.0, 10.0)]
    assert choose_eagle(*planted(400, 4), candidates=twice).eagle.sharpness == 30


def test_a_part_of_the_labels_gives_similar_scores():
    made = planted(4000, 10)
    scores = [[each.score for each in choose_eagle(*made, n_labels=n).tried] for n in (25, 1000)]
    np.testing.assert_allclose(*scores, atol=0.05)
    assert scores[0] != scores[1]


def test_held_out_scores_are_near_one_half_for_random_labels():
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((1000, 20)), random_groups(1000, 5)
    found = choose_eagle(X, groups, (rng.random((200, 10)) < 0.3) * 1)
    assert all(abs(each.score - 0.5) < 0.1 for each in found.tried)


def test_choosing_needs_labels_of_two_groups_and_valid_arguments():
    with pytest.raises(LabelwoodError, match="no label has two groups"):
        choose_eagle(np.eye(2), [0, 1], np.eye(2))
    with pytest.raises(ParameterError, match="held_out must be"):
        choose_eagle(np.eye(2), [0, 1], np.eye(2), held_out=1.0)
    with pytest.raises(ParameterError, match="candidates must hold a set"):
        choose_eagle(np.eye(2), [0, 1], np.eye(2), candidates=[])
    with pytest.raises(ParameterError, match="iterations"):
        choose_eagle(np.eye(2), [0, 1], np.eye(2), candidates=[{"iterations": -1}])


@pytest.mark.parametrize(("times", "use"), [(1, "assignment"), (2, "baseline")])
def test_with_counts_the_baseline_is_advised_for_half_a_wrong_row_per_right_one_but_not_for_two(times, use):
    found = advice(np.eye(6), [0, 0, 0, 1, 1, 1], [[times, 0], [0, times]])
    assert (found.use, found.wrong_rows) == (use, pytest.approx(3 / times - 1 if times > 1 else 2 * found.mixedness))
