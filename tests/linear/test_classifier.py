"""Training of TreeClassifier and OneVsRest."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from tests.contract.conftest import generated

import labelwood as lw
from labelwood.arrays.rows import as_labels
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.labels.order import canonical
from labelwood.trees import interpolated


def gradient(X, y, w, b, *, cost=1.0, positive_weight=1.0, bias=1.0):
    """Of ½(|w|² + v²) + Σ C max(0, 1 − y(w·x + b))² where b is v times the bias; at the optimum it is zero."""
    slack = np.maximum(0, 1 - y * (X @ w + b)) * np.where(y > 0, cost * positive_weight, cost)
    return np.append(w - 2 * X.T @ (slack * y), b / bias - 2 * bias * (slack * y).sum())


@pytest.mark.parametrize(
    ("cost", "positive_weight", "bias"), [(1.0, 1.0, 1.0), (0.3, 1.0, 0.3), (2.0, 4.0, 1.0), (1.0, 1.0, 2.0)]
)
def test_classifiers_minimise_the_squared_hinge(cost, positive_weight, bias):
    X, Y = generated(n_rows=120, n_features=30, n_labels=21)
    model = lw.OneVsRest(
        cost=cost,
        positive_weight=positive_weight,
        bias=bias,
        normalize=False,
        tolerance=1e-5,
        max_passes=5000,
        threshold=0,
        precision="float32",
    ).fit(X, Y)
    weights, biases = model.trees_[0].block(0)
    dense, marks = X.toarray().astype(np.float64), Y.toarray()
    for place, label in enumerate(model.trees_[0].tree.labels):
        y = np.where(marks[:, label] > 0, 1.0, -1.0)
        w = weights[:, [place]].toarray().ravel().astype(np.float64)
        assert (
            abs(
                gradient(dense, y, w, float(biases[place]), cost=cost, positive_weight=positive_weight, bias=bias)
            ).max()
            < 2e-3
        )


@pytest.mark.parametrize("cost", [1.0, 5.0])
def test_classifiers_minimise_the_logistic_loss(cost):
    X, Y = generated(n_rows=120, n_features=30, n_labels=21)
    model = lw.OneVsRest(
        loss="logistic",
        cost=cost,
        bias=1.0,
        normalize=False,
        tolerance=1e-3,
        max_passes=3000,
        threshold=0,
        precision="float32",
        link="sigmoid",
    ).fit(X, Y)
    weights, biases = model.trees_[0].block(0)
    dense, marks = X.toarray().astype(np.float64), Y.toarray()
    for place, label in enumerate(model.trees_[0].tree.labels):
        y = np.where(marks[:, label] > 0, 1.0, -1.0)
        w, b = weights[:, [place]].toarray().ravel().astype(np.float64), float(biases[place])
        pull = cost * y / (1 + np.exp(y * (dense @ w + b)))
        assert abs(np.append(w - dense.T @ pull, b - pull.sum())).max() < 0.02
    assert model.score(X, Y) > 0.5


def test_a_node_is_trained_on_the_rows_that_have_a_label_below_it():
    X, Y = generated(n_rows=150, n_features=25, n_labels=12)
    exact = {
        "tolerance": 1e-5,
        "max_passes": 5000,
        "threshold": 0,
        "precision": "float32",
    }
    model = lw.TreeClassifier(tree="balanced", arity=3, max_leaf=4, bias=1.0, normalize=False, **exact).fit(X, Y)
    tree = model.trees_[0].tree
    dense, marks = X.toarray().astype(np.float64), Y.toarray() > 0
    for node in range(1, tree.n_nodes):
        labels = tree.labels[tree.label_ptr[node] : tree.label_ptr[node + 1]]
        rows = marks[:, labels].any(axis=1)
        weights, biases = model.trees_[0].block(node)
        for place, label in enumerate(labels):
            y = np.where(marks[rows, label], 1.0, -1.0)
            w = weights[:, [place]].toarray().ravel().astype(np.float64)
            assert abs(gradient(dense[rows], y, w, float(biases[place]))).max() < 2e-3


@pytest.mark.parametrize("negatives", ["beam", "both"])
def test_negatives_from_the_beam_are_the_rows_sent_to_a_node(negatives):
    X, Y = generated(n_rows=150, n_features=25, n_labels=12)
    exact = {
        "tolerance": 1e-5,
        "max_passes": 5000,
        "threshold": 0,
        "precision": "float32",
    }
    shape = {"tree": "balanced", "arity": 4, "max_leaf": 3, "beam": 2}
    model = lw.TreeClassifier(negatives=negatives, bias=1.0, normalize=False, **shape, **exact).fit(X, Y)
    tree = model.trees_[0].tree
    dense, marks = X.toarray().astype(np.float64), Y.toarray() > 0
    weights, biases = model.trees_[0].block(0)
    order = np.argsort(-np.minimum(dense @ weights.toarray() + biases, 1), axis=1, kind="stable")
    for node in range(1, tree.n_nodes):
        labels = tree.labels[tree.label_ptr[node] : tree.label_ptr[node + 1]]
        rows = (order[:, :2] == node - 1).any(axis=1)
        if negatives == "both":
            rows |= marks[:, labels].any(axis=1)
        weights, biases = model.trees_[0].block(node)
        for place, label in enumerate(labels):
            y = np.where(marks[rows, label], 1.0, -1.0)
            w = weights[:, [place]].toarray().ravel().astype(np.float64)
            assert abs(gradient(dense[rows], y, w, float(biases[place]))).max() < 2e-3


@pytest.mark.parametrize("negatives", ["beam", "both"])
def test_negatives_from_the_beam_work_where_leaves_lie_at_different_depths(negatives):
    from labelwood.trees import LabelTree

    X, Y = generated()
    given = LabelTree.from_nested([[0, 1], [[2, 3, 4], [[5], list(range(6, 25))]], list(range(25, 40))])
    model = lw.TreeClassifier(tree=given, negatives=negatives, beam=2).fit(X, Y)
    assert model.score(X, Y) > 0.6
    same = lw.TreeClassifier(tree=given, negatives=negatives, beam=2, n_threads=1).fit(X, Y)
    assert np.array_equal(same.predict_topk(X, 5).scores, model.predict_topk(X, 5).scores)


def test_small_weights_are_dropped_and_the_largest_kept():
    X, Y = generated()
    assert (abs(lw.OneVsRest(threshold=0.3, precision="float32").fit(X, Y).trees_[0].block(0)[0].data) >= 0.3).all()
    few = lw.OneVsRest(threshold=0, max_weights=5, precision="float32").fit(X, Y).trees_[0].block(0)[0].tocsc()
    every = lw.OneVsRest(threshold=0, precision="float32").fit(X, Y).trees_[0].block(0)[0].tocsc()
    for column in range(few.shape[1]):
        kept = few[:, [column]].toarray().ravel()
        assert (kept != 0).sum() == 5
        whole = abs(every[:, [column]].toarray().ravel())
        assert set(np.flatnonzero(kept)) == set(np.argsort(-whole)[:5])


@pytest.mark.parametrize(("precision", "close"), [("float16", 1e-3), ("int8", 1e-2)])
def test_fewer_bits_change_weights_little(precision, close):
    X, Y = generated()
    whole = lw.OneVsRest(precision="float32").fit(X, Y).trees_[0].block(0)[0].toarray()
    short = lw.OneVsRest(precision=precision).fit(X, Y).trees_[0].block(0)[0].toarray()
    assert abs(whole - short).max() <= close * abs(whole).max()


def test_several_trees_are_averaged():
    X, Y = generated()
    three = lw.TreeClassifier(n_trees=3, arity=2, max_leaf=4, seed=5).fit(X, Y)
    singles = [lw.TreeClassifier(arity=2, max_leaf=4, seed=5 + i).fit(X, Y).predict_topk(X, 40) for i in range(3)]
    dense = np.mean([top.to_scipy(40).toarray() for top in singles], axis=0)
    top = three.predict_topk(X, 3)
    np.testing.assert_allclose(top.scores, np.sort(dense, axis=1)[:, ::-1][:, :3], atol=2e-2)


def test_labels_are_arranged_as_asked_for(tmp_path):
    from labelwood.trees import LabelTree

    X, Y = generated()
    for name in ("balanced", "kmeans", "random"):
        assert lw.TreeClassifier(tree=name, arity=4, max_leaf=5).fit(X, Y).score(X, Y) > 0.5
    given = LabelTree.from_nested([[0, 1], [list(range(2, 20)), list(range(20, 40))]])
    model = lw.TreeClassifier(tree=given).fit(X, Y)
    kept = model.trees_[0].tree.arrays()
    assert all(np.array_equal(kept[name], array) for name, array in given.arrays().items())
    model.save(tmp_path / "m")
    loaded = lw.load(tmp_path / "m")
    assert np.array_equal(loaded.predict_topk(X, 5).ids, model.predict_topk(X, 5).ids)
    with pytest.raises(ParameterError, match="give it again"):
        loaded.fit(X, Y)
    with pytest.raises(LabelwoodError, match="the tree holds 40 labels and Y has 39"):
        lw.TreeClassifier(tree=given).fit(X, Y[:, :39])


def test_long_rows_are_brought_to_unit_length():
    X, Y = generated()
    lengths = sparse.diags_array(np.random.default_rng(0).uniform(1, 1000, X.shape[0]).astype(np.float32))
    plain, long = lw.TreeClassifier().fit(X, Y), lw.TreeClassifier().fit(sparse.csr_array(lengths @ X), Y)
    a, b = plain.predict_topk(X, 5), long.predict_topk(sparse.csr_array(lengths @ X), 5)
    np.testing.assert_allclose(a.scores, b.scores, atol=0.02)
    assert long.score(X, Y) == pytest.approx(plain.score(X, Y), abs=0.01)


@pytest.mark.slow
def test_trees_beat_centroids_on_the_sample():
    train, test = lw.data.sample()
    scores = {
        name: lw.TextClassifier(model=name).fit_dataset(train).evaluate(test, ks=(1, 5), metrics=("P",))
        for name in ("centroid", "tree")
    }
    assert scores["tree"]["P@1"] > scores["centroid"]["P@1"] + 20
    assert scores["tree"]["P@5"] > scores["centroid"]["P@5"] + 20


def big_problem(rows=4000, features=3000, labels=600):
    rng = np.random.default_rng(0)
    X = sparse.random_array((rows, features), density=0.03, rng=rng, dtype=np.float32).tocsr()
    Y = sparse.csr_array((sparse.random_array((rows, labels), density=0.01, rng=rng) != 0).astype(np.float32))
    return X, Y


def test_ctrl_c_stops_training_within_a_second():
    X, Y = big_problem()
    model = lw.OneVsRest(tolerance=1e-9, max_passes=100_000)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert time.monotonic() - start < 0.5 + 1.0 + 1.0  # the signal, the promise, and a busy machine
    timer.join()
    assert not hasattr(model, "n_labels_"), "an interrupted model is not fitted"


@pytest.mark.slow
def test_memory_does_not_grow_with_threads_times_features_times_labels():
    code = """
import sys, numpy as np, labelwood as lw
from scipy import sparse
rng = np.random.default_rng(0)
X = sparse.random_array((5000, 60000), density=0.001, rng=rng, dtype=np.float32).tocsr()
Y = sparse.csr_array((sparse.random_array((5000, 3000), density=0.001, rng=rng) != 0).astype(np.float32))
lw.OneVsRest(n_threads=int(sys.argv[1]), max_passes=2).fit(X, Y)
print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
"""
    peaks = [
        int(subprocess.run([sys.executable, "-c", code, n], capture_output=True, text=True, check=True).stdout)
        for n in ("1", "8")
    ]
    # Eight threads may hold the weights of sixteen classifiers and the rows' multipliers each: 8 × (60,000 + 5,000) ×
    # 64 bytes. All weights at once would be 60,000 × 3,000 × 4 bytes a thread.
    assert peaks[1] - peaks[0] < 8 * 65_000 * 64 / 1024 * 2
    assert peaks[1] < 60_000 * 3_000 * 4 / 1024


def test_progress_is_shown_on_request(capsys):
    X, Y = big_problem(1000, 500, 200)
    lw.TreeClassifier(verbose=True).fit(X, Y)
    assert "tree 1 of 1" in capsys.readouterr().err


def test_an_interpolated_tree_is_that_of_the_builder():
    rng = np.random.default_rng(3)
    X = sparse.csr_array(rng.random((80, 12)) * (rng.random((80, 12)) < 0.4), dtype=np.float32)
    Y = sparse.csr_array(rng.random((80, 20)) < 0.2, dtype=np.float32)
    model = lw.TreeClassifier(tree="interpolated", lam=1.5, max_leaf=2, normalize=False, seed=4).fit(X, Y)
    order = canonical(as_labels(Y, 80))[0]
    built = interpolated(lw.labels.pifa(X, Y)[order], Y[:, order], lam=1.5, max_leaf=2, seed=4).renamed(order)
    assert all(np.array_equal(model.trees_[0].tree.arrays()[name], array) for name, array in built.arrays().items())


def chain(vectors, Y, seed):
    """A tree of one's own making: every label in a leaf of its own, one below the other."""
    nested = [[Y.shape[1] - 1]]
    for label in reversed(range(Y.shape[1] - 1)):
        nested = [[label], nested]
    assert vectors.shape[0] == Y.shape[1]
    assert seed in (4, 5)
    return lw.trees.LabelTree.from_nested(nested)


def test_a_function_makes_the_trees(tmp_path):
    X, Y = generated(n_rows=80, n_features=20, n_labels=6)
    model = lw.TreeClassifier(tree=chain, n_trees=2, seed=4).fit(X, Y)
    assert [tree.tree.depths.max() for tree in model.trees_] == [6, 6]
    model.save(tmp_path / "model")
    loaded = lw.load(tmp_path / "model")
    assert loaded.tree == "given"
    assert np.array_equal(loaded.predict_topk(X, 3).ids, model.predict_topk(X, 3).ids)


def test_a_function_that_makes_no_tree_of_these_labels_is_refused():
    X, Y = generated(n_rows=40, n_features=20, n_labels=6)
    with pytest.raises(LabelwoodError, match="returned int: return a LabelTree"):
        lw.TreeClassifier(tree=lambda vectors, Y, seed: 3).fit(X, Y)
    with pytest.raises(LabelwoodError, match="holds 2 labels and Y has 6"):
        lw.TreeClassifier(tree=lambda vectors, Y, seed: lw.trees.LabelTree.from_nested([[0], [1]])).fit(X, Y)


@pytest.mark.parametrize("n_trees", [1, 3])
def test_a_calibrated_search_looks_at_less_and_loses_no_more_than_it_may(n_trees, tmp_path):
    X, Y = generated(n_rows=6000, n_features=60, n_labels=300, seed=1)
    model = lw.TreeClassifier(tree="balanced", arity=2, max_leaf=4, n_trees=n_trees).fit(X[:2000], Y[:2000])
    exact, before = model.predict_topk(X[4000:], 3), model.search_costs(X[4000:], 3)
    model.calibrate(X[2000:4000], k=3, loss=0.2)
    found, after = model.predict_topk(X[4000:], 3), model.search_costs(X[4000:], 3)
    changed = (found.ids != exact.ids).any(axis=1).mean()
    assert 0 < changed <= 0.2
    assert after["leaves"] < before["leaves"]
    others = model.predict_topk(X[4000:], 3, exclude=[299])
    assert (others.ids != found.ids).any()  # requests with limits are searched exactly
    model.save(tmp_path / "model")
    assert np.array_equal(lw.load(tmp_path / "model").predict_topk(X[4000:], 3).ids, found.ids)
    assert model.fit(X[:2000], Y[:2000]).slacks_ is None


def test_too_few_rows_cannot_calibrate():
    X, Y = generated(n_rows=50, n_features=20, n_labels=9)
    with pytest.raises(ParameterError, match="299 rows are needed and there are 50"):
        lw.TreeClassifier().fit(X, Y).calibrate(X, loss=0.01)
    with pytest.raises(ParameterError, match="between 0 and 1"):
        lw.TreeClassifier().fit(X, Y).calibrate(X, loss=1.5)


def test_a_single_row_has_the_answers_it_has_among_many():
    X, Y = generated(n_rows=300, n_features=60, n_labels=40)
    model = lw.TreeClassifier(max_leaf=5).fit(X, Y)
    many = model.predict_topk(X, 4)
    for kind in (sparse.csr_array, sparse.csr_matrix):
        for row in range(100):
            one = model.predict_topk(kind(X[row : row + 1]), 4)
            assert np.array_equal(one.ids[0], many.ids[row])
            assert np.array_equal(one.scores[0], many.scores[row])


def test_a_single_row_that_needs_more_care_gets_it():
    X, Y = generated(n_rows=300, n_features=60, n_labels=40)
    model = lw.TreeClassifier(max_leaf=5).fit(X, Y)
    row = X[:1]
    expected = model.predict_topk(X, 4).ids[0]
    backwards = sparse.csr_array((row.data[::-1], row.indices[::-1], row.indptr), shape=row.shape)
    for same in (row.astype(np.float64), row.tocsc(), backwards, row.toarray()):
        assert np.array_equal(model.predict_topk(same, 4).ids[0], expected)
    assert model.predict_topk(row, 50).k == 50
    assert expected[0] not in model.predict_topk(row, 4, exclude=expected[:1]).ids
    with pytest.raises(LabelwoodError, match="59 features"):
        model.predict_topk(row[:, :59], 4)
    with pytest.raises(LabelwoodError, match="NaN"):
        model.predict_topk(sparse.csr_array((row.data * np.nan, row.indices, row.indptr), shape=row.shape), 4)
    for k in (0, True, 2.5):
        with pytest.raises(ParameterError, match="k must be"):
            model.predict_topk(row, k)


def test_a_single_row_may_have_indices_of_either_width(monkeypatch):
    X, Y = generated(n_rows=300, n_features=60, n_labels=40)
    model = lw.TreeClassifier(max_leaf=5).fit(X, Y)
    wide = X[:1].copy()
    wide.indptr, wide.indices = wide.indptr.astype(np.int64), wide.indices.astype(np.int64)
    expected = model.predict_topk(X, 4).ids[0]
    monkeypatch.setattr(lw.TreeClassifier, "_topk", lambda *_: pytest.fail("the long way was taken"))
    for row in (X[:1], wide):
        assert np.array_equal(model.predict_topk(row, 4).ids[0], expected)
