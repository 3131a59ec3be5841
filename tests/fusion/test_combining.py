"""Combining answers of several models: candidates, calibration, gains, and the tail."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.arrays.topk import TopK
from labelwood.errors import LabelwoodError, NotFittedError
from labelwood.fusion.combining import candidates
from labelwood.fusion.curves import Curve, Regression
from labelwood.labels import inverse_propensities, label_frequencies
from labelwood.metrics import evaluate

pytestmark = pytest.mark.slow

N_LABELS = 60


def best_of(scores, k=20):
    ids = np.argsort(-scores, axis=1, kind="stable")[:, :k].astype(np.int32)
    return TopK(ids, np.take_along_axis(scores, ids, axis=1).astype(np.float32))


def made(n=1500, seed=0, noise=(1.0, 1.0)):
    """Rows × labels with frequent and rare labels, and answers of two models with independent errors.

    The first model is better at frequent labels, the second at rare ones.
    """
    rng = np.random.default_rng(seed)
    chances = 0.5 / (1 + np.arange(N_LABELS))
    Y = (rng.random((n, N_LABELS)) < chances).astype(np.float32)
    frequent = np.linspace(0.4, 1.6, N_LABELS)
    tops = [
        best_of(Y + error * how * rng.normal(size=Y.shape) / 2)
        for error, how in zip(noise, (frequent, frequent[::-1]), strict=True)
    ]
    return tops, sparse.csr_array(Y)


def rarity_of(Y):
    return inverse_propensities(label_frequencies(Y), Y.shape[0])


def metrics(top, Y):
    return evaluate(top, Y, ks=(1, 5), metrics=("P", "PSP"), inv_propensity=rarity_of(Y))


def test_candidates_are_the_union_of_answers_without_duplicates():
    first = TopK(np.int32([[3, 1], [0, -1]]), np.float32([[0.9, 0.2], [0.5, -np.inf]]))
    second = TopK(np.int32([[1, 2], [-1, -1]]), np.float32([[7, 6], [-np.inf, -np.inf]]))
    found = candidates([first, second])
    assert list(zip(found.rows.tolist(), found.labels.tolist(), strict=True)) == [(0, 1), (0, 2), (0, 3), (1, 0)]
    expected = [[0.2, 7], [np.nan, 6], [0.9, np.nan], [0.5, np.nan]]
    assert np.allclose(found.scores, expected, equal_nan=True)
    assert found.ranks.tolist() == [[1, 0], [2, 1], [0, 2], [0, 2]]
    assert np.allclose(found.best, [[0.9, 7], [0.9, 7], [0.9, 7], [0.5, np.nan]], equal_nan=True)


def test_curves_rise_and_give_the_true_probabilities():
    rng = np.random.default_rng(0)
    scores = rng.random(100_000)
    curve = Curve.of(scores, rng.random(100_000) < scores**2)
    odds = curve(np.linspace(0.1, 0.9, 9))
    assert (np.diff(odds) > 0).all()
    assert np.allclose(1 / (1 + np.exp(-odds)), np.linspace(0.1, 0.9, 9) ** 2, atol=0.03)


def test_the_regression_finds_the_weights_that_made_the_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 2)) * [1, 100]
    right = rng.random(50_000) < 1 / (1 + np.exp(-(0.5 + 2 * X[:, 0] - 0.01 * X[:, 1])))
    learned = Regression.of(X, right)
    assert np.allclose(learned.weights[1:] / learned.scales, [2, -0.01], rtol=0.1)


def test_the_regression_stays_finite_on_separable_data():
    X = np.concatenate([np.full((500, 1), -1e6), np.full((500, 1), 1e6)])
    assert np.isfinite(Regression.of(X, X[:, 0] > 0).weights).all()


def test_fused_answers_are_better_than_those_of_both_models():
    calibrating, Y = made(seed=0)
    test, Y_test = made(seed=1)
    fusion = lw.Fusion().fit(calibrating, Y, rarity_of(Y))
    fused = metrics(fusion.combine(test, 5), Y_test)
    for alone in test:
        assert all(fused[name] > value + 1 for name, value in metrics(alone, Y_test).items() if name != "PSP@1")
    assert min(fusion.gains_.values()) > 1


def test_scores_are_probabilities_if_rare_labels_are_not_preferred():
    calibrating, Y = made(n=4000)
    test, Y_test = made(n=4000, seed=1)
    top = lw.Fusion(tail=0.0).fit(calibrating, Y, rarity_of(Y)).combine(test, 10)
    right = Y_test.toarray()[np.arange(len(top))[:, None], top.ids] > 0
    assert (np.diff(top.scores, axis=1) <= 0).all()
    for low, high in ((0.05, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.01)):
        some = (top.scores >= low) & (top.scores < high)
        assert right[some].mean() == pytest.approx(top.scores[some].mean(), abs=0.04), (low, high)


def test_a_useless_model_changes_almost_nothing():
    (good, _), Y = made(noise=(0.6, 1.0))
    rng = np.random.default_rng(7)
    noise = [best_of(rng.random((1500, N_LABELS))) for _ in range(2)]
    fusion = lw.Fusion(tail=0.0).fit([good, noise[0]], Y, rarity_of(Y))
    (test, _), Y_test = made(seed=1, noise=(0.6, 1.0))
    alone, fused = metrics(test, Y_test), metrics(fusion.combine([test, noise[1]], 5), Y_test)
    assert fused["P@1"] >= alone["P@1"] - 0.5
    assert fused["P@5"] >= alone["P@5"] - 0.5


def test_a_single_model_keeps_its_best_answer_when_labels_are_equally_frequent():
    rng = np.random.default_rng(0)
    Y = np.eye(N_LABELS, dtype=np.float32)[rng.integers(N_LABELS, size=2000)]
    top = best_of(Y + 0.5 * rng.normal(size=Y.shape))
    fused = lw.Fusion(tail=0.0).fit([top], Y, np.ones(N_LABELS)).combine([top], 5)
    assert (fused.ids[:, 0] == top.ids[:, 0]).mean() > 0.95
    assert metrics(fused, Y)["P@1"] > metrics(top, Y)["P@1"] - 0.5


def test_a_larger_tail_gives_rarer_labels():
    calibrating, Y = made()
    rarity = rarity_of(Y)
    mean = [
        np.asarray(rarity)[lw.Fusion(tail=tail).fit(calibrating, Y, rarity).combine(calibrating, 3).ids].mean()
        for tail in (0.0, 0.5, 1.0)
    ]
    assert mean[0] < mean[1] < mean[2]


def test_the_most_likely_label_comes_first_unless_likely_first_is_false():
    calibrating, Y = made()
    likely, raised, rare = (
        lw.Fusion(tail=tail, likely_first=first).fit(calibrating, Y, rarity_of(Y)).combine(calibrating, 5)
        for tail, first in ((0.0, True), (1.0, True), (1.0, False))
    )
    assert np.array_equal(raised.ids[:, 0], likely.ids[:, 0])
    assert (rare.ids[:, 0] != likely.ids[:, 0]).any()
    assert np.array_equal(raised.scores[:, 0], rare.scores[:, 0]), "with the highest score of the row"
    assert (np.diff(raised.scores, axis=1) <= 0).all()
    moved = raised.ids[:, 0] != rare.ids[:, 0]
    assert np.array_equal(raised.ids[~moved], rare.ids[~moved])


def test_the_chosen_tail_has_the_largest_smallest_gain():
    calibrating, Y = made()
    chosen = lw.Fusion().fit(calibrating, Y, rarity_of(Y))
    for tail in (0.0, 0.3, 0.7, 1.0):
        given = lw.Fusion(tail=tail).fit(calibrating, Y, rarity_of(Y))
        assert given.tail_ == tail
        assert min(given.gains_.values()) <= min(chosen.gains_.values()) + 1e-9


def test_any_chunking_gives_the_same_answers_and_short_rows_are_padded(monkeypatch):
    calibrating, Y = made(n=300)
    fusion = lw.Fusion().fit(calibrating, Y, rarity_of(Y))
    whole = fusion.combine(calibrating, 50)
    assert whole.ids.shape == (300, 50)
    assert (whole.ids[:, 45:] == -1).all()
    monkeypatch.setattr("labelwood.fusion.combining._BLOCK", 7)
    parts = fusion.combine(calibrating, 50)
    assert np.array_equal(parts.ids, whole.ids)
    assert np.array_equal(parts.scores, whole.scores)
    none = [TopK(top.ids[:0], top.scores[:0]) for top in calibrating]
    assert fusion.combine(none, 5).ids.shape == (0, 5)
    nothing = [TopK(np.full((2, 3), -1, np.int32), np.full((2, 3), -np.inf, np.float32))] * 2
    assert (fusion.combine(nothing, 5).ids == -1).all()


def test_wrong_use_is_one_clear_sentence():
    calibrating, Y = made(n=50)
    good = lw.Fusion().fit(calibrating, Y, rarity_of(Y))
    beyond = [TopK(np.full((1, 1), N_LABELS, np.int32), np.ones((1, 1), np.float32))] * 2
    cases = [
        (
            lambda: lw.Fusion().fit([*calibrating[:1], TopK(calibrating[1].ids[:9], calibrating[1].scores[:9])], Y, []),
            "rows",
        ),
        (lambda: lw.Fusion().fit([], Y, rarity_of(Y)), "no rows"),
        (lambda: lw.Fusion().fit(calibrating, Y, np.ones(3)), "inv_propensity must be 60"),
        (lambda: lw.Fusion(tail=2.0).fit(calibrating, Y, rarity_of(Y)), "tail is 2.0"),
        (lambda: good.combine(calibrating[:1]), "2 fused"),
        (lambda: good.combine(beyond), "label 60"),
        (lambda: good.combine(calibrating, k=0), "k must be"),
    ]
    for call, sentence in cases:
        with pytest.raises(LabelwoodError, match=sentence) as e:
            call()
        assert "\n" not in str(e.value)
    with pytest.raises(NotFittedError):
        lw.Fusion().combine(calibrating)
    with pytest.raises(NotFittedError):
        lw.Fusion().state()
