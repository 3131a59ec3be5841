"""Softmax trees: gradients, exact search, any tree, the same model for any number of threads, compression."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood import _native
from labelwood.arrays.options import options_of
from labelwood.arrays.rows import as_features, as_labels
from labelwood.contract.limits import NO_LIMITS
from labelwood.errors import LabelwoodError, ModelError, ParameterError
from labelwood.trees import LabelTree, with_single_leaves

WIDTH = 8
WIDE = LabelTree.from_nested([[[0], [1], [2]], [[3]], [[[4], [5]], [6]]])  # three children, an only child, two depths


def data(seed=0, n_rows=300, n_features=50, n_labels=7):
    """Rows that lean towards the features of their labels."""
    rng = np.random.default_rng(seed)
    prototypes = rng.random((n_labels, n_features)) * (rng.random((n_labels, n_features)) < 0.2)
    Y = rng.random((n_rows, n_labels)) < 0.3
    Y[np.arange(n_rows), rng.integers(n_labels, size=n_rows)] = True
    X = Y @ prototypes + 0.2 * rng.random((n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.1)
    return sparse.csr_array(X.astype(np.float32)), sparse.csr_array(Y.astype(np.float32))


def log_chances(tree, vectors, mean):
    """The logarithm of each label's chance, by walking the whole tree."""
    first = np.concatenate([[0], np.cumsum(np.maximum(np.diff(tree.child_ptr) - 1, 0))])
    scores = np.zeros(tree.n_nodes)
    found = np.empty(tree.n_labels)
    for node in range(tree.n_nodes):
        children = np.arange(tree.child_ptr[node], tree.child_ptr[node + 1])
        if len(children) == 0:
            found[tree.labels[tree.label_ptr[node]]] = scores[node]
            continue
        raw = np.concatenate([[0.0], vectors[first[node] : first[node + 1]] @ mean])
        scores[children] = scores[node] + raw - np.log(np.exp(raw).sum())
    return found


def mean_of(x, embeddings, scaling):
    length = np.linalg.norm(x) if scaling == "unit" else np.abs(x).sum()
    return (x / length) @ embeddings


def loss_of(tree, vectors, mean, labels):
    if tree is None:
        scores = vectors @ mean
        target = np.isin(np.arange(len(vectors)), labels)
        return np.where(target, np.log1p(np.exp(-scores)), np.log1p(np.exp(scores))).sum()
    return -log_chances(tree, vectors, mean)[labels].mean()


def numeric_gradient(loss, array):
    gradient = np.zeros_like(array)
    for at in np.ndindex(array.shape):
        kept = array[at]
        values = []
        for step in (1e-5, -1e-5):
            array[at] = kept + step
            values.append(loss())
        array[at] = kept
        gradient[at] = (values[0] - values[1]) / 2e-5
    return gradient


@pytest.mark.parametrize("scaling", ["unit", "mean"])
@pytest.mark.parametrize("tree", [WIDE, lw.trees.huffman([5, 4, 3, 2, 1, 1, 1]), None])
def test_a_small_step_goes_down_the_gradient(tree, scaling):
    rng = np.random.default_rng(1)
    n_features, n_labels, rate = 6, 7, 2e-4
    x = rng.random((1, n_features)) + 0.1
    labels = np.array([1, 4, 5])
    Y = np.zeros((1, n_labels))
    Y[0, labels] = 1
    n_vectors = n_labels if tree is None else int(np.maximum(np.diff(tree.child_ptr) - 1, 0).sum())
    embeddings = rng.normal(size=(n_features, WIDTH)).astype(np.float32)
    vectors = rng.normal(size=(n_vectors, WIDTH)).astype(np.float32)
    before = embeddings.astype(np.float64), vectors.astype(np.float64)
    rows, truth = as_features(x, sparse_only=True), as_labels(Y, 1)
    how = {"epochs": 1, "learning_rate": rate, "targets": "all", "decay": 0.0, "scaling": scaling}
    how |= {"batch_rows": 64, "batch_entries": 1 << 13, "seed": 0}
    _native.train_softmax(
        rows=rows,
        labels=truth,
        tree=tree,
        options=options_of(_native.SoftmaxOptions, how),
        row_weights=np.empty(0, np.float32),
        embeddings=embeddings,
        vectors=vectors,
        n_threads=1,
        progress=_native.Progress(),
    )

    def loss():
        return loss_of(tree, before[1], mean_of(x[0], before[0], scaling), labels)

    for after, start in zip((embeddings, vectors), before, strict=True):
        expected = -numeric_gradient(loss, start)
        assert np.abs((after - start) / rate - expected).max() < 0.01 * np.abs(expected).max()


def test_a_drawn_label_s_step_is_the_step_for_that_label_alone():
    X, Y = sparse.csr_array(np.eye(1, 5, dtype=np.float32)), np.array([[0, 1, 1, 0]])
    drawn = [
        lw.SoftmaxTreeClassifier(targets="drawn", epochs=1, seed=seed, tree="random").fit(X, Y) for seed in range(20)
    ]
    alone = {
        (label, seed): lw.SoftmaxTreeClassifier(epochs=1, seed=seed, tree=model.trained_.tree).fit(
            X, np.eye(1, 4, label)
        )
        for seed, model in enumerate(drawn)
        for label in (1, 2)
    }
    chosen = []
    for seed, model in enumerate(drawn):
        vectors = model.trained_.vectors.plain
        chosen.append([label for label in (1, 2) if np.array_equal(vectors, alone[label, seed].trained_.vectors.plain)])
    assert all(len(labels) == 1 for labels in chosen)
    assert {labels[0] for labels in chosen} == {1, 2}


@pytest.mark.parametrize("loss", ["softmax", "one-vs-rest"])
@pytest.mark.parametrize("targets", ["all", "drawn"])
def test_any_number_of_threads_gives_the_same_bytes(loss, targets, monkeypatch):
    monkeypatch.setattr(
        "labelwood.softmax_tree.classifier._WORTH_A_THREAD", 0
    )  # all of them, however little there is to do
    X, Y = data(n_labels=40)
    make = lw.SoftmaxTreeClassifier
    models = [make(loss=loss, targets=targets, dim=20, n_threads=n).fit(X, Y).trained_ for n in (1, 2, 8)]
    for other in models[1:]:
        assert np.array_equal(models[0].embeddings.plain, other.embeddings.plain)
        assert np.array_equal(models[0].vectors.plain, other.vectors.plain)


@pytest.mark.parametrize("tree", ["huffman", "interpolated", "balanced", "random", WIDE])
def test_answers_are_the_likeliest_labels_of_the_whole_tree(tree):
    X, Y = data()
    model = lw.SoftmaxTreeClassifier(tree=tree, dim=12, n_threads=1).fit(X, Y)
    trained = model.trained_
    top = model.predict_topk(X, k=7)
    means = model.embed(X)
    for row in range(30):
        x = X[[row]].toarray()[0]
        assert np.allclose(means[row], mean_of(x, trained.embeddings.plain, "unit"), atol=1e-5)
        expected = np.exp(
            log_chances(trained.tree, trained.vectors.plain.astype(np.float64), means[row].astype(np.float64))
        )
        assert np.allclose(top.scores[row], np.sort(expected)[::-1], atol=1e-5)
        assert np.allclose(expected[top.ids[row]], top.scores[row], atol=1e-5)
    assert np.allclose(top.scores.sum(axis=1), 1, atol=1e-4)


@pytest.mark.parametrize("beam", [None, 1, 2, 5])
def test_best_first_and_level_by_level_give_the_same_answers(beam):
    X, Y = data(n_labels=60)
    model = lw.SoftmaxTreeClassifier(tree="interpolated", dim=12).fit(X, Y)
    rows = as_features(X)
    best, opened = model.trained_.topk(rows, 5, beam=beam, limits=NO_LIMITS, n_threads=1)
    level, all_opened = model.trained_.topk(rows, 5, beam=beam, limits=NO_LIMITS, n_threads=1, best_first=False)
    assert np.array_equal(best.ids, level.ids)
    assert np.array_equal(best.scores, level.scores)
    assert opened <= all_opened


def test_one_vs_rest_ranks_every_label_by_its_own_sigmoid():
    X, Y = data()
    model = lw.SoftmaxTreeClassifier(loss="one-vs-rest", dim=12, epochs=30).fit(X, Y)
    assert model.trained_.tree is None
    top = model.predict_topk(X, k=7)
    scores = 1 / (1 + np.exp(-(model.embed(X) @ model.trained_.vectors.plain.T)))
    assert np.allclose(np.sort(scores, axis=1)[:, ::-1], top.scores, atol=1e-5)
    assert lw.metrics.evaluate(top, Y, ks=(1,))["P@1"] > 80


def test_leaves_of_several_labels_are_split():
    crowded = LabelTree.from_nested([[0, 1, 2], [3], [[4, 5], [6]]])
    single = with_single_leaves(crowded)
    assert single.leaf_sizes.tolist() == [1] * 7
    assert single.label_depths.tolist() == [2, 2, 2, 1, 3, 3, 2]
    X, Y = data()
    assert lw.SoftmaxTreeClassifier(tree=crowded, dim=8).fit(X, Y).trained_.tree.n_nodes == single.n_nodes


def test_a_label_in_two_leaves_is_one_answer_with_the_likelier_of_them():
    X, Y = data()
    twice = LabelTree.from_nested([[0, 1, 2], [2, 3, 4, 5, 6]])
    model = lw.SoftmaxTreeClassifier(tree=twice, dim=8, epochs=5).fit(X, Y)
    assert len(model.trained_.tree.labels) == 8
    top = model.predict_topk(X, k=7)
    assert (np.sort(top.ids, axis=1) == np.arange(7)).all()
    assert (top.scores.sum(axis=1) < 1).all()  # the other leaf of label 2 has some of the chance


def test_features_that_no_row_has_add_nothing():
    X, Y = data()
    wider = sparse.hstack([X, sparse.csr_array((X.shape[0], 3), dtype=np.float32)], format="csr")
    model = lw.SoftmaxTreeClassifier(dim=8).fit(wider, Y)
    assert not model.trained_.embeddings.plain[-3:].any()


def test_large_learning_rates_do_not_run_away():
    X, Y = data()
    for loss in ("softmax", "one-vs-rest"):
        for rate in (1.0, 10.0):
            model = lw.SoftmaxTreeClassifier(loss=loss, learning_rate=rate, epochs=20).fit(X, Y)
            assert model.score(X, Y) > 0.8


@pytest.mark.slow
def test_it_beats_centroids_on_the_sample():
    train, test = lw.data.sample()
    scores = [
        lw.TextClassifier(model=name).fit_dataset(train).evaluate(test, ks=(1,))
        for name in ("softmax-tree", "centroid")
    ]
    assert scores[0]["P@1"] > scores[1]["P@1"]


@pytest.mark.parametrize("loss", ["softmax", "one-vs-rest"])
def test_a_compressed_model_answers_nearly_the_same(tmp_path, loss):
    X, Y = data(n_rows=800, n_features=600, n_labels=30)
    model = lw.SoftmaxTreeClassifier(dim=20, loss=loss).fit(X, Y)
    small = model.compressed(max_features=500)
    assert small.score(X, Y) > model.score(X, Y) - 0.05
    assert small.trained_.embeddings.codes.shape == (500, 10)
    assert small.trained_.vectors.plain is model.trained_.vectors.plain  # so few that codes would take more
    small.save(tmp_path / "small")
    loaded = lw.load(tmp_path / "small")
    assert np.array_equal(loaded.predict_topk(X).ids, small.predict_topk(X).ids)
    with pytest.raises(LabelwoodError, match="compressed already"):
        loaded.compressed()
    with pytest.raises(ParameterError, match="part"):
        model.compressed(part=0)


@pytest.mark.slow
def test_a_compressed_classifier_forgets_terms(tmp_path):
    train, _ = lw.data.sample()
    large = lw.TextClassifier(model=lw.SoftmaxTreeClassifier(dim=32)).fit_dataset(train)
    small = large.compressed(max_features=500)
    assert small.vectorizer_.n_features_ == small.model_.n_features_in_ == 500
    assert large.vectorizer_.n_features_ > 500
    small.save(tmp_path / "small")
    texts = train.texts.to_pylist()[:50]
    assert lw.load(tmp_path / "small").suggest(texts, k=3) == small.suggest(texts, k=3)
    with pytest.raises(ParameterError, match="cannot be compressed"):
        lw.TextClassifier(model="centroid").fit_dataset(train).compressed()


def test_embeddings_begin_with_word_vectors(tmp_path):
    path = tmp_path / "words.vec"
    path.write_text("2 3\ndog 1 2 3\nunheard 4 5 6\n")
    model = lw.SoftmaxTreeClassifier(dim=3, epochs=1, learning_rate=1e-9, word_vectors=path)
    tagger = lw.TextClassifier(model=model).fit(["a dog barks", "one rose"], [["animal"], ["plant"]])
    names = tagger.vectorizer_.get_feature_names_out().tolist()
    embeddings = tagger.model_.trained_.embeddings.plain
    assert np.allclose(embeddings[names.index("dog")], [1, 2, 3], atol=1e-6)
    assert np.abs(np.delete(embeddings, names.index("dog"), axis=0)).max() < 1
    tagger.save(tmp_path / "model")
    assert lw.load(tmp_path / "model").model_.word_vectors is None
    with pytest.raises(ParameterError, match="dim is 5"):
        lw.TextClassifier(model=model.set_params(dim=5)).fit(["a dog"], [["animal"]])
    with pytest.raises(ParameterError, match="feature_names"):
        model.fit(np.eye(2), np.eye(2))


def _changed(**arrays):
    """Replaces arrays of a state, or takes them away."""

    def change(state):
        return {name: a for name, a in {**state.arrays, **arrays}.items() if a is not None}

    return change


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("embeddings", lambda a: a[:-1]),
        ("embeddings", lambda a: a[:, :-1].copy()),
        ("embeddings", lambda a: a.astype(np.float64)),
        ("vectors", lambda a: a[1:]),
        ("vectors", lambda a: np.where(a == a.max(), np.nan, a).astype(np.float32)),
        ("child_ptr", lambda a: a[::-1].copy()),
        ("child_ptr", lambda a: None),
        ("labels", lambda a: a + 1),
        ("labels", np.zeros_like),
        ("embeddings.codes", lambda a: a[:, 1:].copy()),
        ("embeddings.centers", lambda a: a[1:]),
        ("embeddings.scales", lambda a: a[1:]),
        ("vectors.scales", lambda a: a * np.inf),
        ("kept", lambda a: a[::-1].copy()),
        ("kept", lambda a: a + 1000),
        ("kept", lambda a: a[:-1]),
    ],
)
def test_arrays_that_do_not_fit_each_other_are_refused(name, damage):
    X, Y = data(n_rows=100, n_features=500, n_labels=400)
    model = lw.SoftmaxTreeClassifier(dim=8, epochs=1).fit(X, Y)
    state = model.state()
    if name not in state.arrays:
        state = model.compressed(max_features=400).state()
    damaged = dataclasses.replace(state, arrays=_changed(**{name: damage(state.arrays[name])})(state))
    with pytest.raises(ModelError, match="save"):
        lw.SoftmaxTreeClassifier.from_state(damaged)


def test_a_model_that_has_forgotten_features_is_not_compressed_again():
    few = lw.SoftmaxTreeClassifier(dim=4, epochs=30).fit(np.eye(30), np.eye(30)).compressed(max_features=20)
    assert few.trained_.embeddings.plain is not None  # too small for codes
    for again in (lambda: few.compressed(max_features=10), lambda: few.restricted_to(np.array([0, 29], np.int32))):
        with pytest.raises(LabelwoodError, match="compressed already"):
            again()
