"""Compares MultiInstanceClassifier with slow and simple versions, and tests it on problems with known answers."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from scipy import sparse
from tests.contract import test_features as contract
from tests.contract.conftest import generated

import labelwood as lw
from labelwood.errors import LabelwoodError, ModelError, NotFittedError, ParameterError
from labelwood.groups import MultiInstanceClassifier
from labelwood.groups.multi_instance import training
from labelwood.groups.multi_instance.bags import as_bags
from labelwood.groups.multi_instance.network import Network

pytestmark = pytest.mark.deep

Quick = partial(MultiInstanceClassifier, n_threads=1, device="cpu")
WEIGHTS = ("hidden_weights", "hidden_bias", "concept_weights", "concept_bias", "offsets")


def network(rng, n_features=5, n_labels=3, **more):
    """A network of random numbers, including biases."""
    plain = Network.random(n_features=n_features, hidden=7, concepts=2, n_labels=n_labels, seed=0)
    numbers = {name: rng.normal(size=getattr(plain, name).shape).astype(np.float32) for name in WEIGHTS}
    return replace(plain, **numbers, **more)


def slow_instance_scores(net, X):
    V1 = np.zeros((len(X), *net.concept_bias.shape))
    for i, x in enumerate(X):
        inner = np.maximum(x @ net.hidden_weights + net.hidden_bias, 0)
        for c in range(net.concept_bias.shape[0]):
            V1[i, c] = np.maximum(inner @ net.concept_weights[:, c, :] + net.concept_bias[c], 0)
    return V1.max(axis=1)


def slow_bag_scores(net, X):
    V2 = slow_instance_scores(net, X)
    M = np.ones_like(V2)
    if net.embeddings is not None:
        rows = X / np.linalg.norm(X, axis=1, keepdims=True) if net.affinity == "cosine" else X
        powers = np.exp(net.temperature * rows @ net.embeddings.T)
        M = len(X) * powers / powers.sum(axis=0)
    return (V2 * M).max(axis=0)


def forward(net, X, sizes):
    learned = {name: torch.tensor(getattr(net, name), requires_grad=True) for name in WEIGHTS}
    hot = None if not net.attends else torch.tensor(net.temperature * net.embeddings)
    return training.Forward(learned, hot, net.affinity)(torch.tensor(X), np.array(sizes)), learned


@pytest.mark.parametrize("affinity", ["cosine", "product"])
@pytest.mark.parametrize("sizes", [[4, 4, 4], [1, 5, 2, 1]])
def test_numpy_and_torch_follow_the_definition(affinity, sizes):
    rng = np.random.default_rng(0)
    embeddings = rng.normal(size=(3, 5)).astype(np.float32)
    net = network(rng, embeddings=embeddings, temperature=1.7, affinity=affinity)
    parts = [rng.normal(size=(n, 5)).astype(np.float32) for n in sizes]
    expected = np.array([slow_bag_scores(net, part) for part in parts])
    assert len(np.unique(expected)) > 3
    np.testing.assert_allclose(net.bag_scores(as_bags(parts), 0, len(sizes)), expected, rtol=1e-4)
    np.testing.assert_allclose(net.instance_scores(parts[1]), slow_instance_scores(net, parts[1]), rtol=1e-4)
    logits, _ = forward(net, np.concatenate(parts), sizes)
    np.testing.assert_allclose(logits.detach().numpy(), expected + net.offsets, rtol=1e-4)


def test_bags_of_different_sizes_have_the_same_scores_together_and_alone():
    rng = np.random.default_rng(1)
    net = network(rng, embeddings=rng.normal(size=(3, 5)).astype(np.float32), temperature=3.0)
    sizes = [3, 1, 6]
    X = rng.normal(size=(10, 5)).astype(np.float32)
    together = forward(net, X, sizes)[0].detach().numpy()
    alone = [forward(net, part, [len(part)])[0].detach().numpy()[0] for part in np.split(X, [3, 4])]
    np.testing.assert_allclose(together, alone, rtol=1e-5)


def test_with_temperature_zero_or_one_instance_it_is_deep_miml():
    rng = np.random.default_rng(2)
    plain = network(rng)
    embeddings = rng.normal(size=(3, 5)).astype(np.float32)
    X = rng.normal(size=(8, 5)).astype(np.float32)
    bags, alone = as_bags(X.reshape(2, 4, 5)), as_bags(X)
    for net in (replace(plain, embeddings=embeddings), replace(plain, temperature=5.0)):
        assert np.array_equal(net.bag_scores(bags, 0, 2), plain.bag_scores(bags, 0, 2))
        assert torch.equal(forward(net, X, [4, 4])[0], forward(plain, X, [4, 4])[0])
    attending = replace(plain, embeddings=embeddings, temperature=5.0)
    assert not np.allclose(attending.bag_scores(bags, 0, 2), plain.bag_scores(bags, 0, 2))
    assert np.array_equal(attending.bag_scores(alone, 0, 8), plain.instance_scores(X))


@pytest.mark.parametrize("sizes", [[3, 3], [2, 4]])
def test_gradients_reach_every_layer(sizes):
    rng = np.random.default_rng(3)
    net = network(rng, embeddings=rng.normal(size=(3, 5)).astype(np.float32), temperature=1.0)
    logits, learned = forward(net, rng.normal(size=(6, 5)).astype(np.float32), sizes)
    logits.sum().backward()
    for name, tensor in learned.items():
        assert torch.isfinite(tensor.grad).all(), name
        assert tensor.grad.abs().max() > 0, name


def planted(seed=0, n_bags=400, size=4, n_labels=6, n_features=12):
    """Instances near one of several prototypes; a bag's labels count its prototypes."""
    rng = np.random.default_rng(seed)
    prototypes = np.random.default_rng(99).normal(size=(n_labels, n_features))
    classes = rng.integers(n_labels, size=(n_bags, size))
    X = prototypes[classes] + 0.5 * rng.normal(size=(n_bags, size, n_features))
    Y = np.array([np.bincount(row, minlength=n_labels) for row in classes])
    return X.astype(np.float32), Y, classes


def summed(X, groups, Y):
    """EAGLE's first embeddings: the unit-length sum of the rows of a label's bags."""
    sums = Y.T @ np.array([X[groups == bag].sum(axis=0) for bag in range(Y.shape[0])])
    return sums / np.linalg.norm(sums, axis=1, keepdims=True)


@pytest.mark.parametrize("loss", ["softmax", "sigmoid"])
@pytest.mark.parametrize("label_embeddings", [None, summed])
def test_labels_of_instances_are_learned_from_labels_of_bags(loss, label_embeddings):
    X, Y, _ = planted()
    model = Quick(loss=loss, label_embeddings=label_embeddings, hidden=32).fit(X, Y)
    other, other_Y, classes = planted(seed=1)
    top = model.predict_topk(other.reshape(-1, 12), k=1).ids.ravel()
    assert (top == classes.ravel()).mean() > 0.95
    in_bag = model.predict_bags(other, k=1).ids.ravel()
    assert (other_Y[np.arange(len(other)), in_bag] > 0).mean() > 0.95
    assert model.score(other.reshape(-1, 12), np.eye(6)[classes.ravel()]) > 0.95


def test_counts_help_if_every_bag_has_every_label():
    X, Y, _ = planted(n_bags=300, size=30)
    assert (Y > 0).mean() > 0.95
    other, _, classes = planted(seed=1)

    def right(labels):
        model = Quick(hidden=32, batch_size=8, label_embeddings=summed).fit(X, labels)
        return (model.predict_topk(other.reshape(-1, 12), k=1).ids.ravel() == classes.ravel()).mean()

    assert right(Y) > right(np.sign(Y)) + 0.1


def test_every_form_of_the_same_bags_gives_the_same_model():
    X, Y, _ = planted(n_bags=20)
    rows, groups = X.reshape(-1, 12), np.repeat(np.arange(20), 4)
    order = np.random.default_rng(0).permutation(len(rows))
    order = order[np.argsort(groups[order], kind="stable")]  # changes the order of rows in bags, not that of bags
    fit = Quick(epochs=2).fit
    expected = fit(X, Y).predict_topk(rows, 3)
    for bags in (list(X), tuple(X), (rows, groups), [sparse.csr_array(bag) for bag in X]):
        assert np.array_equal(fit(bags, sparse.csr_array(Y)).predict_topk(rows, 3).scores, expected.scores)
    mixed = fit((rows[order], groups), Y).predict_topk(rows, 3)
    np.testing.assert_allclose(mixed.scores, expected.scores, rtol=1e-3)
    read_only = X.copy()
    read_only.flags.writeable = False
    assert np.array_equal(fit(read_only, Y).predict_topk(rows, 3).scores, expected.scores)


def test_sparse_rows_give_the_answers_of_dense_ones():
    X, Y, _ = planted(n_bags=20)
    rows, groups = X.reshape(-1, 12), np.repeat(np.arange(20), 4)
    model = Quick(epochs=2, label_embeddings=summed).fit((rows, groups), Y)
    for answer in (partial(model.predict_bags, k=3), lambda bags: model.predict_topk(bags[0], k=3)):
        a, b = answer((rows, groups)), answer((sparse.csr_array(rows), groups))
        assert np.array_equal(a.ids, b.ids)
        assert np.array_equal(a.scores, b.scores)


def test_embeddings_can_be_a_matrix_a_fitted_object_or_a_function():
    X, Y, _ = planted(n_bags=20)
    made = summed(X.reshape(-1, 12), np.repeat(np.arange(20), 4), Y)

    class Learned:
        label_embeddings_ = made

    fit = partial(MultiInstanceClassifier, n_threads=1, epochs=2, centre=False)
    models = [fit(label_embeddings=e).fit(X, Y) for e in (made, sparse.csr_array(made), Learned(), lambda *_: made)]
    for model in models:
        assert np.array_equal(model.network_.embeddings, made.astype(np.float32))
        assert np.array_equal(model.network_.hidden_weights, models[0].network_.hidden_weights)
    assert not np.array_equal(fit().fit(X, Y).network_.hidden_weights, models[0].network_.hidden_weights)


def test_embeddings_are_centred():
    X, Y, _ = planted(n_bags=20)
    given = summed(X.reshape(-1, 12), np.repeat(np.arange(20), 4), Y) + 5
    embeddings = Quick(epochs=1, label_embeddings=given).fit(X, Y).network_.embeddings
    moved = given - given.mean(axis=0)
    longer = np.linalg.norm(given, axis=1) / np.linalg.norm(moved, axis=1)
    np.testing.assert_allclose(embeddings, moved * longer[:, None], rtol=1e-4, atol=1e-5)
    for alike in (np.full((6, 12), 2.0), np.zeros((6, 12))):  # centred, they would be zero
        assert np.array_equal(Quick(epochs=1, label_embeddings=alike).fit(X, Y).network_.embeddings, alike)


def test_a_bag_of_weight_three_is_like_three_copies():
    X, Y, _ = planted(n_bags=20)
    weights = np.ones(20)
    weights[:5] = 3
    repeated = np.repeat(np.arange(20), weights.astype(int))
    whole = partial(Quick, epochs=5, batch_size=100)  # all bags in every step
    often = whole().fit(X[repeated], Y[repeated]).predict_bags(X, k=6).scores
    np.testing.assert_allclose(whole().fit(X, Y, row_weights=weights).predict_bags(X, k=6).scores, often, rtol=1e-3)
    assert abs(whole().fit(X, Y).predict_bags(X, k=6).scores - often).max() > 1e-2
    with pytest.raises(ParameterError, match="row_weights"):
        whole().fit(X, Y, row_weights=-weights)


def test_the_seed_decides_the_weights():
    X, Y, _ = planted(n_bags=30)
    one, two, three = (Quick(epochs=3, label_embeddings=summed, seed=seed).fit(X, Y).network_ for seed in (5, 5, 6))
    for name in WEIGHTS:
        assert np.array_equal(getattr(one, name), getattr(two, name))
    assert not np.array_equal(one.hidden_weights, three.hidden_weights)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("label_embeddings", [None, summed])
def test_a_saved_network_gives_the_same_answers(tmp_path, verify, label_embeddings):
    X, Y, _ = planted(n_bags=30)
    model = Quick(epochs=2, hidden=9, temperature=2.0, loss="sigmoid", label_embeddings=label_embeddings).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = lw.load(tmp_path / "model", verify=verify)
    assert type(loaded) is MultiInstanceClassifier
    assert (loaded.n_labels_, loaded.n_features_in_, loaded.epochs_) == (6, 12, 2)
    assert contract.same(loaded.predict_topk(X[0], k=3), model.predict_topk(X[0], k=3))
    assert contract.same(loaded.predict_bags(X, k=3), model.predict_bags(X, k=3))
    if label_embeddings is not None:
        with pytest.raises(ParameterError, match="does not keep embeddings as a parameter"):
            loaded.fit(X, Y)


def test_a_saved_network_answers_without_torch(tmp_path):
    X, Y, _ = planted(n_bags=10)
    Quick(epochs=1, label_embeddings=summed).fit(X, Y).save(tmp_path / "model")
    code = f"""
import sys
sys.modules["torch"] = None
import numpy as np, labelwood as lw
model = lw.load({str(tmp_path / "model")!r})
print(model.predict_bags(np.ones((2, 3, 12)), k=1).ids.shape, model.predict_topk(np.ones((1, 12)), k=2).ids.shape)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(2, 1) (1, 2)"


def test_torch_is_loaded_only_for_training():
    code = """
import sys, labelwood, labelwood.groups
from labelwood.cli import status_of
status_of(["--help"])
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_without_torch_the_error_names_the_extra_to_install(monkeypatch):
    monkeypatch.setattr(training, "find_spec", lambda name: None if name == "torch" else importlib.util.find_spec(name))
    with pytest.raises(LabelwoodError, match=r"pip install 'labelwood\[deep\]'"):
        Quick().fit(np.eye(2), np.eye(2))


def test_arrays_with_contradictory_shapes_are_refused():
    X, Y, _ = planted(n_bags=10)
    state = Quick(epochs=1, hidden=9).fit(X, Y).state()
    for change in (
        {"hidden_bias": np.zeros(8, np.float32)},
        {"concept_weights": np.zeros((9, 4, 7), np.float32)},
        {"offsets": np.full(6, np.nan, np.float32)},
        {"label_embeddings": np.zeros((6, 5), np.float32)},
    ):
        with pytest.raises(ModelError, match="save the model again"):
            MultiInstanceClassifier.from_state(replace(state, arrays={**state.arrays, **change}))


def test_an_interrupt_leaves_the_last_finished_epoch(monkeypatch):
    X, Y, _ = planted(n_bags=40)
    two = Quick(epochs=2, batch_size=20).fit(X, Y)
    losses, calls = training._losses, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) > stop:
            raise KeyboardInterrupt
        return losses(*arguments)

    monkeypatch.setattr(training, "_losses", interrupted)
    stop = 5  # steps: two epochs and a half
    model = Quick(epochs=10, batch_size=20)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert model.epochs_ == 2
    assert contract.same(model.predict_topk(X[0]), two.predict_topk(X[0]))
    calls.clear()
    stop = 1
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert contract.same(model.predict_topk(X[0]), two.predict_topk(X[0]))  # interrupted in the first epoch


def test_progress_is_shown_when_asked_for(capsys):
    X, Y, _ = planted(n_bags=10)
    Quick(epochs=1).fit(X, Y)
    assert capsys.readouterr().err == ""
    Quick(epochs=1, verbose=True).fit(X, Y)
    assert "training" in capsys.readouterr().err


def test_torch_keeps_its_number_of_threads():
    before = torch.get_num_threads()
    Quick(epochs=1).fit(np.eye(2), np.eye(2))
    assert torch.get_num_threads() == before


X3, Y3 = np.ones((2, 3, 4), np.float32), np.eye(2)
BAD_BAGS = [
    ((X3, np.eye(3)), "Y has 3 rows and there are 2 bags"),
    ((X3, None), "Y is missing"),
    ((X3, -Y3), "below zero"),
    ((X3, Y3[:, :0]), "at least one label"),
    ((X3, Y3 * np.nan), "Y contains NaN"),
    ((X3 * np.inf, Y3), "bags contains NaN or infinity"),
    ((X3[:, :0], Y3), "give each bag at least one"),
    ((X3[:0], Y3[:0]), "give at least one of each"),
    (([np.ones((2, 3)), np.ones((2, 4))], Y3), "bag 1 has 4 features and bag 0 has 3"),
    (([np.ones((2, 3)), np.ones((0, 3))], Y3), "bag 1 has no row"),
    (([[[1.0, 2.0]], [[1.0], [2.0, 3.0]]], Y3), "bag 1 has rows of different lengths"),
    (((X3[0], [0, 1]), Y3), "groups must be 3 whole numbers"),
    (((X3[0], [0.0, 1.0, 1.0]), Y3), "groups must be 3 whole numbers"),
    (((X3[0], [0, 0, -1]), Y3), "groups holds -1"),
    (((X3[0], [0, 0, 10**12]), Y3), "groups holds 1000000000000"),
    (((X3[0], [0, 0, 2]), Y3), "no row is in bag 1"),
    (((X3[0], [0, 0, 1], 3), Y3), "needs two"),
    (([], Y3), "needs two"),
    ((["a text"], Y3), "TextClassifier"),
]


@pytest.mark.parametrize(("bad", "words"), BAD_BAGS, ids=[words for _, words in BAD_BAGS])
def test_unusable_bags_are_refused_in_one_sentence(bad, words):
    with pytest.raises(LabelwoodError, match=words):
        Quick(epochs=1).fit(*bad)


class Unfitted:
    def fit(self):
        """Never called."""


BAD_PARAMETERS = [
    ({"hidden": 0}, "hidden is 0"),
    ({"temperature": -1.0}, "temperature is -1.0"),
    ({"loss": "hinge"}, "loss is 'hinge'"),
    ({"device": "abacus"}, "device is 'abacus', which cannot be used here"),
    ({"label_embeddings": np.ones((3, 4))}, r"the shape \(3, 4\), but there are 2 labels and 4 features"),
    ({"label_embeddings": np.full((2, 4), np.nan)}, "label_embeddings contains NaN"),
    ({"label_embeddings": "eagle"}, "label_embeddings is 'eagle'"),
    ({"label_embeddings": Unfitted()}, "call its fit first"),
    ({"learning_rate": 1e30}, "ran away"),
]


@pytest.mark.parametrize(("params", "words"), BAD_PARAMETERS, ids=[words for _, words in BAD_PARAMETERS])
def test_invalid_parameters_are_refused_in_one_sentence(params, words):
    with pytest.raises(LabelwoodError, match=words):
        MultiInstanceClassifier(**{"epochs": 3, "n_threads": 1, **params}).fit(X3, Y3)


def test_answers_for_bags_need_a_fitted_network_and_its_features():
    with pytest.raises(NotFittedError, match="call fit first"):
        Quick().predict_bags(X3)
    model = Quick(epochs=1).fit(X3, Y3)
    with pytest.raises(LabelwoodError, match=r"X has 5 features, but .* is expecting 4"):
        model.predict_bags(np.ones((1, 2, 5)))
    with pytest.raises(ParameterError, match="k must be"):
        model.predict_bags(X3, k=0)
    assert model.predict_bags(X3, k=5).ids.shape == (2, 5)
    assert (model.predict_bags(X3, k=1, exclude=[0]).ids == 1).all()


# The contract's tests for models over features also hold for bags of one.
PROMISES = [
    contract.test_answers_are_sorted_unique_and_of_the_right_shape,
    contract.test_it_learns_more_than_popularity,
    contract.test_one_row_many_rows_and_any_chunking_give_the_same_answer,
    contract.test_a_smaller_k_gives_the_beginning_of_a_larger_one,
    contract.test_predict_marks_the_best_labels,
    contract.test_training_again_forgets_what_was_learned_before,
    contract.test_answers_keep_within_limits,
]
PROMISES_WITHOUT_DATA = [
    contract.test_native_rows_give_the_answer_of_sparse_rows,
    contract.test_empty_rows_and_labels_without_rows_are_fine,
    contract.test_one_row_one_feature_one_label_are_enough,
    contract.test_64_bit_indices_unsorted_columns_and_duplicates_give_the_same_answer,
]


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_promises_for_dense_rows(promise):
    X, Y = generated()
    promise(Quick, (X.toarray(), Y))


@pytest.mark.parametrize("promise", PROMISES_WITHOUT_DATA, ids=lambda promise: promise.__name__)
def test_promises_with_their_own_data(promise):
    promise(MultiInstanceClassifier)


@pytest.mark.parametrize("verify", [True, False])
def test_saving_and_loading_follow_the_contract(verify, tmp_path):
    make = partial(MultiInstanceClassifier, epochs=2)
    contract.test_save_and_load_give_identical_answers(make, generated(n_rows=50), tmp_path, verify)
    kept = json.loads((tmp_path / "model" / "manifest.json").read_text())["model"]["params"]
    assert not {"device", "verbose", "n_threads"} & set(kept)


def test_weights_with_overflowing_sums_give_no_nan_scores():
    model = MultiInstanceClassifier(epochs=2, n_threads=1).fit(np.eye(3), np.eye(3))
    state = model.state()
    state.arrays["hidden_weights"] = np.full_like(state.arrays["hidden_weights"], 3e38)
    state.arrays["concept_weights"] = np.full_like(state.arrays["concept_weights"], -3e38)
    top = MultiInstanceClassifier.from_state(state).predict_topk(np.full((2, 3), 3e38), 3)
    assert not np.isnan(top.scores).any()


def test_too_large_counts_are_refused():
    with pytest.raises(LabelwoodError, match=r"Y says that a bag has a label 3e\+38 times: give counts of at most"):
        MultiInstanceClassifier(epochs=1, n_threads=1).fit(np.eye(3), np.full((3, 3), 3e38))
