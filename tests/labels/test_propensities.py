import math

import numpy as np
import pytest
from scipy import sparse

from labelwood.errors import LabelwoodError, ParameterError
from labelwood.labels.propensities import (
    PROPENSITY_FAMILIES,
    InversePropensities,
    family_of,
    inverse_propensities,
    label_frequencies,
)


def test_frequencies_count_rows_and_not_values_or_stored_zeros():
    Y = sparse.csr_array(([5.0, 0.0, 1.0, 2.0], ([0, 0, 1, 1], [0, 1, 0, 3])), shape=(2, 5))
    frequencies = label_frequencies(Y)
    assert frequencies.dtype == np.int64
    assert frequencies.tolist() == [2, 0, 0, 1, 0]


def test_an_entry_stored_twice_is_one_row():
    Y = sparse.coo_array(([1, 1], ([0, 0], [2, 2])), shape=(1, 3))
    assert label_frequencies(Y).tolist() == [0, 0, 1]


@pytest.mark.parametrize(("family", "a", "b"), [("wikipedia", 0.5, 0.4), ("amazon", 0.6, 2.6), ("default", 0.55, 1.5)])
def test_each_family_has_its_constants_in_the_formula(family, a, b):
    assert PROPENSITY_FAMILIES[family] == (a, b)
    c = (math.log(1000) - 1) * (b + 1) ** a
    expected = [1 + c / (n + b) ** a for n in (0, 1, 7, 1000)]
    inv = inverse_propensities([0, 1, 7, 1000], 1000, family=family)
    np.testing.assert_allclose(inv.values, expected, rtol=1e-14)
    assert inv.unseen == pytest.approx(expected[0], rel=1e-14)


def test_a_label_seen_once_is_worth_the_logarithm_of_the_rows():
    # (1 + b) ** a cancels: 1 + (ln N − 1) = ln N, for every a and b.
    for family in PROPENSITY_FAMILIES:
        assert inverse_propensities([1], 5000, family=family).values[0] == pytest.approx(math.log(5000))


def test_a_and_b_override_the_family():
    inv = inverse_propensities([3], 100, family="amazon", a=1.0, b=1.0)
    assert inv.values[0] == pytest.approx(1 + (math.log(100) - 1) * 2 / 4)


@pytest.mark.parametrize("n_rows", [1, 2])
def test_too_few_rows_weigh_every_label_one_and_never_less(n_rows):
    inv = inverse_propensities([0, 1, 2], n_rows)
    assert inv.values.tolist() == [1, 1, 1]
    assert inv.unseen == 1


def test_labels_beyond_training_get_the_value_of_frequency_zero():
    inv = inverse_propensities([4, 0], 50)
    assert inv.for_labels(4).tolist() == [inv.values[0], inv.unseen, inv.unseen, inv.unseen]
    assert inv.for_labels(1).tolist() == [inv.values[0]]


def test_inverse_propensities_can_be_used_as_an_array():
    inv = InversePropensities(np.array([1.0, 2.0]), unseen=3.0)
    assert len(inv) == 2
    assert np.asarray(inv, np.float32).dtype == np.float32
    copy = np.array(inv)
    copy[0] = 9
    assert inv.values[0] == 1


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("Wikipedia-500K", "wikipedia"),
        ("LF-Wikipedia-500K", "wikipedia"),
        ("wiki-500k", "wikipedia"),
        ("LF-WikiTitles-500K", "wikipedia"),
        ("WikiLSHTC-325K", "wikipedia"),
        ("Amazon-670K", "amazon"),
        ("amazon_670k", "amazon"),
        ("Amazon3M", "amazon"),
        ("LF-AmazonTitles-131K", "amazon"),
        ("LF-AmazonTitles-1.3M", "amazon"),
        ("AmazonTitles-3M", "amazon"),
        ("AmazonCat-13K", "default"),
        ("amazon_cat_13k", "default"),
        ("EURLex-4K", "default"),
        ("Wiki10-31K", "default"),
        ("LF-WikiSeeAlso-320K", "default"),
        ("LF-WikiSeeAlsoTitles-320K", "default"),
        ("my own data", "default"),
    ],
)
def test_data_sets_belong_to_the_family_that_papers_use(name, family):
    assert family_of(name) == family


@pytest.mark.parametrize(
    "options",
    [{"family": "amazn"}, {"b": 0.0}, {"b": -1.0}, {"a": -1.0}, {"a": math.nan}, {"n_rows": 0}],
)
def test_constants_that_cannot_be_used_are_refused(options):
    with pytest.raises(ParameterError):
        inverse_propensities([1, 2], **{"n_rows": 10, **options})


@pytest.mark.parametrize("frequencies", [[[1, 2]], [-1], [math.nan]])
def test_frequencies_that_cannot_be_used_are_refused(frequencies):
    with pytest.raises(LabelwoodError, match="label_frequencies"):
        inverse_propensities(frequencies, 10)
