"""Chooses the queries of each batch, and which of their labels belong to it.

Random numbers depend only on the seed, the epoch and the step, so that training can continue at any step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood.arrays.rows import Sparse
from labelwood.dual_encoder.answering.clusters import clusters
from labelwood.dual_encoder.settings import BatchSettings, ClusterSchedule
from labelwood.labels import inverse_propensities

Ids = NDArray[np.int64]
_ORDER, _POSITIVES, _HARD = 1, 2, 3  # random streams


class QueryOrder:
    """The order of queries in each epoch: random, or clusters of similar queries in random order.

    The labels of similar queries are hard negatives for each other (NGAME). Clusters are found again every few epochs,
    from the vectors that the encoder last computed for the queries.

    Example:
        >>> order = QueryOrder(6, ClusterSchedule(), seed=0)
        >>> sorted(order.of_epoch(0).tolist())
        [0, 1, 2, 3, 4, 5]
    """

    def __init__(self, n_queries: int, schedule: ClusterSchedule, *, seed: int) -> None:
        self.n_queries = n_queries
        self.schedule = schedule
        self.seed = seed
        # Queries, cluster after cluster, and where each cluster starts. At first every query is a cluster.
        self.members: Ids = np.arange(n_queries)
        self.starts: Ids = np.arange(n_queries + 1)

    def refresh(self, epoch: int, embeddings: Any) -> None:
        """Finds clusters of about the scheduled size, for this and the following epochs."""
        n_levels = round(np.log2(max(1.0, self.n_queries / self.schedule.size_at(epoch))))
        self.members, self.starts = clusters(embeddings, n_levels, seed=self.seed + epoch)

    def of_epoch(self, epoch: int) -> Ids:
        """The order of an epoch: every query once."""
        rng = np.random.default_rng([self.seed, epoch, _ORDER])
        place = rng.permutation(len(self.starts) - 1)
        of_member = np.repeat(place, np.diff(self.starts))
        return self.members[np.lexsort((rng.random(self.n_queries), of_member))]


class Positives:
    """Draws labels of queries, with probabilities in proportion to weights.

    Example:
        >>> from labelwood.arrays.rows import from_dense
        >>> draw = Positives(from_dense(np.float32([[1, 0, 1], [0, 1, 0]])), np.ones(3), per_query=2)
        >>> drawn = draw(np.array([0, 1]), np.random.default_rng(0))
        >>> sorted(drawn[0].tolist()), drawn[1].tolist()
        ([0, 2], [1, 1])
    """

    def __init__(self, Y: Sparse, weights: NDArray[np.float64], *, per_query: int) -> None:
        self.Y = Y
        self.weights = weights
        self.per_query = per_query

    def __call__(self, queries: Ids, rng: np.random.Generator) -> Ids:
        """Labels, queries × P; they repeat only if a query has fewer than P labels."""
        rows, labels = pairs_of(self.Y, queries)
        # Sorting exponential variables with these rates draws labels in proportion to their rates, without repetition.
        keys = rng.exponential(size=len(labels)) / self.weights[labels]
        ordered = labels[np.lexsort((keys, rows))]
        sizes = np.bincount(rows, minlength=len(queries))
        starts = np.cumsum(sizes) - sizes
        return ordered[starts[:, None] + np.arange(self.per_query) % sizes[:, None]]


class HardNegatives(NamedTuple):
    """For each query, wrong labels that were nearest at the last mining (ANCE).

    Example:
        >>> mined = HardNegatives(np.array([[4, 5], [6, 7]]))
        >>> mined.draw(np.array([1]), 2, np.random.default_rng(0)).tolist()
        [6, 7]
    """

    labels: NDArray[np.int32]  # queries × kept negatives

    def draw(self, queries: Ids, per_query: int, rng: np.random.Generator) -> Ids:
        """Random ones of each query's labels, as one flat array."""
        n_kept = self.labels.shape[1]
        which = rng.random((len(queries), n_kept)).argsort(axis=1)[:, :per_query]
        which.sort(axis=1)
        return self.labels[queries[:, None], which].ravel().astype(np.int64)


class Batch(NamedTuple):
    """The queries and labels of a step, and which pairs of them are true.

    Example:
        >>> from labelwood.arrays.rows import from_dense
        >>> Y = from_dense(np.float32([[1, 0, 1], [0, 0, 1]]))
        >>> sampler = BatchSampler(Y, BatchSettings(size=2, positives=1), seed=0)
        >>> batch = sampler.batch(np.array([1, 1]), epoch=0, step=0)
        >>> batch.labels.tolist(), batch.columns.tolist(), batch.positives.tolist()
        ([2], [0, 0], [[0], [1]])
    """

    queries: Ids
    labels: Ids  # without duplicates: each is encoded once
    columns: Ids  # places in `labels`
    positives: Ids  # queries × P: the columns of drawn labels
    owners: Ids  # for each drawn column a query with this label; these columns come first
    true_rows: Ids  # with `true_labels`: all pairs of a query and a label in the batch that are no negatives
    true_labels: Ids  # places in `labels`


class BatchSampler:
    """Makes batches of queries with the labels `Y`; pairs in `never_negative`, by default `Y`, are never negatives.

    Example:
        >>> from labelwood.arrays.rows import from_dense
        >>> sampler = BatchSampler(from_dense(np.eye(3, dtype=np.float32)), BatchSettings(positives=1), seed=0)
        >>> sampler.batch(np.array([2, 0]), epoch=0, step=0).labels.tolist()
        [0, 2]
    """

    def __init__(self, Y: Sparse, settings: BatchSettings, *, seed: int, never_negative: Sparse | None = None) -> None:
        self.Y = Y
        self.never_negative = Y if never_negative is None else never_negative
        self.settings = settings
        self.seed = seed
        self.hard = HardNegatives(np.empty((Y.n_rows, 0), np.int32))
        weights = np.ones(Y.n_cols)
        if settings.positive_weights == "propensity":
            frequencies = np.bincount(Y.indices, minlength=Y.n_cols)
            weights = inverse_propensities(frequencies, Y.n_rows, family=settings.propensity_family).values
        self.draw = Positives(Y, weights, per_query=settings.positives)

    def batch(self, queries: Ids, *, epoch: int, step: int) -> Batch:
        """The batch of these queries; the same for the same seed, epoch and step."""
        drawn = self.draw(queries, np.random.default_rng([self.seed, epoch, step, _POSITIVES]))
        of_pair = np.repeat(np.arange(len(queries)), self.settings.positives)
        if self.settings.columns == "all":
            every = np.arange(self.Y.n_cols)
            known = true_pairs(self.never_negative, queries, every)
            return Batch(queries, every, every, drawn, np.empty(0, np.int64), *known)
        column_labels, owners = drawn.ravel(), of_pair
        positives = np.arange(drawn.size).reshape(drawn.shape)
        if self.settings.columns == "distinct":
            column_labels, first, which = np.unique(drawn, return_index=True, return_inverse=True)
            positives, owners = which.reshape(drawn.shape), of_pair[first]
        if self.settings.hard_negatives:
            rng = np.random.default_rng([self.seed, epoch, step, _HARD])
            column_labels = np.append(column_labels, self.hard.draw(queries, self.settings.hard_negatives, rng))
        labels, columns = np.unique(column_labels, return_inverse=True)
        return Batch(queries, labels, columns, positives, owners, *true_pairs(self.never_negative, queries, labels))


def prefetch(make: Callable[[int], Batch], steps: Iterable[int]) -> Iterator[Batch]:
    """Yields the batch of each step, and makes the next one in a thread meanwhile, so that the GPU does not wait.

    Example:
        >>> list(prefetch(lambda step: step * 10, range(3)))
        [0, 10, 20]
    """
    with ThreadPoolExecutor(max_workers=1) as thread:

        def start_batch(step: int) -> Callable[[], Batch]:
            try:
                return thread.submit(make, step).result
            except RuntimeError:  # the interpreter is shutting down and starts no new threads
                return partial(make, step)

        following = None
        for step in steps:
            present, following = following, start_batch(step)
            if present is not None:
                yield present()
        if following is not None:
            yield following()


def pairs_of(Y: Sparse, queries: Ids) -> tuple[Ids, Ids]:
    """All pairs of a query and one of its labels; queries are numbered by their place in `queries`.

    Example:
        >>> from labelwood.arrays.rows import from_dense
        >>> [a.tolist() for a in pairs_of(from_dense(np.float32([[1, 0], [1, 1]])), np.array([1, 0]))]
        [[0, 0, 1], [0, 1, 0]]
    """
    starts = Y.indptr[queries]
    sizes = Y.indptr[queries + 1] - starts
    rows = np.repeat(np.arange(len(queries)), sizes)
    at = np.arange(len(rows)) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    return rows, Y.indices[at].astype(np.int64)


def true_pairs(Y: Sparse, queries: Ids, labels: Ids) -> tuple[Ids, Ids]:
    """The pairs that `Y` has, as places in `queries` and in `labels`; these must be sorted, without duplicates.

    Example:
        >>> from labelwood.arrays.rows import from_dense
        >>> Y = from_dense(np.float32([[1, 0, 1], [0, 1, 0]]))
        >>> [a.tolist() for a in true_pairs(Y, np.array([1, 0]), np.array([1, 2]))]
        [[0, 1], [0, 1]]
    """
    rows, found = pairs_of(Y, queries)
    places = np.searchsorted(labels, found)
    is_there = np.append(labels, -1)[places] == found
    return rows[is_there], places[is_there]
