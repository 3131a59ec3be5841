"""Prototypes are of unit length, centroids follow Equation 4, and free vectors are shared by clusters of labels."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from labelwood.arrays.rows import from_dense
from labelwood.dual_encoder.model.prototypes import (
    CentroidMemory,
    FreeVectors,
    LabelPrototypeNetwork,
    initial_centroids,
    label_clusters,
)
from labelwood.dual_encoder.training.losses import dynamic_margin

pytestmark = pytest.mark.deep


@pytest.mark.parametrize("sources", [1, 2, 3])
def test_prototypes_have_unit_length_for_any_sources(sources):
    torch.manual_seed(0)
    network = LabelPrototypeNetwork(16, heads=1, feedforward=32)
    given = [torch.randn(5, 16) * 10**i for i in range(sources)] + [None] * (3 - sources)
    assert torch.allclose(network(*given).norm(dim=1), torch.ones(5), atol=1e-6)


def test_the_prototype_network_has_the_paper_s_number_of_parameters():
    network = LabelPrototypeNetwork(768)
    assert sum(p.numel() for p in network.parameters()) == pytest.approx(3.9e6, rel=0.02)


def test_the_order_of_sources_does_not_matter():
    torch.manual_seed(0)
    network = LabelPrototypeNetwork(8, feedforward=16).eval()
    a, b, c = torch.randn(3, 4, 8)
    assert torch.allclose(network(a, b, c), network(c, a, b), atol=1e-6)


def test_centroids_are_a_moving_average_and_duplicates_are_averaged_first():
    torch.manual_seed(0)
    start, queries = torch.randn(4, 3), torch.randn(3, 3)
    memory = CentroidMemory(start, momentum=0.95)
    memory.update(torch.tensor([0, 2, 3]), queries, which=torch.tensor([1, 0, 1]))
    expected = start.clone()
    expected[0] = 0.95 * start[0] + 0.05 * queries[1]
    expected[2] = 0.95 * start[2] + 0.05 * (queries[0] + queries[2]) / 2
    assert torch.allclose(memory.centroids, expected, atol=1e-6)
    assert torch.equal(memory.centroids[[1, 3]], start[[1, 3]])
    assert not list(memory.parameters()), "centroids are not learned by gradient"
    again = CentroidMemory(start, momentum=0.95)
    again.update(torch.tensor([0, 2, 3, 0, 0]), queries, which=torch.tensor([1, 0, 1]))
    assert torch.equal(again.centroids, memory.centroids), "filler labels change nothing"


def test_initial_centroids_are_means_of_queries_without_scaling():
    rng = np.random.default_rng(0)
    queries = rng.normal(size=(5, 3)).astype(np.float32)
    Y = np.float32([[1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0], [0, 0, 0]])
    texts = np.float32([[9, 9, 9]] * 3)
    found = initial_centroids(queries, from_dense(Y), texts)
    assert np.allclose(found[0], queries[[0, 1, 3]].mean(axis=0), atol=1e-6)
    assert np.allclose(found[1], queries[[1, 2]].mean(axis=0), atol=1e-6)
    assert (found[2] == 9).all(), "the label has no query"


@pytest.mark.parametrize("n_labels", [8, 100, 129])
def test_clusters_of_labels_are_balanced_and_limited_in_number(n_labels):
    embeddings = torch.randn(n_labels, 4, generator=torch.Generator().manual_seed(0))
    sizes = np.bincount(label_clusters(embeddings, 8, seed=0))
    assert len(sizes) <= 8
    assert sizes.min() >= 1
    assert sizes.max() <= -(-n_labels // 8)
    assert label_clusters(embeddings, 10**6, seed=0).tolist() == list(range(n_labels))


def test_free_vectors_alone_lower_the_loss():
    torch.manual_seed(0)
    queries = torch.nn.functional.normalize(torch.randn(32, 16), dim=1)
    bank, network = FreeVectors(np.arange(32), dim=16), LabelPrototypeNetwork(16, feedforward=32, dropout=0.0)
    network.requires_grad_(False)
    optimiser = torch.optim.Adam(bank.parameters(), lr=0.05)
    labels, truth, without_text = torch.arange(32), torch.eye(32, dtype=torch.bool), torch.zeros(32, 16)
    losses = []
    for _ in range(40):
        z = network(without_text, bank(labels))
        loss = dynamic_margin(queries @ z.T, truth, labels[:, None])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
