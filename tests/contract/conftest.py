"""Every model of `MODELS` goes through every test here. A new model joins by its name alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelwood.contract.kinds import MODELS, model_class


@pytest.fixture(params=sorted(MODELS))
def make(request):
    """Makes an unfitted model with the given parameters."""
    return model_class(request.param)


def generated(seed=0, n_rows=300, n_features=60, n_labels=40):
    """Rows that lean towards the features of their labels, without ties: values are random reals."""
    rng = np.random.default_rng(seed)
    prototypes = rng.random((n_labels, n_features)) * (rng.random((n_labels, n_features)) < 0.3)
    popularity = 1 / np.arange(1, n_labels + 1)
    Y = np.zeros((n_rows, n_labels), np.float32)
    for row in Y:
        row[rng.choice(n_labels, rng.integers(1, 4), replace=False, p=popularity / popularity.sum())] = 1
    X = Y @ prototypes + rng.random((n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.1)
    return sparse.csr_array(X.astype(np.float32)), sparse.csr_array(Y)


@pytest.fixture(params=["sparse", "dense"])
def data(request):
    """Features of both kinds and labels."""
    X, Y = generated()
    return (X if request.param == "sparse" else X.toarray()), Y
