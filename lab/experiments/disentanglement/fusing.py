"""Labels that mean several things for certain: each is made from k labels of a dataset, like ones or any."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood.trees import balanced

MODES = ("easy", "medium", "hard")
SUBSETS = 32  # of a cluster, in medium mode


def fused_labels(mode: str, vectors: Any, k: int, seed: int) -> NDArray[np.int64]:
    """For each label the number of the fused one that it becomes part of; there are ⌈labels / k⌉ of them.

    Easy: labels that are alike, the clusters of a balanced ⌈L / k⌉-means. Medium: any k of a balanced ⌈L / 32 k⌉-means'
    cluster; what a cluster has left goes together with the first of the next. Hard: any k. `vectors` has a row for
    each label.
    """
    n_labels = vectors.shape[0]
    if mode == "easy":
        return _clusters(vectors, k, seed)
    clusters = _clusters(vectors, SUBSETS * k, seed) if mode == "medium" else np.zeros(n_labels)
    order = np.lexsort((np.random.default_rng(seed).permutation(n_labels), clusters))
    numbers = np.empty(n_labels, np.int64)
    numbers[order] = np.arange(n_labels) // k
    return numbers


def _clusters(vectors: Any, size: int, seed: int) -> NDArray[np.int64]:
    """The number of each label's cluster; clusters have up to so many labels, and no two differ by more than one."""
    n_labels = vectors.shape[0]
    n_clusters = -(-n_labels // size)
    if n_clusters == 1:
        return np.zeros(n_labels, np.int64)
    tree = balanced(vectors, arity=n_clusters, max_leaf=size, seed=seed)
    numbers = np.empty(n_labels, np.int64)
    numbers[tree.labels] = np.repeat(np.arange(len(tree.leaves)), tree.leaf_sizes)
    return numbers


def fused(Y: Any, numbers: NDArray[np.int64]) -> Any:
    """Rows × fused labels, binary: a row has those that any of its labels is part of."""
    Y = sparse.csr_array(Y)
    n_fused = int(numbers.max()) + 1
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    found = sparse.coo_array((np.ones(Y.nnz, np.float32), (rows, numbers[Y.indices])), shape=(Y.shape[0], n_fused))
    found = sparse.csr_array(found)
    found.sum_duplicates()
    found.data[:] = 1
    return found
