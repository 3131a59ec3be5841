"""Every kind of model goes through the tests here, on the same rows and labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.contract.kinds import model_class

OVER_FEATURES = ["centroid", "one-vs-rest", "softmax-tree", "tree"]
TINY = {
    "encoder": {"checkpoint": "tiny"},
    "batches": {"size": 32, "random_epochs": 1},
    "training": {"epochs": 4, "learning_rate": 0.01},
}


class Kind(NamedTuple):
    """How a kind of model is made, and what it learns from in the place of features."""

    name: str
    params: dict[str, Any]
    rows: Callable[[Any], Any] = lambda X: X
    given: Callable[[Any, Any], dict[str, Any]] = lambda X, Y: {}

    def make(self, **params):
        """An unfitted model."""
        return model_class(self.name)(**self.params, **params)

    def fit(self, model, X, Y, **more):
        """The model, fitted to features and labels."""
        return model.fit(self.rows(X), Y, **self.given(X, Y), **more)

    def learned(self, X, Y, **params):
        """A new one that is fitted."""
        return self.fit(self.make(**params), X, Y)


def as_texts(X):
    """Rows as texts: a word for each feature that a row has, the more often the larger it is."""
    rows = sparse.csr_array(X)
    spans = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    entries = ([(rows.indices[i], rows.data[i]) for i in range(a, b)] for a, b in spans)
    return [" ".join(" ".join([f"word{j}"] * max(1, round(2 * float(v)))) for j, v in row) for row in entries]


def texts_of_labels(X, Y):
    """For each label the words of the rows that have it."""
    sums = sparse.csr_array(Y).T @ sparse.csr_array(X)
    return as_texts(sparse.csr_array(sums / np.maximum(sums.max(axis=1).toarray(), 1e-9)[:, None]))


CASES = {
    **{name: Kind(name, {}) for name in OVER_FEATURES},
    "multi-instance": Kind("multi-instance", {"hidden": 32, "epochs": 30, "learning_rate": 0.01}),
    # Groups of one row each: what every row's labels are is known, so that it has to learn as any other model does.
    "grouped": Kind("grouped", {"model": "tree"}, given=lambda X, Y: {"groups": np.arange(Y.shape[0])}),
    "prime": Kind(
        "prime", {"settings": TINY}, rows=as_texts, given=lambda X, Y: {"label_texts": texts_of_labels(X, Y)}
    ),
    "fused": Kind("fused", {"members": [lw.TextClassifier(), lw.TextClassifier(model="centroid")]}, rows=as_texts),
}
# What a kind cannot promise, and why.
CANNOT = {
    ("multi-instance", "labels in another order"): "the order of labels decides which random weights each begins with",
    ("prime", "labels in another order"): "the order of labels decides which negatives are drawn for each",
    ("multi-instance", "any number of threads"): "torch adds up in another order with other numbers of threads",
    ("prime", "any number of threads"): "torch adds up in another order with other numbers of threads",
    ("multi-instance", "any value marks a label"): "a number says how often a bag has a label",
    ("multi-instance", "weights are repetitions"): "rows that are there more often make more steps",
    ("fused", "filters leave other scores"): "members answer without the pairs, and their best scores count",
    ("grouped", "any value marks a label"): "a number says how often a group has a label",
}


OF_TORCH = {"multi-instance", "prime"}


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.deep] * (name in OF_TORCH)) for name in CASES])
def kind(request):
    """Each kind of model; a test that names a promise skips those that cannot make it."""
    marker = request.node.get_closest_marker("promise")
    if marker is not None and (request.param, marker.args[0]) in CANNOT:
        pytest.skip(CANNOT[request.param, marker.args[0]])
    return CASES[request.param]


@cache
def learned(name):
    """A fitted model, which no test changes."""
    return CASES[name].learned(*generated())


@pytest.fixture(params=OVER_FEATURES)
def make(request):
    """Makes an unfitted model over features with the given parameters."""
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


@pytest.fixture
def data():
    """Dense features and labels."""
    X, Y = generated()
    return X.toarray(), Y
