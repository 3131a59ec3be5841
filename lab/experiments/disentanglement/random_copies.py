"""The baseline: as many copies, but anywhere."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from labelwood.trees import LabelTree
from labelwood.trees.overlap import places_of, with_places


def with_random_copies(plain: LabelTree, shared: LabelTree, seed: int) -> LabelTree:
    """The plain tree, whose labels lie in one leaf each, with as many leaves for each as in the shared one.

    A label keeps its leaf; the others are drawn at random.
    """
    random = np.random.default_rng(seed)
    own, n_leaves = places_of(plain).indices, len(plain.leaves)
    more = np.bincount(shared.labels, minlength=plain.n_labels) - 1
    drawn = [random.choice(n_leaves - 1, size=n, replace=False) if n else [] for n in more.tolist()]
    others = np.concatenate(drawn).astype(np.int64)
    labels = np.repeat(np.arange(plain.n_labels), more)
    others += others >= own[labels]  # all leaves but the label's own
    rows, leaves = np.concatenate([np.arange(plain.n_labels), labels]), np.concatenate([own, others])
    places = sparse.csr_array((np.ones(len(rows), np.float32), (rows, leaves)), shape=(plain.n_labels, n_leaves))
    return with_places(plain, places)
