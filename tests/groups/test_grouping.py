"""Groups made from rows: sizes, seeds, and contents."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelwood.errors import ParameterError
from labelwood.groups import clustered_groups, merged_labels, mixedness, noisy_groups, random_groups


def clusters(n=256, n_clusters=16, seed=0):
    rng = np.random.default_rng(seed)
    owner = rng.permutation(np.arange(n) % n_clusters)
    X = np.eye(n_clusters, 40)[owner] + 0.05 * rng.standard_normal((n, 40))
    return X.astype(np.float32), owner


def test_random_groups_have_the_given_size_and_follow_the_seed():
    sizes = np.bincount(random_groups(1003, 10, seed=1))
    assert sizes.tolist() == [10] * 100 + [3]
    assert (random_groups(1003, 10, seed=1) == random_groups(1003, 10, seed=1)).all()
    assert (random_groups(1003, 10, seed=1) != random_groups(1003, 10, seed=2)).mean() > 0.9


@pytest.mark.parametrize(("n", "depth"), [(8, 3), (9, 3), (15, 3), (16, 0), (100, 5), (1025, 10)])
def test_clustered_groups_are_two_to_the_depth_and_of_equal_size(n, depth):
    sizes = np.bincount(clustered_groups(clusters(n)[0], depth))
    assert len(sizes) == 2**depth
    assert sizes.max() - sizes.min() <= 1


def test_clustered_groups_hold_similar_rows():
    X, owner = clusters()
    groups = clustered_groups(sparse.csr_array(X), 4)
    purity = merged_labels(np.eye(16)[owner], groups).toarray().max(axis=1).sum() / len(X)
    assert purity > 0.8


def test_noise_mixes_groups():
    X, _ = clusters()
    mixed = [mixedness(X, noisy_groups(X, 4, noise)) for noise in (0.0, 0.5, 1.0)]
    assert mixed[0] < 0.4
    assert mixed[0] + 0.1 < mixed[1] < mixed[2] - 0.1
    assert mixed[2] == pytest.approx(1, abs=0.05)


def test_noisy_groups_follow_the_seed():
    X, _ = clusters()
    assert (noisy_groups(X, 3, 0.4, seed=5) == noisy_groups(X, 3, 0.4, seed=5)).all()
    assert (noisy_groups(X, 3, 0.4, seed=5) != noisy_groups(X, 3, 0.4, seed=6)).any()


def test_labels_of_overlapping_groups_are_counted_in_each():
    Y, groups = [[1, 0], [1, 1]], sparse.csr_array([[1, 0], [1, 1]])
    assert merged_labels(Y, groups).toarray().tolist() == [[2, 1], [1, 1]]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: random_groups(5, 0), "size must be a whole number from 1"),
        (lambda: clustered_groups(np.eye(3), 2), "depth is 2 but 3"),
        (lambda: noisy_groups(np.eye(4), 1, 1.5), "noise is 1.5"),
        (lambda: merged_labels([[1]], [0], merge="bag"), "merge is 'bag'"),
    ],
)
def test_the_error_names_an_invalid_argument(call, says):
    with pytest.raises(ParameterError, match=says):
        call()
