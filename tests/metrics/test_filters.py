from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelwood.arrays.topk import TopK
from labelwood.errors import LabelwoodError
from labelwood.metrics import apply_filter, evaluate, extra_candidates
from labelwood.metrics.filters import filtered_answers

IDS = np.array([[4, 7, 2], [7, 4, -1]], np.int32)
TOP = TopK(IDS, np.array([[0.9, 0.5, 0.1], [0.8, 0.3, -np.inf]], np.float32))


def test_filtered_predictions_are_dropped_and_later_ones_move_up():
    kept = apply_filter(TOP, np.array([[0, 7], [1, 7], [1, 2]]))
    assert kept.ids.tolist() == [[4, 2, -1], [4, -1, -1]]
    np.testing.assert_allclose(kept.scores, [[0.9, 0.1, -np.inf], [0.3, -np.inf, -np.inf]])
    assert kept.ids.dtype == np.int32
    assert kept.scores.dtype == np.float32


def test_the_callers_predictions_do_not_change():
    before = TOP.ids.copy()
    apply_filter(TOP, [(0, 4)])
    assert (TOP.ids == before).all()


def test_an_empty_filter_changes_nothing():
    assert (apply_filter(TOP, []).ids == IDS).all()
    assert extra_candidates(np.zeros((0, 2), int), n_rows=2) == 0


def test_extra_candidates_is_the_largest_number_of_distinct_labels_of_a_row():
    assert extra_candidates([(1, 5), (1, 5), (1, 6), (0, 5)], n_rows=2) == 2


def test_evaluate_filters_before_it_takes_the_first_k_and_keeps_the_true_labels():
    # Row 0 becomes 7, 2 and row 1 becomes 4. Label 4 stays true in row 0 and is missed.
    Y = sparse.csr_array(([1, 1, 1], ([0, 0, 1], [4, 7, 4])), shape=(2, 8))
    result = evaluate(TOP, Y, ks=(1, 2), metrics=("P", "R"), filters=[(0, 4), (1, 7)])
    assert result["P@1"] == 100
    assert result["P@2"] == pytest.approx(100 * float(Fraction(1 + 1, 4)))
    assert result["R@2"] == pytest.approx(100 * float((Fraction(1, 2) + Fraction(1, 1)) / 2))


def test_a_sparse_matrix_of_scores_gets_extra_candidates_automatically():
    scores = sparse.csr_array([[0.9, 0.8, 0.7, 0.6]])
    Y = np.array([[0, 0, 0, 1]])
    assert evaluate(scores, Y, ks=(1,), filters=[(0, 0), (0, 1), (0, 2)])["P@1"] == 100


def test_too_few_candidates_are_named_with_the_k_to_predict():
    with pytest.raises(LabelwoodError, match=r"row 0 has fewer than 3 .* k=4"):
        evaluate(TOP, sparse.csr_array((2, 8)), ks=(3,), filters=[(0, 4)])


def test_a_row_that_was_short_before_may_be_short_after():
    assert evaluate(TOP, sparse.csr_array((2, 8)), ks=(3,), filters=[(1, 4)])["P@3"] == 0


@settings(deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(-1, 4), min_size=3, max_size=3), min_size=1, max_size=5),
    pairs=st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4))),
)
def test_a_filter_keeps_the_order_of_the_other_predictions(rows, pairs):
    pairs = [(row, label) for row, label in pairs if row < len(rows)]
    ids = np.array(rows)
    kept = apply_filter(TopK(ids, np.zeros(ids.shape, np.float32)), pairs)
    for i, row in enumerate(rows):
        left = [label for label in row if label >= 0 and (i, label) not in pairs]
        assert kept.ids[i].tolist() == left + [-1] * (3 - len(left))


@pytest.mark.parametrize("pairs", [[0, 1], [(0, 1, 2)], [(0.5, 1.0)], [(-1, 0)], [(0, -1)], [(2, 0)], [(0, 2**40)]])
def test_pairs_that_cannot_be_used_are_refused(pairs):
    with pytest.raises(LabelwoodError, match="filters"):
        apply_filter(TOP, pairs)


def test_a_filtered_row_still_has_k_answers():
    asked = []

    def answer(k):
        asked.append(k)
        return TopK(TOP.ids[:, :k], TOP.scores[:, :k])

    assert filtered_answers(answer, 1, None, n_rows=len(TOP)).ids.shape == (len(TOP), 1)
    kept = filtered_answers(answer, 1, [(0, TOP.ids[0, 0])], n_rows=len(TOP))
    assert kept.ids[0].tolist() == [TOP.ids[0, 1]]
    assert kept.ids[1].tolist() == [TOP.ids[1, 0]]
    assert asked == [1, 2]
