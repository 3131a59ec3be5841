"""What every model promises, on thousands of labels of real texts, and with the settings that are hard to keep it with.

A promise can hold for forty labels in one leaf and fail where labels are in many leaves, trees and groups of sixteen.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import labelwood as lw
from labelwood.contract.kinds import KINDS, model_class

pytestmark = pytest.mark.slow

SOFTMAX = {"dim": 16, "epochs": 2}
# Every model as it is, and trees with each setting that changes how labels are arranged or scores are put together.
CASES = {
    "centroid": ("centroid", {}),
    "one-vs-rest": ("one-vs-rest", {"max_passes": 2}),
    "softmax-tree": ("softmax-tree", SOFTMAX),
    "softmax-tree, drawn": ("softmax-tree", {**SOFTMAX, "targets": "drawn"}),
    "softmax-tree, interpolated": ("softmax-tree", {**SOFTMAX, "tree": "interpolated"}),
    "softmax-tree, no tree": ("softmax-tree", {"dim": 8, "epochs": 1, "loss": "one-vs-rest"}),
    "tree": ("tree", {"max_leaf": 100}),
    "tree, three": ("tree", {"n_trees": 3, "max_leaf": 50}),
    "tree, three of halves": ("tree", {"n_trees": 3, "max_leaf": 20, "tree": "balanced", "arity": 2, "beam": 3}),
    "tree, two copies": ("tree", {"copies": 2, "max_leaf": 50}),
    "tree, mean of copies": ("tree", {"copies": 3, "max_leaf": 50, "merge": "mean"}),
    "tree, labels moved": ("tree", {"rounds": 1, "max_leaf": 50}),
    "tree, beam": ("tree", {"negatives": "both", "max_leaf": 50, "beam": 4}),
    "tree, interpolated": ("tree", {"tree": "interpolated", "max_leaf": 20}),
    "tree, random": ("tree", {"tree": "random", "max_leaf": 50}),
}
KS = (1, 3, 5, 10, 11, 17, 60)


ELSEWHERE = {
    "prime": "an encoder of any use takes minutes to train; tests/contract/test_every_kind.py has a tiny one",
    "fused": "made of others, and of a tree where it is tested",
    "multi-instance": "a network that takes minutes for so many labels",
    "grouped": "answers as the model that it trains",
    "text": "answers as the model that it holds",
}


def test_every_model_is_among_the_cases():
    assert {*ELSEWHERE, *(kind for kind, _ in CASES.values())} == set(KINDS)


@cache
def problem():
    """Rows to learn from with their labels, and rows to ask about: 12,000, 4,000 labels or so, and 300."""
    train, test = lw.data.sample()
    rows = np.arange(0, len(train), 5)
    vectorizer = lw.TextVectorizer()
    X = vectorizer.fit_transform(train.texts.take(rows))
    Y = train.Y[rows]
    return X, Y[:, np.unique(Y.indices)], vectorizer.transform(test.texts[:300])


@cache
def learned(case):
    kind, params = CASES[case]
    X, Y, _ = problem()
    return model_class(kind)(**params).fit(X, Y)


@cache
def answered(case, k):
    return learned(case).predict_topk(problem()[2], k)


@pytest.fixture(params=CASES)
def case(request):
    return request.param


def test_the_sample_is_of_real_size():
    X, Y, queries = problem()
    assert X.shape[0] > 10_000
    assert Y.shape[1] > 3_000
    assert queries.shape[0] == 300


def test_the_first_answers_do_not_depend_on_how_many_are_asked_for(case):
    many = answered(case, KS[-1])
    for k in KS[:-1]:
        few = answered(case, k)
        assert np.array_equal(few.ids, many.ids[:, :k])
        assert np.array_equal(few.scores, many.scores[:, :k])


def test_scores_never_rise_and_no_label_comes_twice(case):
    top = answered(case, KS[-1])
    real = top.ids >= 0
    assert (np.diff(np.where(real, top.scores, -1), axis=1) <= 0).all()
    for ids, is_real in zip(top.ids, real, strict=True):
        assert len(np.unique(ids[is_real])) == is_real.sum()
        assert not is_real[is_real.sum() :].any()


def test_labels_in_another_order_get_the_same_scores(case):
    kind, params = CASES[case]
    X, Y, queries = problem()
    order = np.random.default_rng(1).permutation(Y.shape[1])
    other = model_class(kind)(**params).fit(X, Y[:, order]).predict_topk(queries, 5)
    plain = answered(case, 5)
    alike = _classes_of_labels_with_the_same_rows(Y)
    # Labels that no training row tells apart, and labels that score the same, are ties: any of them may come first.
    assert np.array_equal(plain.scores, other.scores)
    above = plain.scores > plain.scores[:, -1:]
    for ids, other_ids, is_above in zip(plain.ids, order[other.ids], above, strict=True):
        assert sorted(alike[ids[is_above]]) == sorted(alike[other_ids[is_above]])


def _classes_of_labels_with_the_same_rows(Y):
    columns = Y.tocsc()
    rows = [columns.indices[a:b].tobytes() for a, b in zip(columns.indptr[:-1], columns.indptr[1:], strict=True)]
    return np.unique(np.array(rows, object), return_inverse=True)[1]


def test_one_row_and_many_rows_get_the_same_answers(case):
    queries, whole = problem()[2], answered(case, 10)
    for row in range(0, 300, 7):
        one = learned(case).predict_topk(queries[row : row + 1], 10)
        assert np.array_equal(one.ids[0], whole.ids[row])
        assert np.array_equal(one.scores[0], whole.scores[row])


def test_a_saved_model_answers_the_same(case, tmp_path):
    learned(case).save(tmp_path / "model")
    top = lw.load(tmp_path / "model").predict_topk(problem()[2], 10)
    assert np.array_equal(top.ids, answered(case, 10).ids)
    assert np.array_equal(top.scores, answered(case, 10).scores)


def test_a_lowest_score_takes_away_what_scores_less_and_changes_nothing_else(case):
    whole = answered(case, 10)
    lowest = float(np.median(whole.scores[:, 1]))
    top = learned(case).predict_topk(problem()[2], 10, min_score=lowest)
    clear = abs(whole.scores - lowest) > 1e-5 * abs(lowest)
    kept = whole.scores >= lowest
    assert np.array_equal((top.ids == whole.ids) & (top.ids >= 0), kept | ((top.ids >= 0) & ~clear))
    assert 0 < kept.sum() < kept.size


@pytest.mark.parametrize("name", ["tree, three", "one-vs-rest", "tree, two copies"])
def test_any_number_of_threads_gives_the_same_bytes(name, tmp_path):
    kind, params = CASES[name]
    X, Y, _ = problem()
    for n_threads in (1, 3):
        model_class(kind)(**params, n_threads=n_threads).fit(X, Y).save(tmp_path / str(n_threads))
    one, three = ({file.name: file.read_bytes() for file in (tmp_path / n).iterdir()} for n in ("1", "3"))
    assert one == three
