"""Every epoch sees every query once, clusters make harder negatives, and the ground truth of a batch is complete."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labelwood.arrays.rows import from_dense
from labelwood.dual_encoder.data.mining import mined
from labelwood.dual_encoder.data.samplers import BatchSampler, Positives, QueryOrder, prefetch
from labelwood.dual_encoder.settings import BatchSettings, ClusterSchedule

pytestmark = pytest.mark.deep


def blobs(n_blobs=16, size=32, dim=8, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_blobs, dim)) * 3
    rows = np.repeat(centres, size, axis=0) + rng.normal(size=(n_blobs * size, dim))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def random_labels(n_rows=40, n_labels=25, seed=0):
    Y = np.random.default_rng(seed).random((n_rows, n_labels)) < 0.15
    Y[np.arange(n_rows), np.arange(n_rows) % n_labels] = True
    return Y.astype(np.float32)


@given(st.integers(1, 60), st.integers(1, 70), st.integers(0, 3))
def test_every_epoch_is_a_permutation(n_queries, cluster_size, epoch):
    order = QueryOrder(n_queries, ClusterSchedule(cluster_size=cluster_size), seed=1)
    order.refresh(epoch, torch.randn(n_queries, 3, generator=torch.Generator().manual_seed(0)))
    assert sorted(order.of_epoch(epoch).tolist()) == list(range(n_queries))


def test_orders_differ_between_epochs_and_depend_on_the_seed():
    a, b = (QueryOrder(50, ClusterSchedule(), seed=3) for _ in range(2))
    assert a.of_epoch(2).tolist() == b.of_epoch(2).tolist()
    assert a.of_epoch(2).tolist() != a.of_epoch(3).tolist()


def test_clusters_stay_together_and_come_in_another_order_each_epoch():
    rows = blobs()
    order = QueryOrder(len(rows), ClusterSchedule(cluster_size=32), seed=0)
    order.refresh(0, torch.from_numpy(rows))
    clusters = [frozenset(order.of_epoch(0)[at : at + 32].tolist()) for at in range(0, len(rows), 32)]
    again = [frozenset(order.of_epoch(1)[at : at + 32].tolist()) for at in range(0, len(rows), 32)]
    assert set(clusters) == set(again)
    assert clusters != again


def test_clusters_raise_the_similarity_of_negatives_in_a_batch():
    rows = blobs()

    def mean_similarity(order):
        found = []
        for at in range(0, len(rows), 64):
            some = rows[order[at : at + 64]]
            products = some @ some.T
            found.append((products.sum() - len(some)) / (len(some) * (len(some) - 1)))
        return np.mean(found)

    order = QueryOrder(len(rows), ClusterSchedule(cluster_size=32), seed=0)
    at_random = mean_similarity(order.of_epoch(0))
    order.refresh(0, torch.from_numpy(rows))
    assert mean_similarity(order.of_epoch(0)) > at_random + 0.2


def test_clusters_are_refreshed_on_time_and_grow():
    settings = BatchSettings(random_epochs=10, refresh_every=5, cluster_size=4, double_at=(10, 20))
    schedule = settings.schedule(epochs=40)
    assert [epoch for epoch in range(31) if schedule.is_due(epoch)] == [10, 15, 20, 25, 30]
    assert [schedule.size_at(epoch) for epoch in (0, 9, 10, 19, 20, 99)] == [4, 4, 8, 8, 16, 16]
    at_random = BatchSettings(sampler="random", cluster_size=4).schedule(epochs=40)
    assert not any(at_random.is_due(epoch) for epoch in range(40))


def test_short_trainings_use_clusters_too():
    papers = BatchSettings().schedule(epochs=300)
    assert [epoch for epoch in range(31) if papers.is_due(epoch)] == [10, 15, 20, 25, 30]
    assert [papers.size_at(epoch) for epoch in (9, 10, 20, 299)] == [1, 2, 4, 512]
    short = BatchSettings().schedule(epochs=6)
    assert [epoch for epoch in range(6) if short.is_due(epoch)] == [1, 2, 3, 4, 5]
    assert short.size_at(5) == papers.size_at(299)
    assert BatchSettings(refresh_every=3, random_epochs=0).schedule(epochs=6).refresh_every == 3


def test_positives_are_drawn_in_proportion_to_their_weights():
    draw = Positives(from_dense(np.float32([[1, 1, 1]])), np.array([1.0, 2.0, 5.0]), per_query=1)
    drawn = draw(np.zeros(20000, np.int64), np.random.default_rng(0)).ravel()
    assert np.allclose(np.bincount(drawn) / len(drawn), [1 / 8, 2 / 8, 5 / 8], atol=0.02)


def test_positives_of_a_query_differ_if_it_has_enough_labels():
    Y = random_labels()
    drawn = Positives(from_dense(Y), np.ones(Y.shape[1]), per_query=3)(np.arange(len(Y)), np.random.default_rng(0))
    for row, labels in zip(Y, drawn, strict=True):
        assert (row[labels] == 1).all()
        assert len(set(labels)) == min(3, int(row.sum()))


@pytest.mark.parametrize("columns", ["sampled", "distinct", "all"])
@pytest.mark.parametrize("hard", [0, 2])
def test_a_batch_knows_every_true_pair_of_its_columns(columns, hard):
    Y = random_labels()
    settings = BatchSettings(positives=2, columns=columns, hard_negatives=hard)
    sampler = BatchSampler(from_dense(Y), settings, seed=0)
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(Y.shape[1], 4)).astype(np.float32)
    sampler.hard = mined(rng.normal(size=(len(Y), 4)).astype(np.float32), vectors, from_dense(Y), n_kept=4)
    queries = np.array([5, 0, 17, 39])
    batch = sampler.batch(queries, epoch=1, step=2)
    of_labels = np.zeros((4, len(batch.labels)))
    of_labels[batch.true_rows, batch.true_labels] = 1
    truth = of_labels[:, batch.columns]
    assert np.array_equal(truth, Y[queries][:, batch.labels[batch.columns]])
    assert len(set(batch.labels.tolist())) == len(batch.labels)
    drawn = batch.labels[batch.columns[batch.positives]]
    assert (np.take_along_axis(truth, batch.positives, 1) == 1).all()
    for column, owner in enumerate(batch.owners):
        assert truth[owner, column] == 1
    assert len(batch.owners) == {"sampled": 8, "distinct": len(set(drawn.ravel())), "all": 0}[columns]


def test_rare_labels_are_drawn_more_often_with_propensities():
    Y = np.zeros((500, 2), np.float32)
    Y[:, 0] = 1
    Y[:5, 1] = 1
    shares = []
    for weights in ("uniform", "propensity"):
        sampler = BatchSampler(from_dense(Y), BatchSettings(positives=1, positive_weights=weights), seed=0)
        batches = [sampler.batch(np.arange(5), epoch=0, step=step) for step in range(400)]
        shares.append(np.mean([batch.labels[batch.columns[batch.positives]] for batch in batches]))
    assert shares[0] == pytest.approx(0.5, abs=0.05)
    assert shares[1] > 0.65


def test_mined_labels_are_nearest_and_never_true():
    Y, rng = random_labels(), np.random.default_rng(0)
    queries, labels = rng.normal(size=(40, 4)).astype(np.float32), rng.normal(size=(25, 4)).astype(np.float32)
    found = mined(queries, labels, from_dense(Y), n_kept=3).labels
    products = np.where(Y > 0, -np.inf, queries @ labels.T)
    assert np.array_equal(found, np.argsort(-products, axis=1, kind="stable")[:, :3])


@pytest.mark.parametrize("columns", ["sampled", "all"])
def test_pairs_in_never_negative_are_neither_negatives_nor_drawn(columns):
    Y = np.eye(4, dtype=np.float32)
    never_negative = Y.copy()
    never_negative[0, 1] = never_negative[2, 3] = 1
    sampler = BatchSampler(
        from_dense(Y), BatchSettings(positives=1, columns=columns), seed=0, never_negative=from_dense(never_negative)
    )
    batch = sampler.batch(np.arange(4), epoch=0, step=0)
    truth = np.zeros((4, 4))
    truth[batch.true_rows, batch.true_labels] = 1
    assert np.array_equal(truth, never_negative[:, batch.labels])
    assert batch.labels[batch.columns[batch.positives]].ravel().tolist() == [0, 1, 2, 3]


def test_batches_are_prefetched_and_their_errors_reach_the_caller():
    made = []

    def make(step):
        made.append(step)
        if step == 3:
            raise ValueError(step)
        return step

    batches = prefetch(make, range(9))
    assert next(batches) == 0
    wait_until(lambda: made == [0, 1])
    assert [next(batches), next(batches)] == [1, 2]
    with pytest.raises(ValueError, match="3"):
        next(batches)
    assert max(made) <= 4


def test_batches_are_made_even_if_no_thread_can_start(monkeypatch):
    def refuse(*_):
        raise RuntimeError("cannot schedule new futures after shutdown")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", refuse)
    assert list(prefetch(lambda step: -step, range(3))) == [0, -1, -2]


def wait_until(is_so, seconds=10):
    end = monotonic() + seconds
    while not is_so():
        assert monotonic() < end
        sleep(0.001)
