"""Clusters of labels whose prototypes lie near each other, so that an index need not look at all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.arrays.rows import Floats, Sparse
from labelwood.arrays.threads import thread_count
from labelwood.dual_encoder.answering.index import PrototypeIndex
from labelwood.labels.representations import label_vectors

_PER_ROOT = 4  # clusters, times the root of the number of labels, or the power of two next to it
_SEEN = 64  # labels for each cluster, from which centres are found
_ROUNDS = 6
_NEAR = 8  # clusters among which a label has its own, the nearest, and its second
_BLOCK = 1 << 12  # labels at a time


class LabelGrouping:
    """Finds two clusters for each label; `done` and `total` count labels that are looked at, some thousands at a time.

    Centres are found by spherical k-means on some of the labels, and begin with labels at random. A label between
    clusters is missed by queries that look into others than its own. The second is there for these: one that lies near,
    and in another direction than the first, so that not both are missed together (SOAR).

    Example:
        >>> prototypes = np.float32([[1, 0], [0, 1], [0.9, 0.1], [0.1, 0.9]])
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
        self.prototypes = _as_numbers(prototypes)
        asked = n_clusters or 1 << round(math.log2(_PER_ROOT * math.sqrt(len(prototypes))))
        self.n_clusters = min(asked, len(prototypes))
        self.seed = seed
        self.device = device
        self.n_threads = n_threads
        self.n_seen = min(_SEEN * self.n_clusters, len(prototypes))
        n_blocks, n_seen = (-(-n // _BLOCK) for n in (len(prototypes), self.n_seen))
        self.done, self.total = 0, _ROUNDS * n_seen + 2 * n_blocks

    def found(self) -> NDArray[np.int32]:
        """The clusters of each label, labels × 2, its own first; no cluster is without labels of its own."""
        centres = self._centres()
        near = self._nearest(self.prototypes, centres, min(_NEAR, len(centres)))
        filled = np.unique(near[:, 0])
        numbers = np.full(len(centres), -1, np.int32)
        numbers[filled] = np.arange(len(filled))
        near = numbers[near]
        own = near[:, 0]
        return np.stack([own, self._second(self._means(self.prototypes, own, len(filled)), own, near)], axis=1)

    def _centres(self) -> Floats:
        """Vectors of unit length that lie in the midst of some labels each."""
        rng = np.random.default_rng(self.seed)
        seen = self.prototypes[np.sort(rng.choice(len(self.prototypes), self.n_seen, replace=False))]
        centres = seen[rng.choice(self.n_seen, self.n_clusters, replace=False)]
        for _ in range(_ROUNDS):
            owners = self._nearest(seen, centres, 1)[:, 0]
            means = self._means(seen, owners, len(centres))
            centres = np.where(means.any(axis=1, keepdims=True), means, centres)  # one may have lost all its labels
        return centres

    def _nearest(self, rows: Floats, centres: Floats, k: int) -> NDArray[np.int32]:
        index = PrototypeIndex(centres, device=self.device, n_threads=self.n_threads)
        return np.concatenate([index.topk(rows[block], k).ids for block in self._blocks(len(rows))])

    def _blocks(self, n: int) -> Iterator[slice]:
        for at in range(0, n, _BLOCK):
            yield slice(at, at + _BLOCK)
            self.done += 1

    def _means(self, rows: Floats, owners: NDArray[np.int32], n_clusters: int) -> Floats:
        membership = Sparse(np.arange(len(rows) + 1), owners, np.ones(len(rows), np.float32), n_clusters)
        means = label_vectors(rows, membership, thread_count(self.n_threads))
        assert not isinstance(means, Sparse)
        return means

    def _second(self, centres: Floats, own: NDArray[np.int32], near: NDArray[np.int32]) -> NDArray[np.int32]:
        """For each label the cluster, of those near it, with the least ‖r'‖² + (r'·r)² / ‖r‖².

        r is what the centre of its own cluster misses of the label, r' what another one misses. A query that ranks a
        label's own centre too low lies along r, and then the other is ranked too low as well if r' is along r.
        """
        second = own.copy()
        for block in self._blocks(len(own)):
            rows, first, others = (array[block] for array in (self.prototypes, own, near))
            missed = rows - centres[first]
            missed_by = rows[:, None] - centres[others]
            along = np.einsum("lcd,ld->lc", missed_by, missed) ** 2
            cost = np.einsum("lcd,lcd->lc", missed_by, missed_by)
            cost += along / np.maximum(np.square(missed).sum(axis=1, keepdims=True), 1e-12)
            cost[(others == first[:, None]) | (others < 0) | np.isnan(cost)] = np.inf
            best = cost.argmin(axis=1)[:, None]
            found = np.take_along_axis(np.where(np.isinf(cost), first[:, None], others), best, axis=1)
            second[block] = found[:, 0]
        return second


def _as_numbers(prototypes: Floats) -> Floats:
    """Prototypes with zeros for those that are no numbers, which would leave clusters without a centre."""
    rows = np.ascontiguousarray(prototypes, np.float32)
    strange = ~np.isfinite(np.einsum("ld,ld->l", rows, rows))
    return np.where(strange[:, None], np.float32(0), rows) if strange.any() else rows
