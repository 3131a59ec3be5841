"""Labels that lie where each of their meanings lies."""

import hashlib

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.errors import ParameterError
from labelwood.metrics import evaluate
from labelwood.softmax_tree import disentangling
from labelwood.trees import LabelTree
from labelwood.trees.cutting import cut

PLAIN = {"tree": "balanced", "arity": 4, "max_leaf": 12, "beam": 2}


def rows_of_topics(seed=0, n_rows=900, n_topics=24, of_topic=8):
    """Each topic has words and labels of its own; label 0 of every even topic is that of the next topic too."""
    random = np.random.default_rng(seed)
    X = np.zeros((n_rows, n_topics * 10), np.float32)
    Y = np.zeros((n_rows, n_topics * of_topic), bool)
    for row in range(n_rows):
        topic = random.integers(n_topics)
        own = random.choice(of_topic, 2, replace=False)
        for label in own:
            X[row, topic * 10 + label] = 1
            shared = topic - topic % 2 if label == 0 else topic
            Y[row, shared * of_topic + label] = True
        X[row, topic * 10 + 8 :][:2] = 0.5
        X[row, random.integers(X.shape[1], size=4)] += 0.7
    used = Y.any(axis=0)
    return sparse.csr_array(X), sparse.csr_array(Y[:, used])


def digest(model):
    found = hashlib.sha256()
    for name, array in sorted(model.state().arrays.items()):
        found.update(name.encode() + array.tobytes())
    return found.hexdigest()


@pytest.fixture(scope="module")
def rows():
    return rows_of_topics()


def test_without_rounds_it_is_the_plain_model(rows):
    plain = lw.TreeClassifier(**PLAIN).fit(*rows)
    assert digest(lw.TreeClassifier(**PLAIN, copies=1, rounds=0).fit(*rows)) == digest(plain)
    assert digest(lw.TreeClassifier(**PLAIN, copies=3, rounds=0).fit(*rows)) == digest(plain)


@pytest.mark.parametrize("how", [{}, {"refit": "ranker"}, {"matching": "out-of-fold"}, {"rounds": 2}, {"n_trees": 2}])
def test_labels_get_more_leaves_but_no_more_than_copies(rows, how):
    model = lw.TreeClassifier(**PLAIN, copies=3, **how).fit(*rows)
    for trained in model.trees_:
        of_label = np.bincount(trained.tree.labels)
        assert of_label.min() >= 1
        assert of_label.max() == 3
    top = model.predict_topk(rows[0], k=5)
    assert all(len(set(row)) == 5 for row in top.ids.tolist())


def test_the_crowding_of_leaves_has_a_limit(rows):
    sizes = {}
    for crowding in (None, 1.0):
        tree = lw.TreeClassifier(**PLAIN, copies=2, crowding=crowding).fit(*rows).trees_[0].tree
        sizes[crowding] = tree.leaf_sizes.max()
        limit = max(12, int(np.ceil(2 * tree.n_labels / len(tree.leaves))))
    assert sizes[1.0] <= limit < sizes[None]


@pytest.mark.parametrize("seed", range(4))
def test_a_label_of_two_topics_is_found_more_often_in_two_places(seed):
    train, (X, Y) = rows_of_topics(seed), rows_of_topics(seed + 100)
    of_two_topics = np.arange(
        0, Y.shape[1], 15
    )  # every second topic has eight labels, the others the seven of their own
    wanted = Y[:, of_two_topics].toarray()
    found = {}
    for copies in (1, 2):
        model = lw.TreeClassifier(**PLAIN | {"beam": 1}, copies=copies).fit(*train)
        marks = model.predict(X, k=2)[:, of_two_topics].toarray() > 0
        found[copies] = (marks & wanted).sum() / wanted.sum()
    assert found[2] > found[1] + 0.1


def test_the_ranker_alone_leaves_the_classifiers_above_as_they_are(rows):
    plain = lw.TreeClassifier(**PLAIN).fit(*rows).trees_[0]
    ranked = lw.TreeClassifier(**PLAIN, copies=2, refit="ranker").fit(*rows).trees_[0]
    refitted = lw.TreeClassifier(**PLAIN, copies=2).fit(*rows).trees_[0]
    inner = np.flatnonzero(np.diff(plain.tree.child_ptr))
    assert len(inner) > 1
    assert np.array_equal(refitted.tree.labels, ranked.tree.labels)
    changed = 0
    for node in inner:
        (old, old_bias), (new, new_bias) = plain.block(node), ranked.block(node)
        assert (old != new).nnz == 0
        assert np.array_equal(old_bias, new_bias)
        changed += (old != refitted.block(node)[0]).nnz
    assert changed


@pytest.mark.parametrize("negatives", ["beam", "both"])
def test_rows_of_the_beam_are_negatives_of_copies_too(rows, negatives):
    for refit in ("all", "ranker"):
        model = lw.TreeClassifier(**PLAIN, copies=2, negatives=negatives, refit=refit).fit(*rows)
        assert evaluate(model.predict_topk(rows[0]), rows[1])["P@1"] > 80


@pytest.mark.parametrize("how", [{"merge": "mean"}, {"refit": "ranker", "n_trees": 2}])
def test_copies_are_saved_and_loaded(rows, how, tmp_path):
    model = lw.TreeClassifier(**PLAIN, copies=2, **how).fit(*rows)
    model.save(tmp_path / "model")
    again = lw.load(tmp_path / "model")
    first, second = model.predict_topk(rows[0]), again.predict_topk(rows[0])
    assert np.array_equal(first.ids, second.ids)
    assert np.array_equal(first.scores, second.scores)
    assert again.get_params() == model.get_params()


def test_the_same_bytes_for_any_number_of_threads(rows):
    for how in ({}, {"refit": "ranker"}, {"matching": "out-of-fold"}):
        one, four = (lw.TreeClassifier(**PLAIN, copies=2, n_threads=n, **how).fit(*rows) for n in (1, 4))
        assert digest(one) == digest(four)


def test_a_trained_model_is_disentangled_as_one_that_is_trained_so(rows):
    plain = lw.TreeClassifier(**PLAIN, n_trees=2).fit(*rows)
    for how in ({}, {"refit": "ranker"}):
        other = lw.disentangle(plain, *rows, copies=2, **how)
        assert digest(other) == digest(lw.TreeClassifier(**PLAIN, n_trees=2, copies=2, **how).fit(*rows))
    assert plain.copies == 1  # it is left alone
    assert len(plain.trees_[0].tree.labels) == plain.n_labels_


def test_a_softmax_tree_is_disentangled(rows, tmp_path, monkeypatch):
    plain = lw.SoftmaxTreeClassifier(tree="balanced", dim=16, epochs=5).fit(*rows)
    monkeypatch.setattr(disentangling, "_CLUSTER", 12)
    model = lw.disentangle(plain, *rows, copies=2)
    tree = model.trained_.tree
    assert (tree.leaf_sizes == 1).all()
    assert 1 < np.bincount(tree.labels).max() <= 2
    top = model.predict_topk(rows[0], k=4)
    assert all(len(set(row)) == 4 for row in top.ids.tolist())
    model.save(tmp_path / "model")
    again = lw.load(tmp_path / "model").predict_topk(rows[0], k=4)
    assert np.array_equal(again.ids, top.ids)
    assert evaluate(top, rows[1], ks=(1,))["P@1"] > 60


def test_a_tree_is_cut_where_few_labels_are_left():
    tree = LabelTree.from_nested([[[0], [1, 2]], [[[3], [4]], [[5], [6, 7]]]])
    top, nodes = cut(tree, 3)
    assert [top.labels[a:b].tolist() for a, b in zip(top.label_ptr, top.label_ptr[1:], strict=False) if b > a] == [
        [0, 1, 2],
        [3, 4],
        [5, 6, 7],
    ]
    assert nodes.tolist() == [0, 1, 2, 5, 6]
    whole, nodes = cut(tree, 100)
    assert (whole.n_nodes, sorted(whole.labels.tolist()), nodes.tolist()) == (1, list(range(8)), [0])
    same, nodes = cut(tree, 1)
    assert np.array_equal(same.child_ptr, tree.child_ptr)
    assert np.array_equal(same.labels, tree.labels)


@pytest.mark.parametrize(
    ("model", "how", "says"),
    [
        (lw.CentroidClassifier, {}, "CentroidClassifier has no tree"),
        (lw.OneVsRest, {}, "OneVsRest has no tree"),
        (lw.SoftmaxTreeClassifier, {"merge": "mean"}, "give copies and nothing else"),
        (lw.TreeClassifier, {"copies": 0}, "copies"),
        (lw.TreeClassifier, {"crowding": 0.5}, "crowding"),
    ],
)
def test_what_cannot_be_disentangled_is_refused(rows, model, how, says):
    with pytest.raises(ParameterError, match=says):
        lw.disentangle(model().fit(*rows), *rows, **how)
