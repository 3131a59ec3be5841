"""FusedClassifier as users see it: members learn, are calibrated, answer together, and are saved and loaded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from tests.dual_encoder.samples import QUICK, texts_and_labels

import labelwood as lw
from labelwood import store
from labelwood.errors import LabelwoodError, ModelError, NotFittedError

pytestmark = pytest.mark.deep


def members():
    return [lw.TextClassifier(n_threads=1), lw.PrimeClassifier(settings=QUICK, n_threads=1)]


@pytest.fixture(scope="module")
def data():
    return texts_and_labels(n=240)


@pytest.fixture(scope="module")
def fitted(data):
    return lw.FusedClassifier(members=members(), held_out=0.2, candidates=10).fit(*data)


def same(a, b):
    return np.array_equal(a.ids, b.ids) and np.array_equal(a.scores, b.scores)


def test_it_learns_and_answers(fitted, data):
    texts, Y, _ = data
    assert fitted.score(texts, Y) > 0.9
    assert fitted.predict(texts).shape == (240, 24)
    assert fitted.predict_topk(texts[:3], k=30).ids.shape == (3, 30)
    assert fitted.fusion_.gains_.keys() == {"P@1", "P@5", "PSP@5"}


def test_answers_equal_the_fusion_of_its_members_answers(fitted, data):
    texts = data[0][:20]
    answers = [member.predict_topk(texts, 10) for member in fitted.members_]
    assert same(fitted.predict_topk(texts, 5), fitted.fusion_.combine(answers, 5))


def test_members_learn_again_from_all_rows_unless_refit_is_false(fitted, data):
    texts, Y, label_texts = data
    assert fitted.members_[0].n_rows_ == 240
    once = lw.FusedClassifier(members=members()[:1], held_out=0.2, refit=False).fit(texts, Y)
    assert once.members_[0].n_rows_ == 192
    alone = lw.PrimeClassifier(settings=QUICK, n_threads=1).fit(texts, Y, label_texts)
    assert np.array_equal(fitted.members_[1].prototypes_, alone.prototypes_)


def test_limits_are_kept(fitted, data):
    texts = data[0][:5]
    assert set(fitted.predict_topk(texts, 3, include=[2, 5]).ids.ravel().tolist()) == {2, 5, -1}
    assert not (fitted.predict_topk(texts, 24, exclude=[7]).ids == 7).any()
    top = fitted.predict_topk(texts, 24, min_score=0.5)
    assert (top.scores[top.ids >= 0] >= 0.5).all()
    assert (top.scores[top.ids < 0] == -np.inf).all()


def test_a_loaded_model_gives_the_same_answers(fitted, data, tmp_path):
    fitted.save(tmp_path / "model")
    for verify in (True, False):
        loaded = lw.load(tmp_path / "model", verify=verify)
        assert same(loaded.predict_topk(data[0], 5), fitted.predict_topk(data[0], 5))
    assert loaded.fusion_.gains_ == fitted.fusion_.gains_
    assert loaded.get_params(deep=False).keys() == fitted.get_params(deep=False).keys()


def test_checkpoints_of_both_trainings_are_kept_apart(data, tmp_path):
    settings = {**QUICK, "training": {**QUICK["training"], "checkpoint_every": 2}}
    prime = lw.PrimeClassifier(settings=settings, checkpoints=str(tmp_path / "run"), n_threads=1)
    lw.FusedClassifier(members=[prime]).fit(*data)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "run-part"]


def test_filters_reach_each_member_with_the_row_numbers_it_sees(data, monkeypatch):
    texts, Y, label_texts = data
    seen = []
    learn = lw.PrimeClassifier.fit

    def fit(self, texts, Y, label_texts, *, filters=None):
        seen.append([(texts[row].as_py(), label) for row, label in filters.tolist()])
        return learn(self, texts, Y, label_texts, filters=filters)

    monkeypatch.setattr(lw.PrimeClassifier, "fit", fit)
    pairs = [(row, 23) for row in range(0, 240, 7)]
    lw.FusedClassifier(members=members()[1:], held_out=0.5).fit(texts, Y, label_texts, filters=pairs)
    expected = [(texts[row], label) for row, label in pairs]
    assert seen[1] == expected
    assert 0 < len(seen[0]) < len(expected)
    assert set(seen[0]) <= set(expected)


def test_filtered_pairs_are_replaced_by_the_next_best_labels(fitted, data):
    texts = data[0][:3]
    best = fitted.predict_topk(texts, 20)
    pairs = [(0, best.ids[0, 0]), (0, best.ids[0, 2]), (2, best.ids[2, 1])]
    kept = fitted.predict_topk(texts, 20, filters=pairs)
    assert kept.ids.shape == (3, 20)
    for row in range(3):
        filtered = {label for at, label in pairs if at == row}
        assert not filtered & set(kept.ids[row].tolist())
    assert np.array_equal(kept.ids[1], best.ids[1]), "rows without a pair do not change"
    inside = fitted.predict_topk(texts, 3, include=[2, 5], filters=[(0, 2)])
    assert inside.ids[0].tolist() == [5, -1, -1]


def test_ids_can_come_from_an_iterator(fitted, data):
    texts = data[0][:3]
    assert same(fitted.predict_topk(texts, 3, include=iter([2, 5])), fitted.predict_topk(texts, 3, include=[2, 5]))


def test_members_of_a_loaded_model_use_its_number_of_threads(fitted, data, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = lw.load(tmp_path / "model").set_params(n_threads=2)
    loaded.predict_topk(data[0][:2], 3)
    words, encoder = loaded.members_
    assert words.model_.n_threads == words.vectorizer_.n_threads == encoder.n_threads == 2


def test_checkpoints_of_models_inside_members_are_kept_apart_too(data, tmp_path):
    settings = {**QUICK, "training": {**QUICK["training"], "checkpoint_every": 2, "epochs": 1}}
    inner = lw.PrimeClassifier(settings=settings, checkpoints=str(tmp_path / "run"))
    lw.FusedClassifier(members=[lw.FusedClassifier(members=[inner])], n_threads=1).fit(*data)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "run-part", "run-part-part"]
    assert inner.checkpoints == str(tmp_path / "run")


@pytest.mark.parametrize("tail", [0, 1, np.float64(0.5)])
def test_a_tail_of_any_number_type_survives_saving(data, tmp_path, tail):
    model = lw.FusedClassifier(members=members()[:1], tail=tail, refit=False).fit(data[0], data[1])
    model.save(tmp_path / "model")
    assert lw.load(tmp_path / "model").fusion_.tail_ == tail


def test_a_model_is_saved_only_in_the_process_in_which_its_members_write(fitted, tmp_path, monkeypatch):
    prime = next(member for member in fitted.members_ if isinstance(member, lw.PrimeClassifier))
    monkeypatch.setattr(prime, "_writes", False)  # as in all processes but the main one
    named = lw.TextClassifier()
    named.model_ = prime
    for number, model in enumerate((prime, fitted, named)):
        model.save(tmp_path / str(number))
    assert not list(tmp_path.iterdir())


def hostile_changes(state):
    """States with one contradiction each, and a name for it."""
    fusion, parts = state.parts["fusion"], state.parts
    yield "member", replace(state, parts={name: parts[name] for name in ("member-0", "fusion")})
    yield "fusion", replace(state, parts={name: parts[name] for name in ("member-0", "member-1")})
    yield "count", replace(state, fitted={**state.fitted, "n_members": 10**12})
    yield "labels", replace(state, fitted={**state.fitted, "n_labels": 23})
    yield "twice", replace(state, params={**state.params, "members": []})
    yield "per-row", replace(state, fitted={**state.fitted, "labels_per_row": 10**9})
    yield "params", replace(state, params={**state.params, "held_out": 7.0})
    yield "kind", replace(state, parts={**parts, "member-0": parts["member-0"].parts["model"]})
    changed = {
        "nan": {"weights": fusion.arrays["weights"] * np.nan},
        "narrow": {"weights": fusion.arrays["weights"][:-1]},
        "falling": {"knots": -1 - np.arange(64.0).reshape(2, 32)},
        "zero": {"scales": fusion.arrays["scales"] * 0},
        "few": {"inv_propensity": fusion.arrays["inv_propensity"][:-1]},
        "negative": {"inv_propensity": -fusion.arrays["inv_propensity"]},
        "single": {"odds": fusion.arrays["odds"].astype(np.float32)},
    }
    for name, arrays in changed.items():
        yield name, replace(state, parts={**parts, "fusion": replace(fusion, arrays={**fusion.arrays, **arrays})})
    for name, fitted in {"tail": {"tail": 2.0}, "word": {"tail": "x"}, "models": {"n_models": 3}}.items():
        yield name, replace(state, parts={**parts, "fusion": replace(fusion, fitted={**fusion.fitted, **fitted})})


def test_hostile_files_are_refused(fitted, tmp_path):
    for name, state in hostile_changes(fitted.state()):
        store.write(tmp_path / name, state)
        with pytest.raises(LabelwoodError) as e:
            lw.load(tmp_path / name)
        assert "\n" not in str(e.value), name


def test_parts_without_a_model_are_refused(fitted, tmp_path):
    state = fitted.state()
    unknown = replace(state.parts["member-0"], kind="pickle")
    store.write(tmp_path / "m", replace(state, parts={**state.parts, "member-0": unknown}))
    with pytest.raises(ModelError):
        lw.load(tmp_path / "m")


def test_label_texts_are_needed_only_if_a_member_needs_them(data):
    inner = lw.FusedClassifier(members=members()[:1], refit=False)
    assert lw.FusedClassifier(members=[inner], refit=False).fit(data[0], data[1]).n_labels_ == 24


def test_it_can_be_cloned():
    assert clone(lw.FusedClassifier(members=members(), held_out=0.3)).held_out == 0.3


def test_wrong_use_is_one_clear_sentence(data):
    texts, Y, label_texts = data
    cases = [
        ({"members": []}, (texts, Y), "members must be classifiers"),
        ({"members": [lw.TreeClassifier()]}, (texts, Y), "members must be classifiers"),
        ({"members": members()}, (texts, Y), "give label_texts"),
        ({"members": members()}, (texts[:1], Y[:1], label_texts), "too few to hold some out"),
        ({"members": members(), "held_out": 1.0}, data, "held_out is 1.0"),
    ]
    for options, arguments, sentence in cases:
        with pytest.raises(LabelwoodError, match=sentence) as e:
            lw.FusedClassifier(**options).fit(*arguments)
        assert "\n" not in str(e.value)
    with pytest.raises(NotFittedError):
        lw.FusedClassifier(members=members()).predict_topk(["a"])
