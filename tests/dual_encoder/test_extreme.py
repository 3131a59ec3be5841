"""Classifiers on top of an encoder: their loss, which weights change, and how they are used, saved and loaded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.dual_encoder.samples import changed, texts_and_labels

import labelwood as lw
from labelwood import store
from labelwood.arrays.rows import as_labels
from labelwood.dual_encoder.settings import PrimeSettings
from labelwood.dual_encoder.training.extreme import ClassifierTrainer, classifier_scores
from labelwood.dual_encoder.training.losses import hardest_triplets
from labelwood.errors import LabelwoodError, ModelError

pytestmark = pytest.mark.deep

CLASSIFIERS = {"enabled": True, "epochs": 20, "size": 32, "warm_up": 5, "learning_rate": 0.01}
WITH = changed(classifiers=CLASSIFIERS)


def settings_with(**classifiers):
    return PrimeSettings().with_changes({"classifiers": classifiers})


def made(n=40, n_labels=10, dim=16, seed=0):
    """Random unit vectors of queries and prototypes, and rows × labels."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n + n_labels, dim)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    Y = np.zeros((n, n_labels), np.float32)
    Y[np.arange(n), np.arange(n) % n_labels] = 1
    Y[::3, 0] = 1
    return torch.from_numpy(vectors[:n]), vectors[n:], as_labels(Y, n)


def loss_by_hand(similarities, truth, *, margin, n_positives, n_negatives, weighting, temperature):
    total = 0.0
    for sims, true in zip(similarities, truth, strict=True):
        positives = sorted(sims[true])[:n_positives]
        negatives = np.array(sorted(sims[~true], reverse=True)[:n_negatives])
        for positive in positives:
            losses = np.maximum(0, margin - positive + negatives)
            if weighting == "losses":
                weights = np.where(losses > 0, np.exp(losses), 1e-30)
            else:
                weights = np.exp(np.where(losses > 0, negatives, 0) / temperature)
            total += (weights / weights.sum() * losses).mean()
    return total / len(similarities)


@pytest.mark.parametrize("weighting", ["losses", "masked"])
def test_the_loss_uses_the_hardest_positives_and_negatives(weighting):
    rng = np.random.default_rng(1)
    sims, truth = rng.uniform(-1, 1, (5, 9)), rng.random((5, 9)) < 0.4
    truth[0, 1:] = False  # fewer positives than n_positives
    truth[0, 0] = True
    how = {"margin": 0.3, "n_positives": 3, "n_negatives": 4, "weighting": weighting, "temperature": 0.2}
    found = hardest_triplets(torch.from_numpy(sims), torch.from_numpy(truth), torch.from_numpy(truth), **how)
    assert found.item() == pytest.approx(loss_by_hand(sims, truth, **how), rel=1e-9)


def test_a_row_with_only_true_columns_has_no_loss():
    every = torch.ones(1, 3, dtype=torch.bool)
    assert hardest_triplets(torch.zeros(1, 3), every, every).item() == 0


def test_a_never_negative_column_is_neither_positive_nor_negative():
    sims, truth = torch.tensor([[0.5, 0.9, 0.4]]), torch.tensor([[True, False, False]])
    never_negative = torch.tensor([[True, True, False]])
    assert hardest_triplets(sims, truth, never_negative).item() == pytest.approx(0.1)


def test_filtered_pairs_are_no_negatives():
    queries, prototypes, Y = made()
    marks = Y.to_scipy().toarray()
    marks[1, 4] = 1  # a pair that is neither right nor wrong
    how, both = settings_with(margin=1.0, dropout=0.0), np.array([1, 4])
    trainer = ClassifierTrainer(queries, prototypes, Y, how, never_negative=as_labels(marks, 40))
    assert trainer.step(both).item() < ClassifierTrainer(*made(), how).step(both).item()
    texts, Y, label_texts = texts_and_labels()
    model = lw.PrimeClassifier(settings=WITH).fit(texts, Y, label_texts, filters=[(0, 3)])
    assert model.classifiers_.shape == (24, 32)
    with pytest.raises(LabelwoodError, match="filters name label 24"):
        model.fit_classifiers(texts, Y, filters=[(0, 24)])


def test_weights_start_as_unit_prototypes():
    queries, prototypes, Y = made()
    trainer = ClassifierTrainer(queries, 3 * prototypes, Y, settings_with())
    assert np.allclose(trainer.weights.weight.detach().numpy(), prototypes, atol=1e-6)


def test_only_weights_of_labels_in_the_batch_change():
    queries, prototypes, Y = made()
    trainer = ClassifierTrainer(queries, prototypes, Y, settings_with(warm_up=0))
    before = trainer.weights.weight.detach().clone()
    trainer.step(np.array([1, 2, 4]))  # their labels have these numbers
    moved = (trainer.weights.weight.detach() != before).any(dim=1).nonzero().ravel().tolist()
    assert moved == [1, 2, 4]


def test_classifiers_learn_from_rows_and_labels_without_rows_keep_their_prototypes():
    queries, prototypes, Y = made(n_labels=11, dim=64)
    Y = as_labels(Y.to_scipy().toarray() * (np.arange(11) < 10), 40)
    rows = np.flatnonzero(np.diff(Y.indptr))
    queries, Y = queries[rows], as_labels(Y.to_scipy()[rows], len(rows))
    trainer = ClassifierTrainer(
        queries, prototypes, Y, settings_with(epochs=100, size=16, warm_up=10, learning_rate=0.02)
    )
    learned = trainer.train()
    assert trainer.done == trainer.total
    assert np.allclose(np.linalg.norm(learned, axis=1), 1, atol=1e-5)
    assert np.allclose(learned[10], prototypes[10], atol=1e-6)

    def share_right(vectors):
        best = (queries.numpy() @ vectors.T).argmax(axis=1)
        return Y.to_scipy()[np.arange(len(best)), best].mean()

    assert share_right(prototypes) < 0.3
    assert share_right(learned) > 0.8


def test_similar_queries_share_batches_if_cluster_size_says_so():
    queries, prototypes, Y = made()
    trainer = ClassifierTrainer(queries, prototypes, Y, settings_with(cluster_size=4))
    assert np.diff(trainer.order.starts).min() > 1
    assert sorted(trainer.order.of_epoch(0).tolist()) == list(range(40))


def test_learning_rates_rise_and_fall():
    queries, prototypes, Y = made()
    trainer = ClassifierTrainer(queries, prototypes, Y, settings_with(epochs=4, size=40, warm_up=2))
    assert [trainer.rate(step) for step in range(4)] == [0.5, 1.0, 1.0, 0.5]


def test_fused_scores_are_the_mean_of_both():
    queries, prototypes, _ = made()
    classifiers = prototypes[::-1].copy()
    both = queries.numpy() @ classifier_scores(prototypes, classifiers, "fused").T
    assert np.allclose(both, (queries.numpy() @ prototypes.T + queries.numpy() @ classifiers.T) / 2, atol=1e-6)


@pytest.fixture(scope="module")
def data():
    return texts_and_labels()


@pytest.fixture(scope="module")
def fitted(data):
    return lw.PrimeClassifier(settings=WITH).fit(*data)


def scores_of(model, data, scores):
    try:
        return model.set_params(scores=scores).predict_topk(data[0], 24)
    finally:
        model.set_params(scores="fused")


def test_a_model_answers_with_prototypes_classifiers_or_both(fitted, data):
    queries = fitted.embed(data[0])
    expected = {"prototypes": fitted.prototypes_, "classifiers": fitted.classifiers_}
    expected["fused"] = (fitted.prototypes_ + fitted.classifiers_) / 2
    for scores, vectors in expected.items():
        top = scores_of(fitted, data, scores)
        rows = np.arange(len(queries))[:, None]
        assert np.allclose(top.scores, (queries @ vectors.T)[rows, top.ids], atol=1e-5), scores
    assert np.array_equal(fitted.predict_topk(data[0], 24).ids, scores_of(fitted, data, "fused").ids)


def test_classifiers_added_to_a_fitted_model_equal_those_of_fit(fitted, data):
    model = lw.PrimeClassifier(settings=changed(classifiers={**CLASSIFIERS, "enabled": False})).fit(*data)
    assert model.classifiers_ is None
    before = model.prototypes_.copy()
    model.predict_topk(data[0], 5)
    model.fit_classifiers(*data[:2])
    assert np.array_equal(model.prototypes_, before)
    assert np.array_equal(model.classifiers_, fitted.classifiers_)
    assert np.array_equal(model.predict_topk(data[0], 5).ids, fitted.predict_topk(data[0], 5).ids)


def test_a_loaded_model_has_its_classifiers(fitted, data, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = lw.load(tmp_path / "model")
    for scores in ("fused", "prototypes", "classifiers"):
        assert np.array_equal(scores_of(loaded, data, scores).ids, scores_of(fitted, data, scores).ids)
    assert loaded.add_labels(["label3 name3"]) == [24]
    assert np.array_equal(loaded.classifiers_[24], loaded.prototypes_[24])
    assert (loaded.predict_topk(data[0][:2], 25).ids >= 0).all()


def test_hostile_classifiers_are_refused(fitted, tmp_path):
    state, good = fitted.state(), fitted.classifiers_
    bad = {"few": good[:-1], "narrow": good[:, :8].copy(), "nan": good * np.nan, "double": good.astype(np.float64)}
    for name, classifiers in bad.items():
        store.write(tmp_path / name, replace(state, arrays={**state.arrays, "classifiers": classifiers}))
        with pytest.raises(ModelError) as e:
            lw.load(tmp_path / name)
        assert "\n" not in str(e.value), name


def test_wrong_use_is_one_clear_sentence(fitted, data):
    with pytest.raises(LabelwoodError, match="scores is 'best' but should be 'fused', 'prototypes' or 'classifiers'"):
        lw.PrimeClassifier(settings=WITH, scores="best").fit(*data)
    with pytest.raises(LabelwoodError, match="24 label"):
        fitted.fit_classifiers(["a"], np.ones((1, 3)))
    without = lw.PrimeClassifier(settings=changed(training={"epochs": 1})).fit(*data)
    with pytest.raises(LabelwoodError, match="no classifiers"):
        without.set_params(scores="classifiers").predict_topk(data[0], 5)
