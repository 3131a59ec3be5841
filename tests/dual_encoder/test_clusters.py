"""The clusters of equal size that batches and free vectors use."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labelwood.dual_encoder.answering.clusters import clusters
from labelwood.trees.balanced import balanced

pytestmark = pytest.mark.deep


def rows(n, dim=8, seed=0):
    return torch.randn(n, dim, generator=torch.Generator().manual_seed(seed))


@given(st.integers(1, 70), st.integers(0, 8))
def test_every_vector_is_in_one_cluster_and_sizes_differ_by_at_most_one(n, n_levels):
    members, starts = clusters(rows(n), n_levels, seed=0)
    assert sorted(members.tolist()) == list(range(n))
    sizes = np.diff(starts)
    assert len(sizes) == min(n, 2**n_levels)
    assert sizes.max() - sizes.min() <= 1


def test_clusters_of_similar_vectors_are_found():
    kind = np.random.default_rng(0).permutation(np.repeat(np.arange(8), 50))
    members, starts = clusters(8 * torch.eye(8)[kind] + rows(400), 3, seed=0)
    assert all(len(set(kind[some].tolist())) == 1 for some in np.split(members, starts[1:-1]))


def test_clusters_are_as_compact_as_those_of_a_tree():
    vectors = torch.nn.functional.normalize(rows(2048, dim=16), dim=1)

    def tightness(members, starts):
        return sum(float(vectors[some].sum(dim=0).norm()) for some in np.split(members, starts[1:-1])) / len(vectors)

    tree = balanced(vectors.numpy(), max_leaf=64, seed=0)
    own = tightness(*clusters(vectors, 5, seed=0))
    assert own > 0.98 * tightness(tree.labels, np.unique(tree.label_ptr))


def test_the_same_seed_gives_the_same_clusters():
    one, same, other = (clusters(rows(100), 3, seed=seed)[0].tolist() for seed in (1, 1, 2))
    assert one == same != other


def test_equal_vectors_are_halved_too():
    members, starts = clusters(torch.ones(9, 2), 2, seed=0)
    assert sorted(members.tolist()) == list(range(9))
    assert np.diff(starts).tolist() == [3, 2, 2, 2]
