"""The numbers that features have in a model's blocks."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from labelwood.arrays.rows import from_scipy
from labelwood.linear.training import numbers_by_frequency


def test_features_that_do_not_occur_change_nothing_but_the_end():
    rng = np.random.default_rng(0)
    dense = rng.poisson(0.3, (30, 40)).astype(np.float32)
    few = numbers_by_frequency(from_scipy(sparse.csr_array(dense)))
    wide = sparse.csr_array(dense)
    wide.resize(30, 5000)
    many = numbers_by_frequency(from_scipy(wide))
    assert many[:40][dense.any(axis=0)].tolist() == few[dense.any(axis=0)].tolist()
    assert sorted(many.tolist()) == list(range(5000))
    unused = np.flatnonzero(np.pad(~dense.any(axis=0), (0, 4960), constant_values=True))
    assert (np.diff(many[unused]) == 1).all()
