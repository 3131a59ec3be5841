"""How deep in a tree the labels lie that are found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from labelwood.arrays.topk import TopK, check_k
from labelwood.errors import ParameterError
from labelwood.metrics.predictions import as_topk
from labelwood.trees.tree import LabelTree


def expected_depth(tree: LabelTree, top: TopK, ks: Sequence[int] = (1, 3, 5)) -> dict[str, float]:
    """The mean over rows of the depth of the deepest of the first k labels found; rows without any are left out.

    Example:
        >>> tree = LabelTree.from_nested([[0], [[1], [2]]])
        >>> top = TopK(np.array([[0, 1], [0, -1]]), np.array([[0.9, 0.5], [0.8, -np.inf]]))
        >>> expected_depth(tree, top, ks=(1, 2))
        {'depth@1': 1.0, 'depth@2': 1.5}
    """
    top = as_topk(top)
    if not isinstance(ks, Iterable) or any(check_k(k) > top.k for k in ks):
        raise ParameterError(f"ks must be from 1 to {top.k}, the number of labels found for a row, not {ks}")
    if top.ids.size and top.ids.max() >= tree.n_labels:
        raise ParameterError(f"ids reach to {top.ids.max()} and the tree has {tree.n_labels} labels: give its own tree")
    depths = np.where(top.ids >= 0, tree.label_depths[top.ids], -1)
    deepest = np.maximum.accumulate(depths, axis=1)[depths[:, 0] >= 0]
    return {f"depth@{k}": float(deepest[:, k - 1].mean()) if len(deepest) else 0.0 for k in ks}
