import numpy as np
import pytest
from scipy import sparse

from labelwood.arrays.topk import TopK
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.metrics import evaluate, frequency_thresholds, per_bin, per_label

TOP = TopK(np.array([[0, 3], [0, 1], [2, 9]], np.int32), np.zeros((3, 2), np.float32))
Y = np.array([[1, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 1, 0, 1]])


def test_a_label_has_its_counts_and_ratios():
    table = per_label(TOP, Y, k=2)
    assert table.true.tolist() == [2, 1, 1, 0, 1]
    assert table.predicted.tolist() == [2, 1, 1, 1, 0]  # 9 has no column
    assert table.correct.tolist() == [2, 0, 1, 0, 0]
    assert table.precision.tolist() == [1, 0, 1, 0, 0]
    assert table.recall.tolist() == [1, 0, 1, 0, 0]
    assert table.f1.tolist() == [1, 0, 1, 0, 0]


def test_only_the_first_k_count():
    assert per_label(TOP, Y, k=1).predicted.tolist() == [2, 0, 1, 0, 0]


def test_bins_describe_themselves():
    head, torso, tail = per_bin(TOP, Y, frequencies=[60, 20, 15, 5], k=2, thresholds=(50, 10))
    assert [row.name for row in (head, torso, tail)] == ["head", "torso", "tail"]
    assert [row.n_labels for row in (head, torso, tail)] == [1, 2, 2]  # label 4 was not seen in training
    assert (head.least_frequency, torso.least_frequency, torso.most_frequency, tail.least_frequency) == (
        60,
        15,
        20,
        0,
    )
    assert [row.label_share for row in (head, torso, tail)] == [20, 40, 40]
    assert [row.train_share for row in (head, torso, tail)] == [60, 35, 5]
    assert [row.true_share for row in (head, torso, tail)] == [40, 40, 20]
    assert [row.found for row in (head, torso, tail)] == [100, 50, 0]
    assert [row.coverage for row in (head, torso, tail)] == [100, 50, 0]
    assert head.precision == pytest.approx(100 * 2 / 6)
    assert head.recall == pytest.approx(100 * (1 / 2 + 1) / 3)
    assert head.psp is None


def test_contributions_of_the_bins_add_up_to_the_metrics():
    rng = np.random.default_rng(2)
    truth = sparse.random_array((400, 50), density=0.1, rng=rng, format="csr")
    ids = np.argsort(rng.random((400, 50)), axis=1)[:, :5].astype(np.int32)
    top = TopK(ids, np.zeros(ids.shape, np.float32))
    inv = rng.uniform(1, 9, 50)
    rows = per_bin(top, truth, rng.integers(0, 100, 50), 5, inv_propensity=inv)
    whole = evaluate(top, truth, ks=(5,), inv_propensity=inv)
    for metric, name in {"P": "precision", "nDCG": "ndcg", "R": "recall", "PSP": "psp"}.items():
        assert sum(getattr(row, name) for row in rows) == pytest.approx(whole[f"{metric}@5"])
    assert sum(row.n_labels for row in rows) == 50
    assert sum(row.train_share for row in rows) == pytest.approx(100)


def test_default_bins_hold_about_a_third_of_the_occurrences_each():
    frequencies = (100_000 / np.arange(1, 5001)).astype(int)
    rows = per_bin(TOP, Y, frequencies, k=1)
    assert [row.train_share for row in rows] == pytest.approx([100 / 3] * 3, abs=2)
    assert rows[0].n_labels < rows[1].n_labels < rows[2].n_labels


def test_labels_of_one_frequency_are_in_one_bin():
    assert frequency_thresholds([3, 3, 3]) == (3, 3)
    assert frequency_thresholds([6, 6, 6, 1, 1, 0], shares=(0.1, 0.95)) == (6, 1)


def test_a_share_that_is_met_exactly_is_enough():
    assert frequency_thresholds([1, 2, 3], shares=(0.5, 5 / 6)) == (3, 2)


def test_labels_of_training_that_y_lacks_are_counted_in_their_bin():
    rows = per_bin(TOP, Y[:, :2], [9, 5, 1, 1], k=1, thresholds=(9, 5))
    assert [row.n_labels for row in rows] == [1, 1, 2]


def test_an_empty_bin_has_zeros():
    torso = per_bin(TOP, Y, [1, 1, 1, 1, 1], k=1)[1]
    assert (torso.n_labels, torso.least_frequency, torso.most_frequency, torso.coverage) == (0, 0, 0, 0)


def test_no_occurrences_at_all_are_all_tail():
    rows = per_bin(TOP, Y, [0, 0, 0, 0, 0], k=1)
    assert [row.n_labels for row in rows] == [0, 0, 5]


def test_thresholds_and_shares_that_cross_are_refused():
    with pytest.raises(ParameterError, match="thresholds"):
        per_bin(TOP, Y, [1, 2], k=1, thresholds=(2, 3))
    with pytest.raises(ParameterError, match="shares"):
        frequency_thresholds([1], shares=(0.5, 0.4))


@pytest.mark.parametrize("frequencies", [[0.5], [-1], [[1]]])
def test_frequencies_that_are_not_counts_are_refused(frequencies):
    with pytest.raises(LabelwoodError, match="frequencies"):
        per_bin(TOP, Y, frequencies, k=1)


@pytest.mark.parametrize("table", [per_label, lambda top, Y, k: per_bin(top, Y, [1], k)])
@pytest.mark.parametrize("k", [0, 3, 1.0])
def test_a_k_that_cannot_be_used_is_refused(table, k):
    with pytest.raises(LabelwoodError, match="k"):
        table(TOP, Y, k)


def test_tables_drop_filtered_pairs_first():
    top = TopK(ids=np.array([[2, 0], [0, 1]]), scores=np.array([[0.9, 0.4], [0.8, 0.7]]))
    Y = [[1, 0, 1], [0, 1, 0]]
    pairs = [(0, 2), (1, 0)]
    table = per_label(top, Y, k=1, filters=pairs)
    assert table.predicted.tolist() == [1, 1, 0]
    assert table.correct.tolist() == [1, 1, 0]
    bins = per_bin(top, Y, frequencies=[3, 2, 1], k=1, thresholds=(3, 2), filters=pairs)
    assert sum(row.precision for row in bins) == 100.0
