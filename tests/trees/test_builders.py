"""Every builder keeps its promises, whatever the vectors are."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelwood.errors import LabelwoodError, ParameterError
from labelwood.trees import BUILDERS, balanced, kmeans, random_tree

builders = st.sampled_from(sorted(BUILDERS))
CLUSTERING = ["balanced", "kmeans"]


def random_vectors(n_labels, seed, n_features=40, empty=0.1):
    """Sparse vectors, of which no two that are not zero are equal."""
    random = np.random.default_rng(seed)
    vectors = random.random((n_labels, n_features)) * (random.random((n_labels, n_features)) < 0.2)
    vectors[random.random(n_labels) < empty] = 0
    return vectors


def planted(n_labels, n_groups, seed=0):
    """Vectors in groups; label i is of group i % n_groups."""
    random = np.random.default_rng(seed)
    return np.eye(n_groups)[np.arange(n_labels) % n_groups] + 0.2 * random.random((n_labels, n_groups))


def leaves_of(tree):
    return [tree.labels[a:b].tolist() for a, b in zip(tree.label_ptr, tree.label_ptr[1:], strict=False) if b > a]


def sizes_below(tree):
    sizes = np.diff(tree.label_ptr).copy()
    for node in range(tree.n_nodes - 1, 0, -1):
        sizes[tree.parents[node]] += sizes[node]
    return sizes


def same(a, b):
    return all(x.tobytes() == y.tobytes() for x, y in zip(a.arrays().values(), b.arrays().values(), strict=True))


@settings(deadline=None, max_examples=60)
@given(builders, st.integers(1, 120), st.integers(2, 12), st.integers(1, 20), st.integers(0, 2**63))
def test_every_label_has_one_leaf_and_limits_are_kept(name, n_labels, arity, max_leaf, seed):
    vectors = random_vectors(n_labels, seed)
    tree = BUILDERS[name](vectors, arity=arity, max_leaf=max_leaf, seed=seed, n_threads=1)
    assert np.sort(tree.labels).tolist() == list(range(n_labels))
    assert tree.leaf_sizes.max() <= max_leaf
    children = np.diff(tree.child_ptr)
    assert children.max() <= arity
    assert 1 not in children
    if name != "kmeans":
        sizes = sizes_below(tree)
        for node in np.flatnonzero(children):
            siblings = sizes[tree.child_ptr[node] : tree.child_ptr[node + 1]]
            assert siblings.max() - siblings.min() <= 1


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_any_number_of_threads_gives_the_same_bytes(name):
    vectors = random_vectors(3000, 1)
    one, two, eight = (BUILDERS[name](vectors, arity=9, max_leaf=20, seed=3, n_threads=n) for n in (1, 2, 8))
    assert same(one, two)
    assert same(one, eight)


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(CLUSTERING), st.integers(2, 200), st.integers(2, 9), st.integers(0, 99))
def test_labels_in_another_order_give_the_same_tree(name, n_labels, arity, seed):
    vectors = random_vectors(n_labels, seed, n_features=200, empty=0)
    order = np.random.default_rng(seed).permutation(n_labels)
    tree = BUILDERS[name](vectors, arity=arity, max_leaf=5, seed=seed, n_threads=1)
    other = BUILDERS[name](vectors[order], arity=arity, max_leaf=5, seed=seed, n_threads=1)
    np.testing.assert_array_equal(tree.child_ptr, other.child_ptr)
    np.testing.assert_array_equal(tree.label_ptr, other.label_ptr)
    np.testing.assert_array_equal(tree.labels, order[other.labels])


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_the_seed_decides(name):
    vectors = random_vectors(200, 0)
    trees = [BUILDERS[name](vectors, arity=4, max_leaf=5, seed=seed, n_threads=1) for seed in (0, 0, 1)]
    assert same(trees[0], trees[1])
    assert not same(trees[0], trees[2])


@pytest.mark.parametrize("name", sorted(BUILDERS))
@pytest.mark.parametrize("n_labels", [1, 2, 3, 50])
@pytest.mark.parametrize("vector", [[0.0, 0.0], [0.6, 0.8], [-1.0, 0.0]])
def test_labels_that_are_all_alike_make_a_tree(name, n_labels, vector):
    tree = BUILDERS[name](np.tile(vector, (n_labels, 1)), arity=7, max_leaf=1, seed=0, n_threads=2)
    assert sorted(tree.labels.tolist()) == list(range(n_labels))
    assert tree.depths.max() <= 6


@pytest.mark.parametrize("name", CLUSTERING)
def test_the_length_of_a_vector_does_not_matter(name):
    vectors = random_vectors(100, 5, empty=0)
    longer = vectors * np.exp2(np.arange(100) % 8)[:, None]  # powers of two leave the last bits as they are
    trees = [BUILDERS[name](v, arity=2, max_leaf=10, seed=0, n_threads=1) for v in (vectors, longer)]
    assert same(*trees)


def test_the_balanced_tree_finds_planted_groups():
    tree = balanced(planted(400, 2), max_leaf=200)
    assert all(len({label % 2 for label in leaf}) == 1 for leaf in leaves_of(tree))


def test_the_balanced_tree_of_many_groups_keeps_most_pairs_together():
    leaves = leaves_of(balanced(planted(800, 8), max_leaf=100))
    together = [max(np.bincount(np.array(leaf) % 8)) / len(leaf) for leaf in leaves]
    assert np.mean(together) > 0.7


def test_kmeans_finds_planted_groups_of_different_sizes():
    group = np.repeat([0, 1, 2, 3], [10, 30, 60, 100])
    vectors = np.eye(4)[group] + 0.2 * np.random.default_rng(0).random((200, 4))
    tree = kmeans(vectors, arity=16, max_leaf=100)
    assert len(tree.leaves) > 1
    assert all(len(set(group[leaf])) == 1 for leaf in leaves_of(tree))


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 30), st.integers(0, 99), st.sampled_from([0.0, 0.02, 0.5, 0.98]))
def test_kmeans_dissolves_small_clusters(min_size, seed, empty):
    tree = kmeans(random_vectors(300, seed, empty=empty), arity=50, max_leaf=150, min_size=min_size)
    assert len(tree.leaves) == 1 or tree.leaf_sizes.min() >= min_size


def test_kmeans_keeps_labels_without_rows_together():
    vectors = np.vstack([planted(100, 5), np.zeros((40, 5))])
    leaves = [leaf for leaf in leaves_of(kmeans(vectors, arity=10, max_leaf=60)) if max(leaf) >= 100]
    assert [sorted(leaf) for leaf in leaves] == [list(range(100, 140))]


@pytest.mark.slow
@pytest.mark.parametrize("level", ["baseline", "v3"])
def test_every_width_of_registers_gives_the_same_tree(level):
    program = (
        "import hashlib, numpy as np; from labelwood.trees import kmeans\n"
        "tree = kmeans(np.random.default_rng(0).random((500, 30)) ** 4, arity=83, max_leaf=10, min_size=1)\n"
        "print(hashlib.sha256(b''.join(a.tobytes() for a in tree.arrays().values())).hexdigest())"
    )
    wide, narrow = (
        subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, check=True).stdout
        for env in (dict(os.environ), {**os.environ, "LABELWOOD_SIMD": level})
    )
    assert wide == narrow


def test_sparse_and_dense_vectors_give_the_same_tree():
    vectors = random_vectors(200, 2)
    for build in (balanced, kmeans, random_tree):
        assert same(build(vectors, max_leaf=10), build(sparse.csr_array(vectors), max_leaf=10))


def test_a_random_tree_needs_only_the_number_of_labels():
    assert same(random_tree(50, max_leaf=7, seed=1), random_tree(np.zeros((50, 3)), max_leaf=7, seed=1))


@pytest.mark.parametrize("name", sorted(BUILDERS))
@pytest.mark.parametrize(("arity", "max_leaf"), [(1, 5), (0, 5), (2, 0), (2**31, 5)])
def test_impossible_sizes_are_refused(name, arity, max_leaf):
    with pytest.raises(ParameterError, match=r"arity must be .* from 2 to|max_leaf must be .* from 1 to"):
        BUILDERS[name](np.eye(3), arity=arity, max_leaf=max_leaf, seed=0, n_threads=1)


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_no_labels_are_refused(name):
    with pytest.raises(LabelwoodError, match="label"):
        BUILDERS[name](np.zeros((0, 3)), arity=2, max_leaf=5, seed=0, n_threads=1)


@pytest.mark.parametrize("options", [{"min_size": 0}, {"max_depth": -1}])
def test_impossible_cluster_sizes_are_refused(options):
    with pytest.raises(ParameterError, match=r"min_size must be|max_depth must be"):
        kmeans(np.eye(3), **options)
