"""A label tree is sound or refused, and knows its depths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwood import store
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.trees import LabelTree

nested = st.recursive(
    st.lists(st.integers(0, 30), min_size=1, max_size=5, unique=True),
    lambda x: st.lists(x, min_size=1, max_size=4),
    max_leaves=12,
)


def arrays(child_ptr, label_ptr, labels):
    return np.array(child_ptr, np.int32), np.array(label_ptr, np.int64), np.array(labels, np.int32)


def walk(node, depth=0):
    """Depth and labels of each leaf of nested lists."""
    if not isinstance(node[0], list):
        yield depth, node
        return
    for part in node:
        yield from walk(part, depth + 1)


def numbered(node):
    """The tree with labels renamed so that all from 0 on occur."""
    leaves = list(walk(node))
    names = {label: i for i, label in enumerate(sorted({label for _, leaf in leaves for label in leaf}))}

    def rename(part):
        return [rename(p) if isinstance(p, list) else names[p] for p in part]

    return rename(node)


@given(nested.map(numbered))
def test_depths_and_leaf_sizes_are_those_of_the_nested_lists(node):
    tree = LabelTree.from_nested(node)
    leaves = list(walk(node))
    depth_of = {label: min(d for d, leaf in leaves if label in leaf) for _, leaf in leaves for label in leaf}
    assert sorted(tree.leaf_sizes.tolist()) == sorted(len(leaf) for _, leaf in leaves)
    assert sorted(tree.depths[tree.leaves].tolist()) == sorted(depth for depth, _ in leaves)
    assert tree.label_depths.tolist() == [depth_of[label] for label in range(tree.n_labels)]
    assert tree.expected_depth() == pytest.approx(np.mean(list(depth_of.values())))
    assert tree.depths[0] == 0
    assert (tree.depths[1:] == tree.depths[tree.parents[1:]] + 1).all()


@given(nested.map(numbered), st.data())
def test_expected_depth_weighs_labels_by_frequency(node, data):
    tree = LabelTree.from_nested(node)
    weights = data.draw(st.lists(st.integers(1, 9), min_size=tree.n_labels, max_size=tree.n_labels))
    repeated = np.repeat(tree.label_depths, weights)
    assert tree.expected_depth(weights) == pytest.approx(repeated.mean())


@given(nested.map(numbered), st.data())
def test_a_tree_with_one_number_changed_is_refused_or_sound(node, data):
    tree = LabelTree.from_nested(node)
    parts = {name: array.copy() for name, array in tree.arrays().items()}
    array = parts[data.draw(st.sampled_from(sorted(parts)))]
    array[data.draw(st.integers(0, len(array) - 1))] += data.draw(st.sampled_from([-2, -1, 1, 2]))
    try:
        changed = LabelTree(*parts.values(), tree.n_labels)
    except LabelwoodError:
        return
    assert set(changed.labels.tolist()) == set(range(tree.n_labels))
    for start in range(1, changed.n_nodes):  # every node leads to the root
        steps, at = 0, start
        while at != 0:
            at, steps = changed.parents[at], steps + 1
            assert steps < changed.n_nodes


def test_a_label_in_several_leaves_has_the_depth_of_the_shallowest():
    tree = LabelTree.from_nested([[[0, 1], [2]], [2, 0]])
    assert tree.label_depths.tolist() == [1, 2, 1]
    assert tree.expected_depth([0, 3, 1]) == 1.75


@pytest.mark.parametrize(
    ("child_ptr", "label_ptr", "labels", "why"),
    [
        ([1, 1, 1], [0, 0, 1], [0], "exactly one other"),  # an orphan
        ([0, 1], [0, 1], [0], "exactly one other"),  # the root its own child
        ([1, 1, 3, 3], [0, 1, 1, 2], [0, 1], "before its parent"),  # a cycle
        ([1, 3, 2, 3], [0, 0, 1, 2], [0, 1], "exactly one other"),  # two parents
        ([1, 3, 3, 3], [0, 0, 1, 2], [0, 0], "label 1 is in no leaf"),
        ([1, 3, 3, 3], [0, 0, 1, 2], [0, 2], "not between 0 and 1"),
        ([1, 3, 3, 3], [0, 0, 1, 2], [0, -1], "not between 0 and 1"),
        ([1, 3, 3, 3], [0, 0, 1, 4], [0, 1, 0, 1], "a label twice"),
        ([1, 3, 3, 3], [0, 1, 1, 2], [0, 1], "an inner node holds labels"),
        ([1, 3, 3, 3], [0, 0, 2, 2], [0, 1], "a leaf holds no labels"),
        ([1, 3, 3, 3], [0, 0, 1, 3], [0, 1], "do not match its labels"),
        ([1, 3, 3, 3], [0, 0, 3, 2], [0, 1], "do not match its labels"),
        ([1, 3, 3, 3], [0, 0, 2], [0, 1], "different numbers of nodes"),
        ([1], [0], [], "different numbers of nodes"),
    ],
)
def test_an_unsound_tree_is_refused(child_ptr, label_ptr, labels, why):
    with pytest.raises(LabelwoodError, match=why):
        LabelTree(*arrays(child_ptr, label_ptr, labels), 2)


def test_a_tree_without_labels_is_refused():
    with pytest.raises(LabelwoodError, match="has no labels"):
        LabelTree(*arrays([1, 1], [0, 0], []), 0)


def test_arrays_of_other_types_are_refused():
    child_ptr, label_ptr, labels = arrays([1, 1], [0, 2], [0, 1])
    with pytest.raises(LabelwoodError, match="labels is not an array of one dimension and int32"):
        LabelTree(child_ptr, label_ptr, labels.astype(np.int64), 2)


def test_a_trusted_tree_is_not_checked():
    assert LabelTree(*arrays([1, 1], [0, 1], [7]), 1, verify=False).n_nodes == 1


@pytest.mark.parametrize("bad", [[0, [1]], 3, []])
def test_nested_lists_that_are_no_tree_are_refused(bad):
    with pytest.raises(LabelwoodError, match="not sound"):
        LabelTree.from_nested(bad)


@pytest.mark.parametrize("weights", [[1], [0, 0], [-1, 2], [np.nan, 1]])
def test_weights_that_do_not_fit_are_refused(weights):
    with pytest.raises(ParameterError, match="2 numbers, one a label"):
        LabelTree.from_nested([[0], [1]]).expected_depth(weights)


def test_a_tree_comes_back_from_the_store(tmp_path):
    tree = LabelTree.from_nested([[[0, 1], [2]], [2, 0]])
    store.write(tmp_path / "tree", store.State("demo", {}, {}, arrays=tree.arrays()))
    state = store.read(tmp_path / "tree")
    again = LabelTree.from_arrays(state.arrays, tree.n_labels)
    for name, array in tree.arrays().items():
        assert array.dtype == again.arrays()[name].dtype
        np.testing.assert_array_equal(array, again.arrays()[name])
