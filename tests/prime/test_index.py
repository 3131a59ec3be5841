"""The index is exact, keeps limits, and torch finds what native code finds."""

from __future__ import annotations

import numpy as np
import pytest

from labelwood import _native
from labelwood.base import Limits
from labelwood.errors import LabelwoodError
from labelwood.prime import index as module
from labelwood.prime.index import PrototypeIndex


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
def test_bytes_find_exactly_what_a_scan_of_floats_finds(n_threads, spread):
    # With little spread, labels crowd together as those of a trained model do, and bytes tell few of them apart.
    centres = vectors(12, dim=48, seed=2).repeat(250, axis=0)
    labels = centres + spread * vectors(3000, dim=48, seed=3)
    labels /= np.linalg.norm(labels, axis=1, keepdims=True)
    labels[100:110] = labels[99]
    queries = np.concatenate([vectors(20, dim=48, seed=4), labels[95:105]])
    index = PrototypeIndex(labels, n_threads=n_threads)
    limited = Limits.of(3000, exclude=range(50)), Limits.of(3000, include=[7, 99, 100])
    for k, limits in ((1, Limits.of(3000)), (100, limited[0]), (9, limited[1])):
        ids, scores = _native.dense_centroid_topk(queries, labels, k, limits.allowed, limits.min_score, 1)
        top = index.topk(queries, k, limits)
        assert np.array_equal(top.ids, ids)
        assert np.array_equal(top.scores, scores)


def test_queries_of_another_encoder_are_refused():
    with pytest.raises(LabelwoodError, match="prototypes have 6 numbers"):
        PrototypeIndex(vectors(3)).topk(np.zeros((1, 5), np.float32), 1)
