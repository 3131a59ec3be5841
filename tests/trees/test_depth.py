"""Expected depth, and the curve that says what frequencies have to offer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.arrays.topk import TopK
from labelwood.errors import ParameterError
from labelwood.labels import labels_to_cover
from labelwood.trees import expected_depth


def test_expected_depth_is_the_mean_of_the_deepest_of_the_first_k():
    rng = np.random.default_rng(0)
    tree = lw.trees.random_tree(np.eye(40), arity=3, max_leaf=2, seed=1)
    ids = np.array([rng.permutation(40)[:5] for _ in range(30)], np.int32)
    ids[3:9, 3:] = -1
    ids[7] = -1
    found = expected_depth(tree, TopK(ids, np.zeros(ids.shape, np.float32)), ks=(1, 3, 5))
    for k in (1, 3, 5):
        rows = [[int(tree.label_depths[label]) for label in row[:k] if label >= 0] for row in ids]
        assert found[f"depth@{k}"] == pytest.approx(np.mean([max(row) for row in rows if row]))


def test_expected_depth_refuses_a_k_beyond_the_predictions():
    tree = lw.trees.LabelTree.from_nested([[0], [1]])
    with pytest.raises(ParameterError, match="ks must be from 1 to 1"):
        expected_depth(tree, TopK(np.zeros((2, 1), np.int32), np.zeros((2, 1), np.float32)))


@pytest.mark.parametrize("covered", ["any", "three", "all"])
def test_the_imbalance_curve_equals_a_count_by_hand(covered):
    rng = np.random.default_rng(2)
    Y = rng.random((60, 25)) < rng.random(25) ** 3
    order = np.argsort(-Y.sum(axis=0), kind="stable")
    needed = []
    for row in Y:
        if not row.any():
            continue
        goal = {"any": 1, "three": min(3, row.sum()), "all": row.sum()}[covered]
        needed.append(next(n for n in range(1, 26) if row[order[:n]].sum() >= goal) / 25)
    assert labels_to_cover(sparse.csr_array(Y), covered).tolist() == sorted(needed)


def test_the_imbalance_curve_refuses_another_kind():
    with pytest.raises(ParameterError, match="any, three or all"):
        labels_to_cover(np.eye(2), "some")
