"""Clusters of labels whose prototypes lie near each other, so that an index need not look at all of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.inputs import Floats, Sparse, thread_count
from labelwood.labels.representations import label_vectors
from labelwood.prime.index import PrototypeIndex
from labelwood.prime.prototypes import label_clusters

_PER_ROOT = 4  # clusters, times the root of the number of labels, and from there down to a power of two
_ROUNDS = 5


class LabelGrouping:
    """Finds clusters by spherical k-means, which begins with clusters of equal size; `done` and `total` count rounds.

    Example:
        >>> prototypes = np.float32([[1, 0], [0, 1], [0.8, 0.6], [0.6, 0.8]])
        >>> owners = LabelGrouping(prototypes, n_clusters=2).found()
        >>> bool(owners[0] == owners[2] != owners[1] == owners[3])
        True
    """

    def __init__(
        self,
        prototypes: Floats,
        *,
        n_clusters: int | None = None,
        seed: int = 0,
        device: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.prototypes = np.ascontiguousarray(prototypes, np.float32)
        self.n_clusters = n_clusters or round(_PER_ROOT * math.sqrt(len(prototypes)))
        self.seed = seed
        self.device = device
        self.n_threads = n_threads
        self.done, self.total = 0, 1 + _ROUNDS

    def found(self) -> NDArray[np.int32]:
        """The cluster of each label; none is empty."""
        import torch

        vectors = torch.tensor(self.prototypes, device=self.device or "cpu")
        owners = label_clusters(vectors, self.n_clusters, seed=self.seed).astype(np.int32)
        del vectors
        self.done += 1
        for _ in range(_ROUNDS):
            index = PrototypeIndex(self._centres(owners), device=self.device, n_threads=self.n_threads)
            nearest = index.topk(self.prototypes, 1).ids[:, 0]
            owners = np.where(nearest < 0, owners, nearest)  # one that is no number is near nothing
            self.done += 1
        return np.unique(owners, return_inverse=True)[1].astype(np.int32)

    def _centres(self, owners: NDArray[np.int32]) -> Floats:
        """The unit-length sums of the prototypes of each cluster; zeros where one has lost all its labels."""
        n = len(owners)
        membership = Sparse(np.arange(n + 1), owners, np.ones(n, np.float32), int(owners.max()) + 1)
        centres = label_vectors(self.prototypes, membership, thread_count(self.n_threads))
        assert not isinstance(centres, Sparse)
        return centres
