"""Best-first search finds what beam search level by level finds, and exact search what brute force finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import labelwood as lw
from labelwood import _native
from labelwood.arrays.rows import as_labels, from_scipy
from labelwood.contract.limits import Limits
from labelwood.errors import ModelError
from labelwood.labels.representations import members_of
from labelwood.linear.trained import TrainedTree
from labelwood.linear.training import Training, numbers_by_frequency
from labelwood.trees import LabelTree

NO_LIMITS = Limits.of(1)


def random_nested(rng, labels, depth=0):
    """An unbalanced tree over the labels: leaves at any depth and of any size."""
    if len(labels) <= 1 or depth > 5 or rng.random() < 0.25:
        return [int(label) for label in labels]
    cuts = np.sort(rng.integers(1, len(labels), rng.integers(1, 4)))
    return [random_nested(rng, part, depth + 1) for part in np.split(labels, np.unique(cuts))]


def training(rows, members, threshold, seed, *, negatives="tree", beam=10, precision="float32", merge="max"):
    return Training(
        rows=rows,
        feature_numbers=numbers_by_frequency(rows),
        members=members,
        row_weights=np.empty(0, np.float32),
        loss="squared-hinge",
        cost=1.0,
        positive_weight=1.0,
        bias=1.0,
        tolerance=0.1,
        max_passes=20,
        threshold=threshold,
        max_weights=0,
        precision=precision,
        seed=seed,
        negatives=negatives,
        beam=beam,
        link="l3-hinge",
        merge=merge,
        n_threads=2,
    )


def trained(seed, *, coarse, n_labels=30, precision="float32", threshold=0.05, copies=0):
    """A trained random tree and rows; with `coarse` features, many scores tie or saturate at one.

    Of so many labels, `copies` lie in another leaf too, if there is one that has them not.
    """
    rng = np.random.default_rng(seed)
    tree = LabelTree.from_nested(random_nested(rng, rng.permutation(n_labels)), n_labels)
    for label in rng.integers(n_labels, size=copies):
        tree = with_copy(tree, int(label), int(rng.choice(tree.leaves)))
    X = rng.random((60, 20)) * (rng.random((60, 20)) < 0.3)
    X = np.round(X * 2) if coarse else X
    Y = rng.random((60, n_labels)) < 0.1
    rows = from_scipy(sparse.csr_array(X.astype(np.float32)))
    members = members_of(as_labels(Y, 60))
    return training(rows, members, threshold, seed, precision=precision).run(tree, _native.Progress()), rows


def with_copy(tree, label, leaf):
    first, last = tree.label_ptr[leaf : leaf + 2]
    if label in tree.labels[first:last]:
        return tree
    label_ptr = tree.label_ptr + (np.arange(len(tree.label_ptr)) > leaf)
    return LabelTree(tree.child_ptr, label_ptr, np.insert(tree.labels, last, label), tree.n_labels)


def answers(model, rows, k, beam, *, limits=NO_LIMITS, **how):
    return model.topk(rows, k, beam=beam, link="l3-hinge", limits=limits, n_threads=1, **how)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**31),
    st.booleans(),
    st.sampled_from([1, 2, 3, 10, None]),
    st.sampled_from([1, 3, 40]),
    st.sampled_from([0.25, 1.0]),
)
def test_best_first_finds_what_level_by_level_finds_and_looks_at_no_more(seed, coarse, beam, k, path_weight):
    model, rows = trained(seed, coarse=coarse)
    first, first_looks = answers(model, rows, k, beam, path_weight=path_weight, best_first=True)
    level, level_looks = answers(model, rows, k, beam, path_weight=path_weight, best_first=False)
    assert np.array_equal(first.ids, level.ids)
    assert np.array_equal(first.scores, level.scores)
    assert first_looks.nodes <= level_looks.nodes


def brute_force(model, rows, path_weight=1.0, only=None):
    """Every label's score by the product of linked scores along its path, in float64; in all leaves or in one."""
    X = rows.to_scipy().astype(np.float64)
    tree = model.tree
    scores = np.full((rows.n_rows, tree.n_labels), -np.inf)
    of_node = [np.zeros(rows.n_rows)] * tree.n_nodes
    for node in range(tree.n_nodes):
        weights, biases = model.block(node)
        linked = -(np.maximum(0, 1 - (X @ weights.astype(np.float64) + biases)) ** 3)
        if tree.child_ptr[node] == tree.child_ptr[node + 1]:
            if only not in (None, node):
                continue
            labels = tree.labels[tree.label_ptr[node] : tree.label_ptr[node + 1]]
            scores[:, labels] = np.maximum(scores[:, labels], of_node[node][:, None] + linked)
        else:
            for i, child in enumerate(range(tree.child_ptr[node], tree.child_ptr[node + 1])):
                of_node[child] = of_node[node] + path_weight * linked[:, i]
    return np.exp(scores)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(["float32", "float16", "int8"]), st.sampled_from([0.25, 1.0]))
def test_exact_search_finds_what_brute_force_finds(seed, precision, path_weight):
    model, rows = trained(seed, coarse=False, precision=precision)
    exact = brute_force(model, rows, path_weight)
    top, _ = answers(model, rows, 5, None, path_weight=path_weight)
    np.testing.assert_allclose(top.scores, np.sort(exact, axis=1)[:, ::-1][:, :5], rtol=2e-4, atol=1e-6)
    np.testing.assert_allclose(top.scores, np.take_along_axis(exact, top.ids, axis=1), rtol=2e-4, atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**31), st.booleans(), st.sampled_from([1, 3, 10, None]))
def test_a_label_in_several_leaves_is_one_answer_with_the_best_of_its_scores(seed, coarse, beam):
    model, rows = trained(seed, coarse=coarse, copies=20)
    first, _ = answers(model, rows, 10, beam)
    level, _ = answers(model, rows, 10, beam, best_first=False)
    assert np.array_equal(first.ids, level.ids)
    assert np.array_equal(first.scores, level.scores)
    for row in first.ids:
        named = row[row >= 0]
        assert len(np.unique(named)) == len(named)
    if beam is None:
        exact = brute_force(model, rows)
        np.testing.assert_allclose(first.scores, np.sort(exact, axis=1)[:, ::-1][:, :10], rtol=2e-4, atol=1e-6)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**31), st.booleans(), st.sampled_from([1, 2, 4, None]))
def test_the_mean_of_a_label_is_over_the_leaves_that_the_beam_reaches(seed, coarse, beam):
    best, rows = trained(seed, coarse=coarse, copies=20)
    model = TrainedTree(best.tree, best.blocks, best.precision, best.feature_numbers, merge="mean")
    top, _ = answers(model, rows, 10, beam)
    expected = mean_by_brute_force(model, rows, beam)
    np.testing.assert_allclose(top.scores, np.sort(expected, axis=1)[:, ::-1][:, :10], rtol=2e-4, atol=1e-6)
    found = top.ids >= 0
    np.testing.assert_allclose(
        np.where(found, np.take_along_axis(expected, np.maximum(top.ids, 0), axis=1), 0),
        np.where(found, top.scores, 0),
        rtol=2e-4,
        atol=1e-6,
    )
    again, _ = answers(model, rows, 10, beam, limits=Limits.of(30, exclude=[3, 4]))
    assert not np.isin(again.ids, [3, 4]).any()


def mean_by_brute_force(model, rows, beam):
    """Every label's mean over the leaves that its row reaches; without any, minus infinity."""
    tree = model.tree
    reached = model.reached(rows, beam=beam or 0, link="l3-hinge", n_threads=1).to_scipy().toarray() > 0
    sums, times = np.zeros((rows.n_rows, tree.n_labels)), np.zeros((rows.n_rows, tree.n_labels))
    for leaf in tree.leaves:
        labels = tree.labels[tree.label_ptr[leaf] : tree.label_ptr[leaf + 1]]
        alone = np.zeros((rows.n_rows, tree.n_labels))
        alone[:, labels] = brute_force(model, rows, only=leaf)[:, labels]
        sums += alone * reached[:, [leaf]]
        times[:, labels] += reached[:, [leaf]]
    return np.where(times > 0, sums / np.maximum(times, 1), -np.inf)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 10))
def test_only_allowed_labels_and_high_scores_are_answers(seed, n_allowed):
    model, rows = trained(seed, coarse=False)
    exact = brute_force(model, rows)
    include = np.random.default_rng(seed).permutation(30)[:n_allowed]
    for best_first in (True, False):
        top, _ = answers(model, rows, 5, None, best_first=best_first, limits=Limits.of(30, include=include))
        real = top.ids >= 0
        assert np.isin(top.ids[real], include).all()
        assert (real.sum(axis=1) == min(5, n_allowed)).all()
        others = np.where(np.isin(np.arange(30), include), exact, -1)
        np.testing.assert_allclose(top.scores[:, 0], others.max(axis=1), rtol=2e-4, atol=1e-6)
        top, _ = answers(
            model, rows, 30, None, best_first=best_first, limits=Limits.of(30, exclude=include, min_score=0.3)
        )
        assert not np.isin(top.ids, include).any()
        expected = ((exact >= 0.3) & ~np.isin(np.arange(30), include)).sum(axis=1)
        assert (abs((top.ids >= 0).sum(axis=1) - expected) <= ((abs(exact - 0.3) < 1e-4).sum(axis=1))).all()


def test_wide_leaves_are_cut_into_segments_that_change_nothing():
    rng = np.random.default_rng(0)
    tree = LabelTree.from_nested(list(range(700)))
    X = sparse.csr_array((rng.random((300, 5000)) * (rng.random((300, 5000)) < 0.02)).astype(np.float32))
    Y = rng.random((300, 700)) < 0.01
    model = training(from_scipy(X), members_of(as_labels(Y, 300)), 0.01, 0).run(tree, _native.Progress())
    top, _ = answers(model, from_scipy(X), 5, None)
    exact = brute_force(model, from_scipy(X))
    np.testing.assert_allclose(top.scores, np.sort(exact, axis=1)[:, ::-1][:, :5], rtol=2e-4, atol=1e-6)


def test_unsound_arrays_are_refused():

    model, _ = trained(3, coarse=False, precision="int8")
    good = dict(model.arrays())

    def load(**changes):
        return TrainedTree.from_arrays({**good, **changes}, "int8", model.n_features, 30, verify=True)

    load()
    for name, array in good.items():
        if array.size == 0:
            continue
        for changed in (array[:-1].copy(), np.concatenate([array, array[-1:]])):
            with pytest.raises(ModelError):
                load(**{name: changed})
    for name in (
        "sibling_ptr",
        "segment_ptr",
        "word_ptr",
        "row_ptr",
        "byte_ptr",
        "word_ranks",
        "top_ranks",
    ):
        for place in range(min(len(good[name]), 20)):
            wrong = good[name].copy()
            wrong[place] += 1
            with pytest.raises(ModelError):
                load(**{name: wrong})
    for place in (0, -1):
        starts = good["row_starts"].copy()
        starts[place] += 1
        with pytest.raises(ModelError):
            load(row_starts=starts)
    with pytest.raises(ModelError):
        load(bytes=good["bytes"].astype(np.int8))
    with pytest.raises(ModelError):
        load(feature_numbers=np.zeros_like(good["feature_numbers"]))


def test_columns_that_no_node_has_are_refused():
    model = lw.OneVsRest(bias=0, positive_weight=9.0, max_weights=1).fit(np.eye(40), np.eye(40)).trees_[0]
    arrays = dict(model.arrays())
    assert len(arrays["bytes"]) == 2 * 40  # a column and a weight for each label
    TrainedTree.from_arrays(arrays, "int8", 40, 40, verify=True)
    with pytest.raises(ModelError, match="a column is out of range"):
        TrainedTree.from_arrays({**arrays, "bytes": np.full(80, 40, np.uint8)}, "int8", 40, 40, verify=True)
    starts = arrays["row_starts"].copy()
    starts[1] = 3
    with pytest.raises(ModelError, match="ends within an entry"):
        TrainedTree.from_arrays({**arrays, "row_starts": starts}, "int8", 40, 40, verify=True)


def test_half_precision_is_numpys():
    exact, rows = trained(3, coarse=False, threshold=0.0)
    half, _ = trained(3, coarse=False, threshold=0.0, precision="float16")
    for node in range(exact.tree.n_nodes):
        weights, halves = exact.block(node)[0], half.block(node)[0]
        assert np.array_equal(weights.toarray().astype(np.float16), halves.toarray())
    assert rows.n_cols == exact.n_features


def test_slack_is_the_most_that_leaves_a_rows_answers_as_they_are():
    how = {"beam": 10, "link": "l3-hinge", "path_weight": 1.0, "unit_rows": False, "n_threads": 1}
    changed = 0
    for seed in range(20):
        model, rows = trained(seed, coarse=False)
        exact = model.topk(rows, 3, limits=NO_LIMITS, **how)[0]
        slacks = model.slacks(rows, 3, **how)
        for slack in np.unique(slacks[np.isfinite(slacks)]):
            found = model.topk(rows, 3, limits=NO_LIMITS, slack=float(slack), **how)[0]
            kept = slacks >= slack
            assert np.array_equal(found.ids[kept], exact.ids[kept])
            assert (found.ids[~kept] != exact.ids[~kept]).any(axis=1).all()
            changed += (~kept).sum()
    assert changed > 100
