"""The index is exact except with probes, keeps limits, and torch finds the same labels as native code."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from labelwood import _native
from labelwood.contract.limits import Limits
from labelwood.dual_encoder.answering import index as module
from labelwood.dual_encoder.answering.index import PrototypeIndex, main_directions
from labelwood.dual_encoder.answering.label_groups import LabelGrouping
from labelwood.dual_encoder.model.prototypes import label_clusters
from labelwood.errors import LabelwoodError

pytestmark = pytest.mark.deep


def vectors(n, dim=6, seed=0):
    found = np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("chunk", [1 << 26, 64])
def test_the_best_labels_are_found_within_limits(device, chunk, monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", chunk)
    queries, labels = vectors(9), vectors(30, seed=1)
    index = PrototypeIndex(labels, device=device)
    for limits in (Limits.of(30), Limits.of(30, exclude=[3, 4, 5]), Limits.of(30, include=[1, 7], min_score=0.1)):
        products = queries @ labels.T
        if len(limits.allowed):
            products[:, limits.allowed == 0] = -np.inf
        products[products < limits.min_score] = -np.inf
        best = np.argsort(-products, axis=1, kind="stable")[:, :4]
        expected = np.where(np.isneginf(np.take_along_axis(products, best, 1)), -1, best)
        top = index.topk(queries, 4, limits)
        assert np.array_equal(top.ids, expected)
        assert np.allclose(top.scores, np.take_along_axis(products, best, 1), atol=1e-6)


@pytest.mark.parametrize("device", [None, "cpu"])
def test_equal_labels_come_in_the_order_of_their_ids(device):
    labels = np.full((10, 4), 0.5, np.float32)
    assert PrototypeIndex(labels, device=device).topk(labels[:2], 10).ids.tolist() == [list(range(10))] * 2


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("spread", [1.0, 0.02])
def test_the_index_finds_exactly_what_a_scan_of_floats_finds(n_threads, spread):
    # With little spread, labels are close together, like those of a trained model, and 8-bit numbers often agree.
    centres = vectors(12, dim=48, seed=2).repeat(250, axis=0)
    labels = centres + spread * vectors(3000, dim=48, seed=3)
    labels /= np.linalg.norm(labels, axis=1, keepdims=True)
    labels[100:110] = labels[99]
    queries = np.concatenate([vectors(20, dim=48, seed=4), labels[95:105]])
    index = PrototypeIndex(labels, n_threads=n_threads)
    limited = Limits.of(3000, exclude=range(50)), Limits.of(3000, include=[7, 99, 100])
    for k, limits in ((1, Limits.of(3000)), (100, limited[0]), (9, limited[1])):
        ids, scores = _native.dense_centroid_topk(queries, labels, k, limits, 1)
        top = index.topk(queries, k, limits)
        assert np.array_equal(top.ids, ids)
        assert np.array_equal(top.scores, scores)


def test_queries_of_another_encoder_are_refused():
    with pytest.raises(LabelwoodError, match="prototypes have 6 numbers"):
        PrototypeIndex(vectors(3)).topk(np.zeros((1, 5), np.float32), 1)


def crowded(n, dim=48, n_centres=60):
    """Labels that are concentrated around some points, like those of a trained model."""
    centres = vectors(n_centres, dim=dim, seed=5).repeat(n // n_centres, axis=0)
    found = centres + 0.7 * vectors(len(centres), dim=dim, seed=6)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def recall(found, exact):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found.ids, exact.ids, strict=True)])


@pytest.fixture
def few_are_enough(monkeypatch):
    """Lets probes search only some clusters even if these have few labels."""
    monkeypatch.setattr("labelwood.dual_encoder.answering.index.ENOUGH", 3)


@pytest.mark.usefixtures("few_are_enough")
def test_few_probes_find_most_of_the_best_labels_and_all_probes_find_all():
    labels, queries = crowded(6000), vectors(60, dim=48, seed=7)
    clusters = LabelGrouping(labels).found()
    index, exact = PrototypeIndex(labels, clusters=clusters), PrototypeIndex(labels).topk(queries, 10)
    n_clusters = clusters.max() + 1
    assert n_clusters > 200
    found = [recall(index.topk(queries, 10, probes=probes), exact) for probes in (1, 4, 16)]
    assert found == sorted(found)
    assert found[0] < 0.8
    assert found[2] > 0.9
    for probes in (None, n_clusters, 2**63 - 1, 2**70):
        top = index.topk(queries, 10, probes=probes)
        assert np.array_equal(top.ids, exact.ids)
        assert np.array_equal(top.scores, exact.scores)


@pytest.mark.parametrize("probes", [1, 8])
def test_answers_from_clusters_do_not_depend_on_other_queries_or_on_threads(probes):
    labels, queries = crowded(3000), vectors(70, dim=48, seed=8)
    clusters = LabelGrouping(labels, n_threads=1).found()
    assert np.array_equal(LabelGrouping(labels, n_threads=2).found(), clusters)
    one, two = (PrototypeIndex(labels, clusters=clusters, n_threads=n) for n in (1, 2))
    whole = one.topk(queries, 5, probes=probes)
    parts = [two.topk(queries[at : at + 7], 5, probes=probes) for at in range(0, 70, 7)]
    assert np.array_equal(np.concatenate([part.ids for part in parts]), whole.ids)
    assert np.array_equal(np.concatenate([part.scores for part in parts]), whole.scores)


def test_label_groups_are_more_compact_than_clusters_of_equal_size():
    labels = crowded(3000)
    equal = label_clusters(torch.from_numpy(labels), 64, seed=0)
    grouping = LabelGrouping(labels, n_clusters=64)
    found = grouping.found()[:, 0]
    assert grouping.done == grouping.total

    def nearness(owners):
        centres = np.stack([labels[owners == c].sum(axis=0) for c in range(64)])
        centres /= np.linalg.norm(centres, axis=1, keepdims=True)
        return (labels * centres[owners]).sum(axis=1).mean()

    assert nearness(found) > nearness(equal) + 0.02


def test_limits_are_kept_in_clusters_and_do_not_shorten_answers():
    labels, queries = crowded(3000), vectors(9, dim=48, seed=9)
    index = PrototypeIndex(labels, clusters=LabelGrouping(labels).found())
    for limits in (Limits.of(3000, exclude=range(0, 3000, 2)), Limits.of(3000, include=range(1, 3000, 2))):
        odd = index.topk(queries, 20, limits, probes=2).ids
        assert (odd >= 0).all()
        assert (odd % 2 == 1).all()
    some = [5, 17, 1040]
    assert np.array_equal(np.sort(index.topk(queries, 3, Limits.of(3000, include=some), probes=1).ids), [some] * 9)
    least = index.topk(queries, 20, Limits.of(3000, min_score=0.3), probes=2)
    assert 0 < (least.ids < 0).mean() < 1
    assert (least.scores[least.ids >= 0] >= 0.3).all()


def test_the_first_answers_from_clusters_do_not_depend_on_k():
    labels, queries = crowded(6000), vectors(60, dim=48, seed=7)
    index = PrototypeIndex(labels, clusters=LabelGrouping(labels).found())
    for probes in (1, 4, 16):
        many = index.topk(queries, 3000, probes=probes)
        for k in (1, 10, 100, 700):
            few = index.topk(queries, k, probes=probes)
            assert np.array_equal(few.ids, many.ids[:, :k])
            assert np.array_equal(few.scores, many.scores[:, :k])
        assert (many.ids[:, 100] >= 0).any()
    assert (many.ids[:, -1] < 0).all()


def test_an_index_on_a_device_searches_all_labels():
    labels, queries = crowded(600), vectors(9, dim=48, seed=9)
    index = PrototypeIndex(labels, clusters=LabelGrouping(labels).found(), device="cpu")
    assert np.array_equal(index.topk(queries, 5, probes=1).ids, PrototypeIndex(labels).topk(queries, 5).ids)


@pytest.mark.parametrize("which", [[3], range(100), range(600)])
@pytest.mark.parametrize("device", [None, "cpu"])
def test_labels_are_grouped_even_if_some_prototypes_are_nan(which, device):
    labels = crowded(600)
    labels[list(which)] = np.nan
    clusters = LabelGrouping(labels, device=device).found()
    assert clusters.shape == (600, 2)
    assert np.array_equal(np.unique(clusters[:, 0]), np.arange(clusters.max() + 1))
    found = PrototypeIndex(labels, clusters=clusters).topk(vectors(9, dim=48), 5, probes=4).ids
    assert not np.isin(found, list(which)).any()


@pytest.mark.parametrize("strange", [np.nan, np.inf])
def test_a_cluster_has_a_centre_even_if_one_of_its_prototypes_is_not_finite(strange):
    labels = vectors(200)
    clusters = np.stack([np.arange(200) % 10] * 2, axis=1)
    labels[0] = strange
    found = PrototypeIndex(labels, clusters=clusters).topk(labels[30:31], 1, probes=9).ids
    assert found.tolist() == [[30]]


@pytest.mark.parametrize("device", [None, "cpu"])
def test_a_label_with_a_nan_score_is_no_answer(device):
    labels = vectors(5)
    labels[2] = np.nan
    top = PrototypeIndex(labels, device=device).topk(vectors(3, seed=1), 5)
    assert not np.isin(top.ids, [2]).any()
    assert (top.ids[:, :4] >= 0).all()
    assert (top.ids[:, 4] == -1).all()
    assert (top.scores[:, 4] == -np.inf).all()


@pytest.mark.parametrize(
    "clusters",
    [
        np.zeros((400, 1), int),
        np.zeros((1, 400), int),
        np.zeros((200, 2)),
        np.full((200, 2), 2**32),
        -np.eye(200, 2, dtype=int),
        np.full((200, 2), [0, 200]),
    ],
)
def test_clusters_other_than_two_per_label_are_refused(clusters):
    with pytest.raises(LabelwoodError, match="two whole numbers, from 0 to 199"):
        PrototypeIndex(vectors(200), clusters=clusters)


def in_few_directions(n, seed):
    """Unit vectors with nine tenths of their squared length in 40 of 192 directions."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(192, 192)))[0]
    scales = np.where(np.arange(192) < 40, 1, 0.17)
    rows = rng.normal(size=(n, 192)) * scales @ basis
    return np.float32(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def test_many_labels_in_few_directions_are_found_like_by_a_scan():
    labels, queries = in_few_directions(20_000, seed=1), in_few_directions(40, seed=2)
    directions = main_directions(labels)
    assert directions.shape == (192, 64)
    assert np.allclose(directions.T @ directions, np.eye(64), atol=1e-5)
    clusters = np.random.default_rng(3).integers(50, size=(20_000, 2))
    barred = Limits.of(20_000, exclude=range(0, 20_000, 3), min_score=0.2)
    for limits in (Limits.of(20_000), barred):
        wanted = _native.dense_centroid_topk(queries, labels, 7, limits, 1)
        for index in (PrototypeIndex(labels), PrototypeIndex(labels, clusters=clusters)):
            found = index.topk(queries, 7, limits)
            assert np.array_equal(found.ids, wanted[0])
            assert np.array_equal(found.scores, wanted[1])


def test_nan_prototypes_have_no_main_directions():
    labels = in_few_directions(20_000, seed=1)
    labels[::3] = np.nan
    assert main_directions(labels).shape == (192, 0)


def test_a_direction_that_all_labels_share_is_not_a_main_direction():
    labels = vectors(20_000, dim=192) + 3 * vectors(1, dim=192, seed=5)
    assert main_directions(labels).shape == (192, 0)


def test_equal_labels_give_few_clusters_and_none_is_empty():
    labels = vectors(20, dim=48).repeat(50, axis=0)
    clusters = LabelGrouping(labels).found()
    assert np.array_equal(np.unique(clusters[:, 0]), np.arange(clusters.max() + 1))
    assert clusters.max() < 40


def test_the_second_cluster_is_near_and_in_another_direction():
    labels, centres = vectors(600, dim=32, seed=3), vectors(40, dim=32, seed=4)
    near = np.argsort(-labels @ centres.T, axis=1)[:, :8].astype(np.int32)
    own = near[:, 0].copy()
    near[::3, 4:] = -1
    second = LabelGrouping(labels)._second(centres, own, near)
    for label in range(600):
        missed, missed_by = labels[label] - centres[own[label]], labels[label] - centres
        cost = (missed_by**2).sum(axis=1) + (missed_by @ missed) ** 2 / (missed @ missed)
        assert second[label] == min((c for c in near[label, 1:] if c >= 0), key=lambda c: cost[c])


def test_second_clusters_find_more_labels():
    labels, queries = vectors(6000, dim=32, seed=3), vectors(500, dim=32, seed=7)
    clusters = LabelGrouping(labels).found()
    exact = PrototypeIndex(labels).topk(queries, 10)
    alone, both = (PrototypeIndex(labels, clusters=some) for some in (clusters[:, [0, 0]], clusters))
    assert recall(both.topk(queries, 10, probes=16), exact) > recall(alone.topk(queries, 10, probes=16), exact) + 0.1


def test_with_one_cluster_labels_have_no_second_one():
    assert LabelGrouping(crowded(60), n_clusters=1).found().tolist() == [[0, 0]] * 60
