"""Finds the labels whose prototypes have the largest inner products with a query: exactly, or only in some clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood import _native
from labelwood.arrays.rows import Floats
from labelwood.arrays.threads import thread_count
from labelwood.arrays.topk import TopK, check_k
from labelwood.contract.limits import NO_LIMITS, Limits
from labelwood.errors import LabelwoodError, ParameterError

_CHUNK = 1 << 26  # similarities in GPU memory at a time
_MIN_LABELS = 1 << 14  # fewer labels are scanned as fast as directions are found
_SAMPLE = 1 << 13  # labels from which directions are found
_STEP = 64  # directions are added in steps of a register's size in bytes
_MAX_REST = 0.2  # share of the variance outside the directions; with more, too many labels could be among the best

ENOUGH = 100  # if the probed clusters have fewer labels than this, all labels are scanned


class PrototypeIndex:
    """An index of prototypes. It searches with native code on a CPU, or with torch on a given device.

    On a CPU it scans a copy in 8-bit numbers, and scores possible answers with the exact prototypes. A bound on the
    rounding error makes sure that no answer is missed. If there are many prototypes and most of their variance is in
    few directions, it first scans only their parts in these directions, with bounds for the rest. `clusters` has two
    clusters for each label, its own first. Then each label is stored in both, and `topk` can search only some clusters.
    On a device, torch always scans all labels.

    Example:
        >>> index = PrototypeIndex(np.float32([[1, 0], [0, 1], [0.6, 0.8]]))
        >>> index.topk(np.float32([[0, 1]]), k=2).ids
        array([[1, 2]], dtype=int32)
        >>> index.topk(np.float32([[0, 1]]), k=1, limits=Limits.of(3, exclude=[1])).ids
        array([[2]], dtype=int32)
        >>> index = PrototypeIndex(index.prototypes, clusters=np.int32([[0, 1], [1, 0], [0, 1]]))
        >>> index.topk(np.float32([[0.8, 0.6]]), k=1, probes=1).ids  # the nearest of the nearest cluster
        array([[2]], dtype=int32)
    """

    def __init__(
        self,
        prototypes: Floats,
        *,
        clusters: NDArray[np.int32] | None = None,
        device: Any = None,
        n_threads: int | None = None,
    ) -> None:
        if prototypes.ndim != 2 or len(prototypes) == 0:
            raise LabelwoodError("prototypes must be labels × numbers, with at least one label")
        self.prototypes = np.ascontiguousarray(prototypes, np.float32)
        self.n_threads = n_threads
        self._here: Any = None
        self._there: Any = None
        if device is None:
            parts = _check_clusters(clusters, len(prototypes)), main_directions(self.prototypes)
            self._here = _native.PrototypeIndex(self.prototypes, *parts, thread_count(n_threads))
        else:
            import torch

            self._there = torch.tensor(self.prototypes, device=device)

    def topk(
        self,
        queries: Floats,
        k: int,
        limits: Limits = NO_LIMITS,
        *,
        probes: int | None = None,
        needed: NDArray[np.int64] | None = None,
    ) -> TopK:
        """The `k` best labels of each query within the limits, best first; fewer if there are no more.

        With `probes`, only this many clusters are searched, those with the nearest centres. If they have fewer allowed
        labels than the query's number in `needed`, all labels are searched. If they have enough but fewer than `k`,
        there are fewer answers. `needed` is `ENOUGH` by default. It must not depend on `k`, or the best answers would.
        """
        probes = check_probes(probes)
        k = min(check_k(k), len(self.prototypes))
        rows = np.ascontiguousarray(queries, np.float32)
        if rows.ndim != 2 or rows.shape[1] != self.prototypes.shape[1]:
            raise LabelwoodError(
                f"queries have the shape {rows.shape} and prototypes have {self.prototypes.shape[1]} numbers: "
                "embed queries with the same encoder"
            )
        if self._there is not None:
            return self._topk_there(rows, k, limits)
        needed = np.full(len(rows), ENOUGH) if needed is None else needed
        n_probes, n_threads = min(probes or 0, len(self.prototypes)), thread_count(self.n_threads)
        return TopK(*self._here.topk(rows, k, limits, probes=n_probes, needed=needed, n_threads=n_threads))

    def _topk_there(self, rows: Floats, k: int, limits: Limits) -> TopK:
        import torch

        ids, scores = np.full((len(rows), k), -1, np.int32), np.full((len(rows), k), -np.inf, np.float32)
        excluded = torch.from_numpy(limits.allowed == 0).to(self._there.device) if len(limits.allowed) else None
        step = max(1, _CHUNK // len(self.prototypes))
        for at in range(0, len(rows), step):
            products = torch.from_numpy(rows[at : at + step]).to(self._there.device) @ self._there.T
            if excluded is not None:
                products[:, excluded] = -torch.inf
            # NaN is no answer, but torch sorts it first. The comparison is false for NaN.
            products[~(products >= limits.min_score)] = -torch.inf
            values, columns = products.topk(k, dim=1)
            # Ties come in order of ids, as everywhere: sort by id first, then stably by score.
            columns, order = columns.sort(dim=1)
            values, best = values.gather(1, order).sort(dim=1, descending=True, stable=True)
            found = columns.gather(1, best).masked_fill(values == -torch.inf, -1)
            ids[at : at + step], scores[at : at + step] = found.cpu().numpy(), values.cpu().numpy()
        return TopK(ids, scores)


def main_directions(prototypes: Floats) -> Floats:
    """The few directions, as columns, with most of the prototypes' variance; none if it takes too many.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> main_directions(np.float32(rng.normal(size=(20_000, 32)) @ rng.normal(size=(32, 128)))).shape
        (128, 64)
        >>> main_directions(np.float32(rng.normal(size=(20_000, 128)))).shape
        (128, 0)
    """
    n_labels, width = prototypes.shape
    none = np.empty((width, 0), np.float32)
    if n_labels < _MIN_LABELS or width < 2 * _STEP:
        return none
    sample = prototypes[:: n_labels // _SAMPLE].astype(np.float64)
    moments = sample.T @ sample / len(sample)
    if not np.isfinite(moments).all():
        return none
    lengths, directions = np.linalg.eigh(moments)
    rest = lengths.cumsum()[::-1]  # rest[n]: the sum of all lengths but the n largest
    variance = rest[0] - np.square(sample.mean(axis=0)).sum()
    for n in range(_STEP, width // 2 + 1, _STEP):
        if rest[n] <= _MAX_REST * variance:
            return np.ascontiguousarray(directions[:, ::-1][:, :n], np.float32)
    return none


def _check_clusters(clusters: Any, n_labels: int) -> NDArray[np.int32]:
    if clusters is None:
        return np.empty((0, 2), np.int32)
    pairs = np.asarray(clusters)
    is_valid = pairs.shape == (n_labels, 2) and np.issubdtype(pairs.dtype, np.integer)
    if not is_valid or pairs.min() < 0 or pairs.max() >= n_labels:
        raise LabelwoodError(f"clusters must be two whole numbers, from 0 to {n_labels - 1}, for each label")
    return np.ascontiguousarray(pairs, np.int32)


def check_probes(probes: Any) -> int | None:
    """Checks the number of probes.

    Example:
        >>> check_probes(np.int64(32))
        32
    """
    if probes is None:
        return None
    if isinstance(probes, bool) or not isinstance(probes, (int, np.integer)) or probes < 1:
        raise ParameterError(f"probes is {probes!r} but should be None or a whole number of at least 1")
    return int(probes)
