"""Labels in several leaves: where they are placed, and what that is worth."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import sparse

from labelwood.errors import ParameterError
from labelwood.trees import LabelTree, overlapping
from labelwood.trees.overlap import places_of


def random_case(seed, n_rows=40, n_labels=12, n_leaves=4):
    """A partition of labels, rows × labels and rows × leaves that a matcher reaches."""
    random = np.random.default_rng(seed)
    owner = np.concatenate([np.arange(n_leaves), random.integers(n_leaves, size=n_labels - n_leaves)])
    random.shuffle(owner)
    tree = LabelTree.from_nested([np.flatnonzero(owner == leaf).tolist() for leaf in range(n_leaves)])
    return tree, random.random((n_rows, n_labels)) < 0.15, random.random((n_rows, n_leaves)) < 0.35


def found_labels(Y, reached, places):
    """Tr(Yᵀ·Binary(M·Cᵀ)): how many of the rows' labels lie in a leaf that the row reaches."""
    return int((Y & ((reached.astype(int) @ places.T.astype(int)) > 0)).sum())


def placed(tree):
    return places_of(tree).toarray() > 0


@pytest.mark.parametrize("seed", range(200))
def test_more_labels_are_found_than_with_any_partition(seed):
    tree, Y, reached = random_case(seed)
    random = np.random.default_rng(seed)
    copies = 2 + seed % 2
    found = found_labels(Y, reached, placed(overlapping(tree, Y, reached, copies=copies)))
    counts = Y.T.astype(int) @ reached.astype(int)
    best_partition = int(counts.max(axis=1).sum())  # each label for itself where most of its rows are
    assert found >= best_partition
    for _ in range(20):
        partition = np.eye(4, dtype=bool)[random.integers(4, size=12)]
        assert found >= found_labels(Y, reached, partition)


@pytest.mark.parametrize("seed", range(50))
def test_every_label_lies_in_its_most_reached_leaves(seed):
    tree, Y, reached = random_case(seed, n_labels=20)
    Y[:, 3] = False  # a label without rows
    counts, own = Y.T.astype(int) @ reached.astype(int), placed(tree)
    for copies in (1, 2, 3, 5):
        new = placed(overlapping(tree, Y, reached, copies=copies))
        assert (new.sum(axis=1) <= copies).all()
        assert new.any(axis=1).all()
        assert new.any(axis=0).all()
        assert (new[3] == own[3]).all()
        for label in range(20):
            leaves = sorted(range(4), key=lambda leaf: (-counts[label, leaf], not own[label, leaf], leaf))
            expected = {leaf for leaf in leaves[:copies] if counts[label, leaf]}
            if expected and set(np.flatnonzero(new[label])) != expected:
                # Only where a leaf would be empty: the label is back where it was.
                assert (own[label] & new[label]).any()


def test_equal_leaves_are_chosen_by_where_the_label_is_and_then_by_their_order():
    tree = LabelTree.from_nested([[0], [1], [2, 3]])
    everywhere = np.ones((2, 3))
    Y = np.array([[1, 1, 1, 1], [1, 1, 1, 1]])
    one = overlapping(tree, Y, everywhere, copies=1)
    assert one.labels.tolist() == [0, 1, 2, 3]
    two = overlapping(tree, Y, everywhere, copies=2)
    assert placed(two).astype(int).tolist() == [[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 1]]


def test_a_leaf_that_nobody_chooses_gets_a_label_back():
    tree = LabelTree.from_nested([[0], [1], [2]])
    Y = np.eye(3)
    reached = np.array([[1, 0, 0], [1, 0, 0], [1, 0, 0]])  # all rows only reach the first leaf
    for copies in (1, 2):
        new = placed(overlapping(tree, Y, reached, copies=copies))
        assert new.any(axis=0).all()
        assert new[:, 0].sum() >= 1
        assert (new.sum(axis=1) <= copies).all()


def test_a_chain_of_leaves_that_empty_each_other_comes_to_an_end():
    """Each label's rows reach the next leaf only, and the last nothing: giving one back empties another."""
    n = 30
    tree = LabelTree.from_nested([[label] for label in range(n)])
    reached = np.eye(n, k=1)
    new = placed(overlapping(tree, np.eye(n), reached, copies=1))
    assert new.any(axis=0).all()
    assert (new.sum(axis=1) == 1).all()


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("exact", [False, True])
def test_the_cap_is_kept_and_every_label_covered(seed, exact):
    tree, Y, reached = random_case(seed)
    for copies, cap in ((1, 3), (2, 4), (2, 6), (3, 7)):
        new = placed(overlapping(tree, Y, reached, copies=copies, max_labels=cap, exact=exact))
        assert (new.sum(axis=0) <= cap).all()
        assert (new.sum(axis=1) <= copies).all()
        assert new.any(axis=1).all()


def test_leaves_may_have_limits_of_their_own():
    tree, Y, reached = random_case(1)
    limits = np.array([2, 3, 12, 5])
    for exact in (False, True):
        new = placed(overlapping(tree, Y, reached, copies=3, max_labels=limits, exact=exact))
        assert (new.sum(axis=0) <= limits).all()
        assert new.any(axis=1).all()


def test_the_exact_placement_is_that_of_brute_force_and_the_greedy_one_is_no_better():
    better = 0
    for seed in range(25):
        tree, Y, reached = random_case(seed, n_labels=5, n_leaves=3)
        counts = Y.T.astype(int) @ reached.astype(int)
        sets = [set(c) for size in (1, 2) for c in combinations(range(3), size)]
        best = max(
            sum(counts[label, leaf] for label, leaves in enumerate(choice) for leaf in leaves)
            for choice in product(sets, repeat=5)
            if max(sum(leaf in leaves for leaves in choice) for leaf in range(3)) <= 3
        )
        sums = [
            int(counts[placed(overlapping(tree, Y, reached, copies=2, max_labels=3, exact=exact))].sum())
            for exact in (True, False)
        ]
        own = counts[placed(tree)].sum()
        assert sums[0] == best or own == best  # a leaf that would be empty may cost something
        assert sums[1] <= sums[0]
        better += sums[1] < sums[0]
    assert better  # the linear program is worth having


def test_the_same_leaves_for_any_number_of_threads():
    random = np.random.default_rng(0)
    Y = sparse.random_array((500, 2000), density=0.01, rng=random).tocsr()
    reached = sparse.random_array((500, 40), density=0.2, rng=random).tocsr()
    tree = LabelTree.from_nested(np.arange(2000).reshape(40, 50).tolist())
    one, eight = (overlapping(tree, Y, reached, copies=3, n_threads=n) for n in (1, 8))
    assert np.array_equal(one.labels, eight.labels)
    assert np.array_equal(one.label_ptr, eight.label_ptr)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"copies": 0}, "copies must be a whole number from 1"),
        ({"max_labels": 2}, "max_labels leaves room for 8 of 12 labels: allow more in a leaf"),
        ({"max_labels": [9, 9]}, "max_labels must be a whole number above 0, or one for each of the 4 leaves"),
        ({"max_labels": 3.5}, "max_labels must be a whole number above 0"),
        ({"reached": np.ones((40, 3))}, r"reached must be rows × 4 leaves and Y rows × 12 labels, not 40 × 3"),
        ({"reached": np.ones((39, 4))}, "not 39 × 4 and 40 × 12"),
        ({"Y": np.ones((40, 11))}, "40 × 11"),
    ],
)
def test_what_does_not_fit_is_refused(change, says):
    tree, Y, reached = random_case(0)
    with pytest.raises(ParameterError, match=says):
        overlapping(tree, **({"Y": Y, "reached": reached} | change))
