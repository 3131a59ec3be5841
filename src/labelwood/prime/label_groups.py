"""Clusters of labels whose prototypes lie near each other, so that an index need not look at all of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.base import TopK
from labelwood.inputs import Floats, Sparse, thread_count
from labelwood.labels.representations import label_vectors
from labelwood.prime.index import PrototypeIndex
from labelwood.prime.prototypes import label_clusters

_PER_ROOT = 4  # clusters, times the root of the number of labels, or the power of two next to it
_ROUNDS = 5
_NEAR = 8  # clusters among which a label has its second one
_BLOCK = 1 << 12  # labels at a time


class LabelGrouping:
    """Finds two clusters for each label; `done` and `total` count rounds.

    Clusters are found by spherical k-means, which begins with clusters of equal size. A label between clusters is
    missed by queries that look into others than its own. The second is there for these: one that lies near, and in
    another direction than the first, so that not both are missed together (SOAR).

    Example:
        >>> prototypes = np.float32([[1, 0], [0, 1], [0.8, 0.6], [0.6, 0.8]])
        >>> own, second = LabelGrouping(prototypes, n_clusters=2).found().T
        >>> bool(own[0] == own[2] != own[1] == own[3]), bool((own != second).all())
        (True, True)
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
        self.n_clusters = n_clusters or 1 << round(math.log2(_PER_ROOT * math.sqrt(len(prototypes))))
        self.seed = seed
        self.device = device
        self.n_threads = n_threads
        self.done, self.total = 0, 2 + _ROUNDS

    def found(self) -> NDArray[np.int32]:
        """The clusters of each label, labels × 2, its own first; no cluster is without labels of its own."""
        import torch

        vectors = torch.tensor(self.prototypes, device=self.device or "cpu")
        owners = label_clusters(vectors, self.n_clusters, seed=self.seed).astype(np.int32)
        del vectors
        self.done += 1
        for _ in range(_ROUNDS):
            nearest = self._nearest(self._centres(owners), 1).ids[:, 0]
            owners = np.where(nearest < 0, owners, nearest)  # one that is no number is near nothing
            self.done += 1
        owners = np.unique(owners, return_inverse=True)[1].astype(np.int32)
        second = self._second(owners)
        self.done += 1
        return np.stack([owners, second], axis=1)

    def _nearest(self, centres: Floats, k: int) -> TopK:
        return PrototypeIndex(centres, device=self.device, n_threads=self.n_threads).topk(self.prototypes, k)

    def _second(self, owners: NDArray[np.int32]) -> NDArray[np.int32]:
        """For each label the cluster, of those near it, with the least ‖r'‖² + (r'·r)² / ‖r‖².

        r is what the centre of its own cluster misses of the label, r' what another one misses. A query that ranks a
        label's own centre too low lies along r, and then the other is ranked too low as well if r' is along r.
        """
        centres = self._centres(owners)
        near = self._nearest(centres, min(_NEAR, len(centres))).ids
        second = owners.copy()
        for at in range(0, len(owners), _BLOCK):
            rows, own, others = (array[at : at + _BLOCK] for array in (self.prototypes, owners, near))
            missed = rows - centres[own]
            missed_by = rows[:, None] - centres[others]
            along = np.einsum("lcd,ld->lc", missed_by, missed) ** 2
            cost = np.einsum("lcd,lcd->lc", missed_by, missed_by)
            cost += along / np.maximum(np.square(missed).sum(axis=1, keepdims=True), 1e-12)
            cost[(others == own[:, None]) | (others < 0) | np.isnan(cost)] = np.inf
            best = cost.argmin(axis=1)[:, None]
            found = np.take_along_axis(np.where(np.isinf(cost), own[:, None], others), best, axis=1)
            second[at : at + _BLOCK] = found[:, 0]
        return second

    def _centres(self, owners: NDArray[np.int32]) -> Floats:
        """The unit-length sums of the prototypes of each cluster; zeros where one has lost all its labels."""
        n = len(owners)
        membership = Sparse(np.arange(n + 1), owners, np.ones(n, np.float32), int(owners.max()) + 1)
        centres = label_vectors(self.prototypes, membership, thread_count(self.n_threads))
        assert not isinstance(centres, Sparse)
        return centres
