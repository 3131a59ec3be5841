import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelwood.arrays.topk import TopK
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.labels.propensities import InversePropensities, inverse_propensities
from labelwood.metrics import METRICS, evaluate

SECOND = 1 / math.log2(3)  # discount of position 2
THIRD = 1 / 2  # 1 / log2(4)


def top_of(rows, dtype=np.int32):
    ids = np.array(rows, dtype)
    return TopK(ids, np.where(ids < 0, -np.inf, -np.arange(ids.shape[1])).astype(np.float32))


def indicator(rows, n_labels):
    Y = np.zeros((len(rows), n_labels), np.int8)
    for i, labels in enumerate(rows):
        Y[i, list(labels)] = 1
    return Y


def percent(fraction):
    return pytest.approx(100 * float(fraction), rel=1e-12)


def reference(rows, truths, k, inv):
    """Every metric at one k, computed directly from its definition."""
    n = len(rows)
    sums = dict.fromkeys(("P", "nDCG", "R", "gain", "best", "psndcg", "best_psndcg"), 0.0)
    labels = {}  # label -> [true, predicted, correct]
    for row, y in zip(rows, truths, strict=True):
        first = row[:k]
        hits = [label in y and label not in first[:r] for r, label in enumerate(first)]
        ideal = sorted((inv[label] for label in y), reverse=True)[:k]
        norm = sum(1 / math.log2(r + 2) for r in range(min(k, len(y))))
        for label in y:
            labels.setdefault(label, [0, 0, 0])[0] += 1
        for label, hit in zip(first, hits, strict=True):
            if label >= 0:
                labels.setdefault(label, [0, 0, 0])[1] += 1
                labels[label][2] += hit
        if y:
            sums["P"] += sum(hits) / k
            sums["R"] += sum(hits) / len(y)
            sums["nDCG"] += sum(hit / math.log2(r + 2) for r, hit in enumerate(hits)) / norm
            sums["gain"] += sum(inv[label] for label, hit in zip(first, hits, strict=True) if hit)
            sums["best"] += sum(ideal)
            gains = [inv[label] if hit else 0 for label, hit in zip(first, hits, strict=True)]
            sums["psndcg"] += sum(g / math.log2(r + 2) for r, g in enumerate(gains)) / norm
            sums["best_psndcg"] += sum(g / math.log2(r + 2) for r, g in enumerate(ideal)) / norm
    occurring = [c for c in labels.values() if c[0]]
    true, predicted, correct = (sum(c[i] for c in labels.values()) for i in range(3))
    ratio = lambda part, whole: part / whole if whole else 0.0  # noqa: E731
    result = {
        "P": sums["P"] / n,
        "nDCG": sums["nDCG"] / n,
        "PSP": ratio(sums["gain"], sums["best"]),
        "PSnDCG": ratio(sums["psndcg"], sums["best_psndcg"]),
        "R": sums["R"] / n,
        "coverage": ratio(sum(c[2] > 0 for c in occurring), len(occurring)),
        "microF1": ratio(2 * correct, true + predicted),
        "macroF1": ratio(sum(2 * c[2] / (c[0] + c[1]) for c in labels.values()), len(labels)),
    }
    return {f"{name}@{k}": 100 * value for name, value in result.items()}


def test_three_rows_by_hand():
    top = top_of([[0, 1, 2], [3, 0, -1], [1, 2, 3]])
    Y = indicator([{0, 2}, {0}, {0, 1, 2, 4}], n_labels=5)
    result = evaluate(top, Y, ks=(1, 2, 3))
    assert result["P@1"] == percent(Fraction(1 + 0 + 1, 3))
    assert result["P@2"] == percent(Fraction(1 + 1 + 2, 3 * 2))
    assert result["P@3"] == percent(Fraction(2 + 1 + 2, 3 * 3))  # the padded row is divided by 3 too
    assert result["R@3"] == percent((Fraction(2, 2) + Fraction(1, 1) + Fraction(2, 4)) / 3)
    two, three = 1 + SECOND, 1 + SECOND + THIRD
    assert result["nDCG@3"] == percent(((1 + THIRD) / two + SECOND / 1 + two / three) / 3)
    # Labels 0, 1, 2, 4 occur; hits are 0, 2 | 0 | 1, 2.
    assert result["coverage@3"] == percent(Fraction(3, 4))
    assert result["coverage@1"] == percent(Fraction(2, 4))
    assert result["microF1@3"] == percent(Fraction(2 * 5, 8 + 7))
    # true, predicted, correct: 0: 3, 2, 2; 1: 1, 2, 1; 2: 2, 2, 2; 3: 0, 2, 0; 4: 1, 0, 0.
    f1 = Fraction(4, 5) + Fraction(2, 3) + Fraction(4, 4) + Fraction(0, 2) + Fraction(0, 1)
    assert result["macroF1@3"] == percent(f1 / 5)


def test_propensity_scores_are_ratios_of_means_and_not_means_of_ratios():
    top = top_of([[0], [1]])
    Y = indicator([{0}, {2}], n_labels=3)
    inv = np.array([2.0, 1.0, 8.0])
    result = evaluate(top, Y, ks=(1,), inv_propensity=inv)
    assert result["PSP@1"] == percent(Fraction(2, 2 + 8))  # the mean of ratios is (2/2 + 0/8) / 2 = 1/2
    assert result["PSnDCG@1"] == percent(Fraction(2, 2 + 8))


def test_the_ideal_of_propensity_scores_is_the_best_k_true_labels():
    top = top_of([[0, 1], [3, -1]])
    Y = indicator([{0, 1, 2}, {2}], n_labels=4)
    inv = np.array([2.0, 3.0, 5.0, 9.0])
    result = evaluate(top, Y, ks=(1, 2), inv_propensity=inv)
    assert result["PSP@1"] == percent(Fraction(2 + 0, 5 + 5))
    assert result["PSP@2"] == percent(Fraction(2 + 3, (5 + 3) + 5))
    two = 1 + SECOND
    assert result["PSnDCG@2"] == percent(((2 + 3 * SECOND) / two) / ((5 + 3 * SECOND) / two + 5))


def test_a_row_without_labels_counts_as_zero_in_every_mean():
    with_row = evaluate(top_of([[0], [0]]), indicator([{0}, set()], 2), ks=(1,), inv_propensity=np.ones(2))
    assert with_row["P@1"] == with_row["nDCG@1"] == with_row["R@1"] == 50
    assert with_row["PSP@1"] == with_row["PSnDCG@1"] == 100  # nothing could be won there
    assert with_row["microF1@1"] == percent(Fraction(2, 2 + 1))


def test_no_labels_at_all_give_zeros():
    result = evaluate(top_of([[-1]]), sparse.csr_array((1, 3)), ks=(1,), inv_propensity=np.ones(3))
    assert set(result.values()) == {0.0}


def test_labels_that_training_has_not_seen_are_misses_worth_a_frequency_of_zero():
    top = top_of([[0]])
    inv = inverse_propensities([5, 2], n_rows=100)
    result = evaluate(top, indicator([{0, 3}], 4), ks=(1,), inv_propensity=inv)
    assert result["PSP@1"] == percent(inv.values[0] / inverse_propensities([0], n_rows=100).values[0])
    assert result["R@1"] == result["coverage@1"] == 50


def test_predicted_ids_beyond_the_last_column_are_wrong_answers():
    largest = np.iinfo(np.int32).max
    result = evaluate(top_of([[largest, 0], [7, largest]]), indicator([{0}, {1}], 2), ks=(1, 2))
    assert result["P@1"] == 0
    assert result["P@2"] == percent(Fraction(1, 4))
    # Labels 0 and 1 of Y, and 7 and the largest: F1 is 1, 0, 0, 0.
    assert result["macroF1@2"] == percent(Fraction(1, 4))


def test_a_repeated_label_is_a_hit_once():
    result = evaluate(top_of([[1, 1]]), indicator([{1}], 2), ks=(2,))
    assert result["P@2"] == 50
    assert result["R@2"] == result["nDCG@2"] == 100
    assert result["microF1@2"] == percent(Fraction(2, 2 + 1))


def test_a_perfect_ranking_has_100_percent_where_that_is_possible():
    truths = [{0, 1, 2}, {3, 4, 5}]
    inv = np.array([1.0, 2.0, 3.0, 1.5, 2.5, 3.5])
    result = evaluate(top_of([[2, 1, 0], [5, 4, 3]]), indicator(truths, 6), ks=(3,), inv_propensity=inv)
    assert list(result.values()) == pytest.approx([100] * len(METRICS))


def test_keys_come_metric_by_metric_and_by_ascending_k():
    top, Y = top_of([[0, 1, 2]]), indicator([{1}], 3)
    result = evaluate(top, Y, ks=(3, 1), metrics=("nDCG", "P"))
    assert list(result) == ["P@1", "P@3", "nDCG@1", "nDCG@3"]
    everything = evaluate(top, Y, ks=(1,), inv_propensity=np.ones(3))
    assert list(everything) == [f"{name}@1" for name in METRICS]
    without = evaluate(top, Y, ks=(1,))
    assert list(without) == [key for key in everything if not key.startswith("PS")]


def test_a_sparse_matrix_of_scores_breaks_ties_by_id_and_ranks_stored_zeros():
    stored = ([0.0, 0.5, 0.5, -1.0], ([0, 0, 0, 0], [1, 4, 2, 0]))
    scores = sparse.csr_array(stored, shape=(1, 6))
    for position, label in enumerate([2, 4, 1, 0]):
        result = evaluate(scores, indicator([{label}], 6), ks=(1, 2, 3, 4, 5), metrics=("R",))
        assert list(result.values()) == [0.0] * position + [100.0] * (5 - position)


def test_a_sparse_matrix_of_scores_equals_its_topk():
    rng = np.random.default_rng(3)
    scores = sparse.random_array((300, 40), density=0.3, rng=rng, format="csr", dtype=np.float32)
    dense = np.where(scores.toarray() > 0, scores.toarray(), -np.inf)
    ids = np.argsort(-dense, axis=1, kind="stable")[:, :5].astype(np.int32)
    best = np.take_along_axis(dense, ids, axis=1)
    top = TopK(np.where(np.isinf(best), -1, ids), best)
    Y = sparse.random_array((300, 40), density=0.1, rng=rng, format="csr")
    for matrix in (scores, scores.tocoo(), sparse.csr_matrix(scores), scores.astype(np.float64)):
        assert evaluate(matrix, Y) == evaluate(top, Y)


rows_of_ids = st.lists(st.lists(st.integers(-1, 8), min_size=4, max_size=4), min_size=1, max_size=8)


@settings(max_examples=150, deadline=None)
@given(rows=rows_of_ids, data=st.data())
def test_every_metric_agrees_with_its_definition(rows, data):
    truths = [data.draw(st.sets(st.integers(0, 5))) for _ in rows]
    inv = data.draw(st.lists(st.floats(1, 50), min_size=6, max_size=6))
    ks = data.draw(st.sets(st.integers(1, 4), min_size=1))
    result = evaluate(top_of(rows), indicator(truths, 6), ks=tuple(ks), inv_propensity=np.array(inv))
    expected = {}
    for k in ks:
        expected |= reference(rows, truths, k, inv)
    assert result == pytest.approx(expected, rel=1e-9, abs=1e-9)


def random_case(n_rows, n_labels, k):
    rng = np.random.default_rng(11)
    Y = sparse.random_array((n_rows, n_labels), density=4 / n_labels, rng=rng, format="csr")
    # Some true labels are put among random predictions, so that there are hits.
    ids = rng.integers(-1, n_labels + 5, (n_rows, k), dtype=np.int32)
    for i in range(n_rows):
        labels = Y.indices[Y.indptr[i] : Y.indptr[i + 1]][:2]
        ids[i, rng.permutation(k)[: len(labels)]] = labels
    return top_of(ids), Y, rng.uniform(1, 20, n_labels)


def test_many_rows_agree_with_the_definition():
    top, Y, inv = random_case(7000, 300, k=6)
    truths = [set(Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist()) for i in range(7000)]
    expected = {}
    for k in (1, 3, 6):
        expected |= reference(top.ids.tolist(), truths, k, inv)
    assert evaluate(top, Y, ks=(1, 3, 6), inv_propensity=inv) == pytest.approx(expected, rel=1e-9)


def test_any_number_of_threads_gives_the_same_bytes():
    top, Y, inv = random_case(9000, 200, k=5)
    one = evaluate(top, Y, inv_propensity=inv, n_threads=1)
    for n_threads in (2, 8, None):
        assert evaluate(top, Y, inv_propensity=inv, n_threads=n_threads) == one


def test_asking_for_less_gives_the_same_numbers():
    top, Y, inv = random_case(500, 60, k=5)
    everything = evaluate(top, Y, inv_propensity=inv)
    for name in METRICS:
        for k in (1, 3, 5):
            alone = evaluate(top, Y, ks=(k,), metrics=(name,), inv_propensity=inv)
            assert alone == {f"{name}@{k}": everything[f"{name}@{k}"]}


def test_ndcg_and_f1_agree_with_scikit_learn():
    from sklearn.metrics import f1_score, ndcg_score

    rng = np.random.default_rng(5)
    scores = rng.permuted(np.tile(np.linspace(0.1, 1, 20), (50, 1)), axis=1)
    Y = (rng.random((50, 20)) < 0.2).astype(int)
    Y[:, 0] = 1
    result = evaluate(sparse.csr_array(scores), Y, ks=(4,))
    assert result["nDCG@4"] == pytest.approx(100 * ndcg_score(Y, scores, k=4))
    predicted = (np.argsort(np.argsort(-scores, axis=1), axis=1) < 4).astype(int)
    assert result["microF1@4"] == pytest.approx(100 * f1_score(Y, predicted, average="micro"))
    assert result["macroF1@4"] == pytest.approx(100 * f1_score(Y, predicted, average="macro", zero_division=0))


@pytest.mark.parametrize("as_type", [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, list])
def test_true_labels_may_be_sparse_or_dense(as_type):
    Y = as_type(indicator([{0}, {1}], 2) * 7)
    assert evaluate(top_of([[0], [0]]), Y, ks=(1,))["P@1"] == 50


def test_stored_zeros_of_true_labels_are_not_labels():
    Y = sparse.csr_array(([0.0, 1.0], ([0, 0], [0, 1])), shape=(1, 2))
    assert evaluate(top_of([[0]]), Y, ks=(1,))["P@1"] == 0


def test_different_numbers_of_rows_are_named():
    with pytest.raises(LabelwoodError, match=r"2 rows .* 3"):
        evaluate(top_of([[0], [0]]), indicator([{0}] * 3, 2), ks=(1,))
    with pytest.raises(LabelwoodError, match=r"2 rows .* 3"):
        evaluate(sparse.csr_array((2, 5)), indicator([{0}] * 3, 2), ks=(1,))


def test_a_k_beyond_the_predictions_asks_for_a_larger_one():
    with pytest.raises(LabelwoodError, match=r"2 labels a row and k is 5: predict with a larger k"):
        evaluate(top_of([[0, 1]]), indicator([{0}], 2))


@pytest.mark.parametrize("ks", [(), (0,), (-1,), (1.5,), (True,), (2**40,)])
def test_ks_that_cannot_be_used_are_refused(ks):
    with pytest.raises(ParameterError):
        evaluate(top_of([[0, 1]]), indicator([{0}], 2), ks=ks)


@pytest.mark.parametrize(("metrics", "hint"), [(("ndcg",), "choose from P, nDCG"), ("PSP", "needs inv_propensity")])
def test_metrics_that_cannot_be_computed_are_refused(metrics, hint):
    with pytest.raises(ParameterError, match=hint):
        evaluate(top_of([[0]]), indicator([{0}], 2), ks=(1,), metrics=metrics)


@pytest.mark.parametrize("inv", [np.ones(2), np.ones((3, 1)), np.array([1, 2, math.nan]), np.array([1, 2, -1.0])])
def test_inverse_propensities_that_do_not_fit_are_refused(inv):
    with pytest.raises(LabelwoodError, match="inverse_propensities"):
        evaluate(top_of([[0]]), indicator([{0}], 3), ks=(1,), inv_propensity=inv)


def test_inverse_propensities_of_more_labels_than_y_has_are_fine():
    inv = InversePropensities(np.array([2.0, 4.0, 9.0]), unseen=10.0)
    Y = indicator([{0, 1}], 2)
    assert evaluate(top_of([[0]]), Y, ks=(1,), metrics="PSP", inv_propensity=inv) == {"PSP@1": 50.0}


@pytest.mark.parametrize("ids", [np.array([0, 1]), np.array([[0.5]]), np.array([[2**40]]), np.array([[-(2**40)]])])
def test_malformed_ids_are_refused(ids):
    with pytest.raises(LabelwoodError, match="ids"):
        evaluate(TopK(ids, ids), indicator([{0}], 2), ks=(1,))


def test_predictions_of_another_kind_are_refused():
    with pytest.raises(LabelwoodError, match="TopK"):
        evaluate([[0.1, 0.9]], indicator([{0}], 2), ks=(1,))
    with pytest.raises(LabelwoodError, match="NaN"):
        evaluate(sparse.csr_array([[math.nan, 1.0]]), indicator([{0}], 2), ks=(1,))
    with pytest.raises(LabelwoodError, match="no rows"):
        evaluate(sparse.csr_array((0, 2)), sparse.csr_array((0, 2)), ks=(1,))
