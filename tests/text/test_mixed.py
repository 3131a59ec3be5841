"""Embeddings and tf-idf side by side."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.errors import LabelwoodError
from labelwood.text import mixed_rows


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_inner_products_are_the_weighted_mean_of_both_cosines(share):
    rng = np.random.default_rng(0)
    dense, words = rng.normal(size=(6, 4)), rng.random((6, 9)) * (rng.random((6, 9)) < 0.6) + np.eye(6, 9)
    mixed = mixed_rows(dense, sparse.csr_array(words), share=share)
    assert mixed.shape == (6, 13)
    assert mixed.dtype == np.float32
    expected = share * unit(dense) @ unit(dense).T + (1 - share) * unit(words) @ unit(words).T
    assert np.allclose((mixed @ mixed.T).toarray(), expected, atol=1e-6)


def test_a_row_without_words_has_its_embedding_alone():
    mixed = mixed_rows(np.eye(2), sparse.csr_array((2, 5)), share=0.25).toarray()
    assert np.allclose(mixed[:, :2], 0.5 * np.eye(2))
    assert not mixed[:, 2:].any()


def test_a_tree_learns_from_both_sides():
    rng = np.random.default_rng(0)
    labels = rng.integers(16, size=400)
    embeddings = np.eye(4)[labels % 4] + 0.2 * rng.normal(size=(400, 4))  # says a quarter of it
    words = np.eye(4)[labels // 4]  # and this the rest
    Y = np.eye(16)[labels]
    both = mixed_rows(embeddings, words)
    model = lw.TreeClassifier(max_leaf=4, arity=4).fit(both[:300], Y[:300])
    assert model.score(both[300:], Y[300:]) > 0.9
    assert lw.TreeClassifier(max_leaf=4, arity=4).fit(words[:300], Y[:300]).score(words[300:], Y[300:]) < 0.5


def test_sides_that_do_not_belong_together_are_refused():
    with pytest.raises(LabelwoodError, match="embeddings have 2 rows and X has 3"):
        mixed_rows(np.eye(2), np.eye(3))
    with pytest.raises(LabelwoodError, match="share is 2"):
        mixed_rows(np.eye(2), np.eye(2), share=2)
    with pytest.raises(LabelwoodError, match="embeddings contains NaN"):
        mixed_rows(np.eye(2) * np.nan, np.eye(2))
