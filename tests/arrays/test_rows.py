"""Features, labels, threads and parameters as users pass them."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pytest
from annotated_types import Ge
from scipy import sparse

from labelwood.arrays.rows import Sparse, as_features, as_labels, from_scipy
from labelwood.arrays.threads import thread_count
from labelwood.arrays.topk import TopK
from labelwood.contract.checks import check_params
from labelwood.contract.params import Params
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.linear.centroid import CentroidClassifier


def test_sparse_input_is_not_copied_if_possible():
    X = sparse.csr_array(np.eye(3, dtype=np.float32))
    checked = as_features(X)
    assert isinstance(checked, Sparse)
    assert np.shares_memory(checked.values, X.data)
    assert np.shares_memory(checked.indices, X.indices)


def test_sparse_input_is_sorted_without_changing_the_original():
    X = sparse.csr_array((np.array([1.0, 2, 3]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    checked = as_features(X)
    assert checked.indices.tolist() == [0, 2]
    assert checked.values.tolist() == [2, 4]
    assert X.indices.tolist() == [2, 0, 2]


def test_numbers_of_any_kind_become_float32():
    for dtype in (np.int8, np.uint64, np.float64, np.float16, bool, object):
        assert as_features(np.eye(2).astype(dtype)).dtype == np.float32
        assert as_labels(np.eye(2).astype(dtype), 2).values.dtype == np.float32
    assert as_features([["1.5", "2"]]).tolist() == [[1.5, 2.0]]


def test_a_value_beyond_float32_is_refused():
    with pytest.raises(LabelwoodError, match="NaN or infinity"):
        as_features(sparse.csr_array([[1e300]]))
    with pytest.raises(LabelwoodError, match="NaN or infinity"):
        as_features([[1e300]])


def test_explicit_zeros_are_not_labels():
    Y = sparse.csr_array((np.array([0.0, 5.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert as_labels(Y, 1).indices.tolist() == [1]
    assert as_labels(Y, 1).values.tolist() == [1]
    assert Y.nnz == 2


def test_duplicates_of_small_integers_add_up_without_wrapping_around():
    X = sparse.csr_array((np.array([100, 100], np.int8), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    assert as_features(X).values.tolist() == [200]
    Y = sparse.csr_array((np.ones(256, np.uint8), np.zeros(256, int), np.array([0, 256])), shape=(1, 1))
    assert as_labels(Y, 1).indices.tolist() == [0]
    assert as_labels(Y, 1).values.tolist() == [1]


def test_a_value_that_is_not_a_matrix_is_an_error_of_one_sentence():
    with pytest.raises(LabelwoodError, match="rows of different lengths"):
        as_features([[1.0, 2.0], [3.0]])
    with pytest.raises(LabelwoodError, match="1 dimension"):
        as_features(sparse.coo_array(np.ones(3)))
    with pytest.raises(LabelwoodError, match="1 dimension"):
        as_labels(sparse.coo_array(np.ones(3)), 3)


def test_a_matrix_that_is_too_wide_is_refused():
    with pytest.raises(ParameterError, match="too wide"):
        from_scipy(sparse.csr_array((1, 2**31), dtype=np.float32))


def test_the_number_of_threads_defaults_to_the_cores_of_the_process():
    assert thread_count(None) >= 1
    assert thread_count(5) == 5


def test_no_number_of_threads_is_too_large():
    assert CentroidClassifier(n_threads=2**40).fit([[1.0]], [[1]]).predict_topk([[1.0]], 1).ids.tolist() == [[0]]


class Knobs(Params):
    def __init__(
        self, *, turns: Annotated[int, Ge(1)] = 1, shape: Literal["round", "flat"] = "round", size: float = 1.0
    ):
        self.turns = turns
        self.shape = shape
        self.size = size


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"turns": 0}, "turns is 0 but should be greater than or equal to 1"),
        ({"turns": "3"}, "turns is '3' but should be a valid integer"),
        ({"turns": True}, "turns is True"),
        ({"shape": "square"}, "shape is 'square' but should be 'round' or 'flat'"),
        ({"turn": 1}, "no parameter 'turn'; did you mean 'turns'?"),
        ({"colour": 1}, "no parameter 'colour'; it has: turns, shape, size"),
    ],
)
def test_wrong_parameters_are_named_with_what_they_should_be(params, words):
    with pytest.raises(ParameterError) as caught:
        check_params(Knobs, params)
    assert words in str(caught.value)


def test_numpy_numbers_and_whole_floats_are_fine_as_parameters():
    check_params(Knobs, {"turns": np.int64(3), "size": 2})
    check_params(Knobs, {"size": np.float32(0.5)})


def test_params_show_what_differs_from_the_defaults():
    assert repr(Knobs(turns=3)) == "Knobs(turns=3)"
    assert repr(Knobs()) == "Knobs()"


def test_topk_converts_to_a_sparse_matrix_and_iterates_without_padding():
    top = TopK(np.array([[2, -1], [0, 1]], np.int32), np.array([[0.5, -np.inf], [0.9, 0.1]], np.float32))
    assert top.to_scipy(3).toarray().round(2).tolist() == pytest.approx(np.array([[0, 0, 0.5], [0.9, 0.1, 0]]))
    assert [len(row) for row in top] == [1, 2]
