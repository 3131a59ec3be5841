"""A small sound problem: rows with features, labels, groups, answers, a tree, and all else that functions take."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from labelwood.arrays.topk import TopK

N_ROWS, N_FEATURES, N_LABELS, N_GROUPS, K = 16, 12, 6, 5, 4


def sound(seed, dense=False):
    """All parameters by name, the same for the same seed. Values of X are exact in half precision."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((N_ROWS, N_FEATURES)) < 0.4, rng.integers(1, 16, (N_ROWS, N_FEATURES)) / 4, 0)
    X[np.arange(N_ROWS), np.arange(N_ROWS) % N_FEATURES] += 1
    Y = (rng.random((N_ROWS, N_LABELS)) < 0.3).astype(np.float32)
    Y[np.arange(N_ROWS), np.arange(N_ROWS) % N_LABELS] = 1
    groups = np.arange(N_ROWS) % N_GROUPS
    counts = np.stack([Y[groups == g].sum(axis=0) for g in range(N_GROUPS)]).astype(np.float32)
    scores = rng.permuted(np.arange(1, N_ROWS * N_LABELS + 1, dtype=np.float32)).reshape(N_ROWS, N_LABELS) / 128
    form = np.array if dense else sparse.csr_array
    ids = np.argsort(-scores, axis=1)[:, :K].astype(np.int32)
    return {
        "X": form(X.astype(np.float32)),
        "row": form(X[:1].astype(np.float32)),
        "Y": form(Y),
        "labels": form(Y),
        "group_labels": form(counts),
        "Y_bags": form(counts),
        "scores": sparse.csr_array(scores),
        "vectors": form(X[:N_LABELS].astype(np.float32)),
        "reached": form((rng.random((N_ROWS, 3)) < 0.6).astype(np.float32) + np.eye(N_ROWS, 3, dtype=np.float32)),
        "groups": groups,
        "bags": groups,
        "include": np.array([0, 2, 3]),
        "exclude": np.array([1]),
        "frequencies": Y.sum(axis=0).astype(np.int64),
        "weights": Y.sum(axis=0).astype(np.float64),
        "inv_propensity": 1 + rng.random(N_LABELS),
        "row_weights": 0.5 + rng.random(N_ROWS),
        "filters": np.array([[0, 1], [3, 2], [7, 0]]),
        "top": TopK(ids, np.take_along_axis(scores, ids, axis=1)),
        "answers": TopK(ids[:, :2].copy(), np.take_along_axis(scores, ids, axis=1)[:, :2].copy()),
        "tree": (np.array([1, 3, 3, 5, 5, 5], np.int32), np.array([0, 0, 2, 2, 4, 6]), np.arange(6, dtype=np.int32)),
        "k": 3,
        "n_threads": 1,
        "seed": 0,
        "count": 2,
        "min_score": 0.01,
        "lam": 0.5,
    }
