"""Hostile arrays are refused in a sentence, or answered as sound ones; none of them ends the process."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from tests.hostile import arrays, natives
from tests.hostile.problem import sound

import labelwood as lw
from labelwood import LabelwoodError, _native, metrics, trees
from labelwood.arrays.rows import as_features, as_labels
from labelwood.softmax_tree.stored_rows import StoredRows

N_CASES = 700


@pytest.mark.deep
def test_public_functions_refuse_hostile_arrays_in_a_sentence_and_answer_unusual_ones():
    bad = [o for o in arrays.outcomes(N_CASES, seed=0) if o.kind not in ("refused", "right")]
    assert not bad, "\n".join(f"{o.kind}: {o.name}: {o.detail}" for o in bad)


def test_native_functions_survive_hostile_arguments():
    bad = [o for o in natives.outcomes(N_CASES, seed=0) if o.kind not in ("refused", "right")]
    assert not bad, "\n".join(f"{o.kind}: {o.name}: {o.detail}" for o in bad)


def cut(X, n):
    """X with fewer values than its rows say, as `X.data = X.data[:-n]` leaves it."""
    short = X.copy()
    short.sort_indices()
    short.data = short.data[:-n]
    return short


@pytest.mark.parametrize("model", [lw.TreeClassifier, lw.OneVsRest, lw.SoftmaxTreeClassifier, lw.CentroidClassifier])
def test_rows_with_fewer_values_than_indices_are_refused(model):
    p = sound(0)
    with pytest.raises(LabelwoodError, match=r"X is not a sound sparse matrix: it has .* values and .* indices"):
        model().fit(cut(p["X"], 5), p["Y"])
    with pytest.raises(LabelwoodError, match="Y is not a sound sparse matrix"):
        model().fit(p["X"], cut(p["Y"], 2))


@pytest.mark.parametrize("index", [6, 2**31 - 1, -1])
def test_a_label_beyond_the_columns_of_y_is_refused(index):
    p = sound(0)
    p["Y"].indices[3] = index
    with pytest.raises(LabelwoodError, match=f"Y is not a sound .*an index is {index} and should be from 0 to 5"):
        lw.TreeClassifier().fit(p["X"], p["Y"])


def test_an_index_that_would_wrap_around_to_a_sound_one_is_refused():
    p = sound(0)
    X = sparse.csr_array((np.ones(1), np.array([2**32]), np.array([0, 1])), shape=(1, 2**31 - 1))
    with pytest.raises(LabelwoodError, match="an index is 4294967296"):
        as_features(X)
    with pytest.raises(LabelwoodError, match="filters contain"):
        metrics.apply_filter(p["top"], [(0, 2**32)])


def test_values_at_the_same_place_add_up_without_wrapping_around_in_every_container():
    pairs = (np.full(200, 100, np.int8), (np.zeros(200, int), np.zeros(200, int)))
    assert as_features(sparse.coo_array(pairs, shape=(1, 1))).values.tolist() == [20_000]
    both = sparse.coo_array((np.array([1.0, -1.0]), ([0, 0], [0, 0])), shape=(1, 1))
    assert as_labels(both, 1).indices.tolist() == [0]  # each of the two marks the label


def test_masked_values_are_not_taken_for_numbers():
    with pytest.raises(LabelwoodError, match="X holds masked values"):
        as_features(np.ma.array([[1.0, 2.0]], mask=[[True, False]]))


def test_a_smallest_cluster_of_any_size_can_be_asked_for():
    assert trees.kmeans(np.eye(6), max_leaf=2, min_size=2**31 - 1).n_labels == 6


def test_weights_that_are_not_numbers_do_not_order_features():
    model = lw.TreeClassifier(cost=1e38, max_weights=1, threshold=0.0, normalize=False, tolerance=1e-30)
    try:
        model.fit(np.full((50, 40), 1e30), np.eye(50))
    except LabelwoodError as e:
        assert "\n" not in str(e)


def test_arrays_of_structures_are_taken_as_they_are():
    tree = SimpleNamespace(child_ptr=np.array([1.0, 1.0]), label_ptr=np.array([0, 1]), labels=np.zeros(1, np.int32))
    rows = StoredRows(plain=np.zeros((3, 8), np.float32))
    with pytest.raises(LabelwoodError, match="field child_ptr is of another type or not in one piece"):
        _native.SoftmaxTree(
            tree=tree, embeddings=rows, vectors=rows, kept=None, scaling="unit", n_features=3, n_labels=6
        )
