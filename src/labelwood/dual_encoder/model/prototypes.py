"""Label prototypes, made from a label's text, the mean of its queries, and a vector shared with similar labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from labelwood.arrays.rows import Floats, Sparse
from labelwood.dual_encoder.answering.clusters import clusters


class LabelPrototypeNetwork(nn.Module):  # type: ignore[misc]  # torch is not typed here
    """One transformer layer over the sequence of a label's vectors, then their mean, scaled to unit length.

    The sequence is the text's vector u from the encoder, then the free vector and the centroid, if they exist. There
    are no position embeddings: the layer learns to distinguish the sources by their values.

    Example:
        >>> network = LabelPrototypeNetwork(8, heads=1, feedforward=16, dropout=0.1)
        >>> network(torch.randn(3, 8), torch.randn(3, 8), None).norm(dim=1).round(decimals=4).tolist()
        [1.0, 1.0, 1.0]
    """

    def __init__(self, dim: int, *, heads: int = 1, feedforward: int = 1024, dropout: float = 0.1) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(
            dim, heads, feedforward, dropout, activation="gelu", batch_first=True, norm_first=False
        )

    def forward(self, texts: Any, free: Any = None, centroids: Any = None) -> Any:
        """Prototypes z, labels × dim."""
        sources = [source for source in (texts, free, centroids) if source is not None]
        with sdpa_kernel(SDPBackend.MATH):  # the others are for long sequences; this one has three
            mixed = self.layer(torch.stack(sources, dim=1)).mean(dim=1)
        return nn.functional.normalize(mixed.float(), dim=1)


class CentroidMemory(nn.Module):  # type: ignore[misc]
    """The mean vector of each label's queries, updated as a moving average while the encoder is trained.

    It has no gradient and is not scaled to unit length.

    Example:
        >>> memory = CentroidMemory(torch.zeros(2, 3), momentum=0.9)
        >>> queries = torch.tensor([[1.0, 0, 0], [0, 1.0, 0]])
        >>> memory.update(torch.tensor([0, 1]), queries, which=torch.tensor([1, 1]))
        >>> [round(x, 4) for x in memory(torch.tensor([1]))[0].tolist()]
        [0.05, 0.05, 0.0]
    """

    def __init__(self, centroids: Any, *, momentum: float = 0.95) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("centroids", centroids.detach().clone())

    def forward(self, labels: Any) -> Any:
        """The centroids of some labels."""
        return self.centroids[labels]

    def update(self, labels: Any, queries: Any, *, which: Any) -> None:
        """c ← α c + (1 − α) h (Equation 4), where h is the mean of the label's queries in the batch.

        `which` has, for each query, the place of its label in `labels`; these labels must be different. Nothing here
        waits for the device.
        """
        with torch.no_grad():
            before = self.centroids[labels]
            sums = torch.zeros_like(before).index_add_(0, which, queries.to(before))
            counts = before.new_zeros(len(labels)).index_add_(0, which, before.new_ones(len(which)))[:, None]
            moved = (1 - self.momentum) * (sums / counts.clamp(min=1) - before) * (counts > 0)
            self.centroids.index_add_(0, labels, moved)


class FreeVectors(nn.Module):  # type: ignore[misc]
    """A bank of learned vectors, each shared by the labels of a cluster.

    Example:
        >>> bank = FreeVectors(np.array([0, 1, 0]), dim=4)
        >>> vectors = bank(torch.tensor([0, 1, 2]))
        >>> bool((vectors[0] == vectors[2]).all()), bool((vectors[0] == vectors[1]).all())
        (True, False)
    """

    def __init__(self, owners: NDArray[np.int64], dim: int) -> None:
        super().__init__()
        self.register_buffer("owners", torch.from_numpy(np.asarray(owners, np.int64)))
        self.bank = nn.Parameter(torch.empty(int(owners.max()) + 1, dim))
        nn.init.xavier_uniform_(self.bank)

    def forward(self, labels: Any) -> Any:
        """The free vectors of some labels."""
        return self.bank.index_select(0, self.owners[labels])  # the backward pass of `embedding` sorts


def label_clusters(embeddings: Any, n_clusters: int, *, seed: int) -> NDArray[np.int64]:
    """The cluster of each label. There are a power of two of clusters, at most `n_clusters`, of equal size.

    Example:
        >>> of_label = label_clusters(torch.tensor([[1.0, 0], [0, 1.0], [0.9, 0.1], [0.1, 0.9]]), 2, seed=0)
        >>> bool(of_label[0] == of_label[2] != of_label[1] == of_label[3])
        True
    """
    n_labels = len(embeddings)
    if n_clusters >= n_labels:
        return np.arange(n_labels)
    members, starts = clusters(embeddings, n_clusters.bit_length() - 1, seed=seed)
    owners = np.empty(n_labels, np.int64)
    owners[members] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return owners


def initial_centroids(queries: Floats, Y: Sparse, label_texts: Floats) -> Floats:
    """The mean of the queries' vectors for each label; labels without queries start with their text's vector.

    Example:
        >>> from labelwood.arrays.rows import from_dense
        >>> Y = from_dense(np.float32([[1, 0], [1, 0]]))
        >>> initial_centroids(np.float32([[1, 0], [0, 1]]), Y, np.float32([[1, 0], [0, -1]])).tolist()
        [[0.5, 0.5], [0.0, -1.0]]
    """
    counts = np.bincount(Y.indices, minlength=Y.n_cols)
    sums = Y.to_scipy().T @ queries
    means: Floats = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], label_texts)
    return means.astype(np.float32, copy=False)
