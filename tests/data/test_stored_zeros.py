"""Zeros stored in a sparse matrix are not labels, neither in a dataset nor in a model."""

from __future__ import annotations

import numpy as np
from scipy import sparse

import labelwood as lw


def test_a_zero_that_is_stored_is_not_written_as_a_label(tmp_path):
    Y = sparse.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    data = lw.Dataset(sparse=[[1.0]], Y=Y, labels=["a", "b"])
    lw.write(data, tmp_path / "rows.svm")
    assert (tmp_path / "rows.svm").read_text().startswith("1 ")
    assert Y.nnz == 2
