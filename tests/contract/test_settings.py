"""Parameters that change after `fit`: which hold at once, which wait, and what happens to wrong ones."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
from tests.contract.conftest import generated

import labelwood as lw
from labelwood.errors import LabelwoodError, ParameterError


def same(a, b):
    return np.array_equal(a.ids, b.ids) and np.array_equal(a.scores, b.scores)


def test_a_wrong_parameter_set_after_fit_is_named_when_it_is_used(make):
    X, Y = generated()
    model = make().fit(X, Y)
    expected = model.predict_topk(X, 5)
    for wrong in ("many", 0, 1.5, [], {}):
        model.set_params(n_threads=wrong)
        for use in (lambda: model.predict_topk(X, 5), lambda: model.predict_topk(X[:1], 5), model.state):
            with pytest.raises(ParameterError, match="n_threads is"):
                use()
    model.n_threads = "many"
    with pytest.raises(ParameterError, match="n_threads is 'many'"):
        model.predict_topk(X[:1], 1)
    assert same(model.set_params(n_threads=1).predict_topk(X, 5), expected)


OTHERS = {
    "tree": {
        "n_trees": 3,
        "normalize": False,
        "negatives": "beam",
        "precision": "float16",
        "merge": "mean",
        "copies": 2,
    },
    "one-vs-rest": {"normalize": False, "precision": "float32", "bias": 0.0},
    "softmax-tree": {"scaling": "mean", "loss": "one-vs-rest", "dim": 7},
    "centroid": {},
}


@pytest.mark.parametrize("kind", OTHERS)
def test_what_training_used_holds_until_the_next_training(kind, tmp_path):
    from labelwood.contract.kinds import model_class

    X, Y = generated()
    model = model_class(kind)().fit(X, Y)
    expected, saved = model.predict_topk(X, 5), model.state().params
    for name, value in OTHERS[kind].items():
        model.set_params(**{name: value})
        assert same(model.predict_topk(X, 5), expected)
        assert same(model.predict_topk(X[:1], 5), model_class(kind)().fit(X, Y).predict_topk(X[:1], 5))
        assert model.state().params == saved
        assert model.get_params()[name] == value
    model.save(tmp_path / "model")
    loaded = lw.load(tmp_path / "model")
    assert same(loaded.predict_topk(X, 5), expected)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again/manifest.json").read_bytes() == (tmp_path / "model/manifest.json").read_bytes()


def test_parameters_of_the_search_hold_at_once_and_are_saved(tmp_path):
    X, Y = generated(n_labels=60)
    how = {"tree": "balanced", "arity": 2, "max_leaf": 2}
    model = lw.TreeClassifier(**how, beam=1).fit(X, Y)
    wide = model.set_params(beam=None).predict_topk(X, 5)
    assert same(wide, lw.TreeClassifier(**how, beam=None).fit(X, Y).predict_topk(X, 5))
    model.save(tmp_path / "model")
    assert same(lw.load(tmp_path / "model").predict_topk(X, 5), wide)


def test_a_failed_change_changes_nothing():
    model = lw.TreeClassifier()
    with pytest.raises(ParameterError, match="no parameter 'speed'"):
        model.set_params(beam=3, speed=1)
    assert model.beam == 10
    with pytest.raises(ParameterError, match="beam is 10 and has no parameter 'width'"):
        model.set_params(max_leaf=7, beam__width=1)
    assert model.max_leaf == 300


def test_answers_during_a_change_are_those_before_or_after_it():
    X, Y = generated(n_labels=60)
    model = lw.TreeClassifier(tree="balanced", arity=2, max_leaf=2, n_trees=3, n_threads=1).fit(X, Y)
    settings = [{"beam": 1, "path_weight": 0.25}, {"beam": None, "path_weight": 4.0}]
    expected = [model.set_params(**some).predict_topk(X, 5) for some in settings]
    assert not same(*expected)
    stop = threading.Event()

    def change():
        number = 0
        while not stop.is_set():
            number += 1
            model.set_params(**settings[number % 2])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    changing = threading.Thread(target=change)
    changing.start()
    try:
        for _ in range(200):
            top = model.predict_topk(X, 5)
            assert same(top, expected[0]) or same(top, expected[1])
    finally:
        stop.set()
        changing.join()
        sys.setswitchinterval(interval)


def test_answers_during_another_training_are_those_of_the_model_before():
    X, Y = generated(n_rows=600)
    model = lw.TreeClassifier(max_leaf=5).fit(X, Y)
    expected = model.predict_topk(X, 5)
    before = threading.Event()
    asked: list[bool] = []

    def tree(vectors, Y, seed):
        """Is asked for in the middle of training."""
        asked.append(same(model.predict_topk(X, 5), expected))
        before.set()
        return lw.trees.balanced(vectors, max_leaf=5)

    model.set_params(tree=tree).fit(X[:, :30], Y[:, :20])
    assert before.is_set()
    assert asked == [True]


@pytest.mark.parametrize("k", [10_001, 2**31 - 1])
def test_a_k_far_above_the_number_of_labels_is_refused(make, k):
    X, Y = generated()
    model = make().fit(X, Y)
    with pytest.raises(ParameterError, match="k must be a whole number from 1 to 10000"):
        model.predict_topk(X, k)
    assert model.predict_topk(X[:2], 10_000).ids.shape == (2, 10_000)


def test_a_failed_fit_leaves_the_model_as_it_was(make):
    X, Y = generated()
    model = make().fit(X, Y)
    expected = model.predict_topk(X, 5)
    for wrong in ((X[:, :0], Y), (X, Y[:-1])):
        with pytest.raises(LabelwoodError):
            model.fit(*wrong)
    with pytest.raises(ParameterError, match="row_weights"):
        model.fit(X[:, :30], Y[:, :20], row_weights=[1.0] * 3)
    assert same(model.predict_topk(X, 5), expected)


def test_an_interrupted_fit_leaves_the_model_as_it_was():
    X, Y = generated()
    model = lw.TreeClassifier(max_leaf=5).fit(X, Y)
    expected = model.predict_topk(X, 5)

    def tree(vectors, Y, seed):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.set_params(tree=tree).fit(X[:, :30], Y)
    assert same(model.predict_topk(X, 5), expected)


def test_the_next_fit_uses_what_was_set():
    X, Y = generated()
    long = X * 50
    model = lw.TreeClassifier(max_leaf=5).fit(long, Y)
    model.predict_topk(long[:1], 5)
    model.set_params(normalize=False).fit(long, Y)
    assert same(
        model.predict_topk(long, 5), lw.TreeClassifier(max_leaf=5, normalize=False).fit(long, Y).predict_topk(long, 5)
    )


def test_a_child_may_fix_parameters_of_its_parent(tmp_path):
    class Narrow(lw.TreeClassifier):
        def __init__(self, *, beam: int = 3) -> None:
            super().__init__(beam=beam, max_leaf=2, tree="balanced", arity=2)

    X, Y = generated()
    model = Narrow().fit(X, Y)
    assert model.get_params() == {"beam": 3}
    wide = model.set_params(beam=40).predict_topk(X, 5)
    assert same(wide, lw.TreeClassifier(beam=40, max_leaf=2, tree="balanced", arity=2).fit(X, Y).predict_topk(X, 5))
    with pytest.raises(ParameterError, match="beam is 'x'"):
        model.set_params(beam="x").predict_topk(X, 5)
    model = Narrow()
    model.max_leaf = -1
    with pytest.raises(ParameterError, match="max_leaf is -1"):
        model.fit(X, Y)


def test_a_wrong_name_of_a_part_changes_nothing():
    tagger = lw.TextClassifier(model=lw.TreeClassifier(), vectorizer=lw.TextVectorizer())
    for wrong in ({"model__nope": 1}, {"model__": 1}, {"vectorizer__nope": 1, "model__beam": 3}):
        with pytest.raises(ParameterError, match="no parameter"):
            tagger.set_params(n_threads=2, **wrong)
    assert tagger.n_threads is None
    assert tagger.model.beam == 10


def test_a_calibration_is_for_as_many_labels_as_each_tree_is_asked_for():
    X, Y = generated(n_rows=600, n_labels=60)
    how = {"tree": "balanced", "arity": 2, "max_leaf": 2}
    for n_trees, others in ((1, (4, 6)), (3, (11, 17))):
        model = lw.TreeClassifier(**how, n_trees=n_trees).fit(X, Y)
        plain = {k: model.predict_topk(X, k) for k in (5, *others)}
        model.calibrate(X, k=5, loss=0.3)
        assert not same(model.predict_topk(X, 5), plain[5])
        for k in others:
            assert same(model.predict_topk(X, k), plain[k])


def test_negatives_from_the_beam_in_a_tree_of_a_single_leaf():
    for how in ({"negatives": "beam"}, {"negatives": "both", "copies": 2}, {"negatives": "beam", "rounds": 1}):
        model = lw.TreeClassifier(**how).fit(np.eye(6), np.eye(6))
        assert model.predict_topk(np.eye(6), 1).ids.ravel().tolist() == [0, 1, 2, 3, 4, 5]
