"""Scores of a multi-instance network: those of a row do not depend on the other rows."""

import numpy as np
import pytest

from labelwood.errors import LabelwoodError
from labelwood.groups.multi_instance.network import product

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("n_rows", "n_features", "n_out"), [(1, 1, 1), (3, 60, 128), (33, 128, 160), (200, 7, 17)])
def test_products_equal_those_of_numpy(n_rows, n_features, n_out):
    rows, matrix = RNG.random((n_rows, n_features), np.float32), RNG.random((n_features, n_out), np.float32) - 0.5
    assert np.allclose(product(rows, matrix), rows.astype(np.float64) @ matrix, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 0, 4), (2, 3, 0)])
def test_products_of_empty_matrices_have_the_right_shape(shape):
    n_rows, n_features, n_out = shape
    found = product(np.ones((n_rows, n_features), np.float32), np.ones((n_features, n_out), np.float32))
    assert found.shape == (n_rows, n_out)
    assert not found.any()


@pytest.mark.parametrize(("n_features", "n_out"), [(60, 128), (60, 40), (384, 128)])
def test_the_product_of_a_row_does_not_depend_on_its_position(n_features, n_out):
    """NumPy's does on processors for which OpenBLAS has kernels of several sizes, such as AMD's with AVX2."""
    matrix = RNG.random((n_features, n_out), np.float32) - 0.5
    row = RNG.random((1, n_features), np.float32)
    alone = product(row, matrix)
    for n_rows in (2, 32, 130):
        rows = np.repeat(row, n_rows, axis=0)
        assert np.array_equal(product(rows, matrix), np.repeat(alone, n_rows, axis=0))


def test_products_do_not_depend_on_threads():
    rows, matrix = RNG.random((70, 50), np.float32), RNG.random((50, 1000), np.float32)
    one, two, eight = (product(rows, matrix, n) for n in (1, 2, 8))
    assert np.array_equal(one, two)
    assert np.array_equal(one, eight)


def test_rows_with_another_number_of_features_are_refused():
    with pytest.raises(LabelwoodError, match="other features"):
        product(np.ones((1, 2), np.float32), np.ones((3, 4), np.float32))
