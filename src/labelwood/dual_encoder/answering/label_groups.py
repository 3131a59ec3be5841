"""Clusters labels with similar prototypes, so that an index does not have to scan all labels."""

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

_PER_ROOT = 4  # the number of clusters is the power of two nearest to this times the root of the number of labels
_SAMPLED = 64  # labels per cluster from which centres are found
_ROUNDS = 6
_N_NEAR = 8  # nearest clusters of a label, from which its own and its second one are chosen
_BLOCK = 1 << 12  # labels at a time


class LabelGrouping:
    """Finds two clusters for each label; `done` and `total` count blocks of labels, for a progress bar.

    Centres are found by spherical k-means on a sample of labels, starting from random labels. A label between clusters
    is missed by queries that probe only other clusters. So each label has a second cluster: a near one, but in another
    direction than the first, so that a query rarely misses both (SOAR).

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
        wanted = n_clusters or 1 << round(math.log2(_PER_ROOT * math.sqrt(len(prototypes))))
        self.n_clusters = min(wanted, len(prototypes))
        self.seed = seed
        self.device = device
        self.n_threads = n_threads
        self.n_sampled = min(_SAMPLED * self.n_clusters, len(prototypes))
        n_blocks, n_sampled = (-(-n // _BLOCK) for n in (len(prototypes), self.n_sampled))
        self.done, self.total = 0, _ROUNDS * n_sampled + 2 * n_blocks

    def found(self) -> NDArray[np.int32]:
        """The clusters of each label, labels × 2, its own first; empty clusters are dropped."""
        centres = self._centres()
        near = self._nearest(self.prototypes, centres, min(_N_NEAR, len(centres)))
        filled = np.unique(near[:, 0])
        numbers = np.full(len(centres), -1, np.int32)
        numbers[filled] = np.arange(len(filled))
        near = numbers[near]
        own = near[:, 0]
        return np.stack([own, self._second(self._means(self.prototypes, own, len(filled)), own, near)], axis=1)

    def _centres(self) -> Floats:
        """The centres of clusters, of unit length."""
        rng = np.random.default_rng(self.seed)
        sample = self.prototypes[np.sort(rng.choice(len(self.prototypes), self.n_sampled, replace=False))]
        centres = sample[rng.choice(self.n_sampled, self.n_clusters, replace=False)]
        for _ in range(_ROUNDS):
            owners = self._nearest(sample, centres, 1)[:, 0]
            means = self._means(sample, owners, len(centres))
            centres = np.where(means.any(axis=1, keepdims=True), means, centres)  # an empty cluster keeps its centre
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
        """For each label the near cluster with the smallest ‖r'‖² + (r'·r)² / ‖r‖².

        r is the label minus the centre of its own cluster, r' the label minus another centre. A query ranks the own
        centre too low if it points along r. It then ranks the other centre too low as well if r' points along r.
        """
        second = own.copy()
        for block in self._blocks(len(own)):
            rows, first, others = (array[block] for array in (self.prototypes, own, near))
            residuals = rows - centres[first]
            other_residuals = rows[:, None] - centres[others]
            along = np.einsum("lcd,ld->lc", other_residuals, residuals) ** 2
            cost = np.einsum("lcd,lcd->lc", other_residuals, other_residuals)
            cost += along / np.maximum(np.square(residuals).sum(axis=1, keepdims=True), 1e-12)
            cost[(others == first[:, None]) | (others < 0) | np.isnan(cost)] = np.inf
            best = cost.argmin(axis=1)[:, None]
            found = np.take_along_axis(np.where(np.isinf(cost), first[:, None], others), best, axis=1)
            second[block] = found[:, 0]
        return second


def _as_numbers(prototypes: Floats) -> Floats:
    """Replaces prototypes that are not finite by zeros: with them, clusters would have no centre."""
    rows = np.ascontiguousarray(prototypes, np.float32)
    not_finite = ~np.isfinite(np.einsum("ld,ld->l", rows, rows))
    return np.where(not_finite[:, None], np.float32(0), rows) if not_finite.any() else rows
