"""Reads the weights of a trained tree's classifiers for a label, a path or a cluster."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood.linear.trained import TrainedTree

PARENT_WEIGHT = 0.5  # factor for the weights of a node's parent when a cluster is described
_N_KEPT = 512  # weights per node that are compared between clusters


def path_to(trained: TrainedTree, node: int) -> tuple[int, ...]:
    """The path of nodes from the root to a node.

    Example:
        >>> import labelwood as lw
        >>> model = lw.TreeClassifier(tree="balanced", arity=2, max_leaf=1).fit(np.eye(4), np.eye(4))
        >>> path_to(model.trees_[0], 3)
        (0, 1, 3)
    """
    path = [node]
    while path[-1]:
        path.append(int(trained.tree.parents[path[-1]]))
    return tuple(reversed(path))


def leaves_of(trained: TrainedTree, label: int) -> list[int]:
    """The leaves that hold a label.

    Example:
        >>> import labelwood as lw
        >>> model = lw.TreeClassifier(tree="balanced", arity=2, max_leaf=1).fit(np.eye(4), np.eye(4))
        >>> len(leaves_of(model.trees_[0], 0))
        1
    """
    places = np.flatnonzero(trained.tree.labels == label)
    return [int(leaf) for leaf in np.searchsorted(trained.tree.label_ptr, places, side="right") - 1]


def weights_for(trained: TrainedTree, path: tuple[int, ...]) -> list[NDArray[np.float32]]:
    """For each node of a path except the root, the weights of all features in its classifier.

    Example:
        >>> import labelwood as lw
        >>> model = lw.TreeClassifier(tree="balanced", arity=2, max_leaf=1).fit(np.eye(4), np.eye(4))
        >>> [len(weights) for weights in weights_for(model.trees_[0], (0, 1, 3))]
        [4, 4]
    """
    found = []
    for parent, child in pairwise(path):
        weights, _ = trained.block(parent)
        found.append(column(weights.tocsc(), child - int(trained.tree.child_ptr[parent])))
    return found


def column(weights: Any, number: int) -> NDArray[np.float32]:
    """One column of a sparse matrix (csc), dense.

    Example:
        >>> column(sparse.csc_array([[1.0, 0.0], [2.0, 3.0]]), 0)
        array([1., 2.], dtype=float32)
    """
    dense = np.zeros(weights.shape[0], np.float32)
    start, end = weights.indptr[number : number + 2]
    dense[weights.indices[start:end]] = weights.data[start:end]
    return dense


def cluster_rows(trained: TrainedTree) -> Any:
    """Nodes × features: each node's strongest weights, in rows of unit length.

    Example:
        >>> import labelwood as lw
        >>> model = lw.TreeClassifier(tree="balanced", arity=2, max_leaf=1).fit(np.eye(4), np.eye(4))
        >>> cluster_rows(model.trees_[0]).shape
        (7, 4)
    """
    tree = trained.tree
    rows: list[Any] = [sparse.csr_array((1, trained.n_features), dtype=np.float32)] * tree.n_nodes
    for node in np.flatnonzero(np.diff(tree.child_ptr)).tolist():
        children = trained.block(node)[0].T.tocsr()
        for number, child in enumerate(range(*tree.child_ptr[node : node + 2].tolist())):
            rows[child] = _strongest(children[[number]] + PARENT_WEIGHT * rows[node])
    return unit_positive(sparse.vstack(rows, format="csr"))


def unit_positive(rows: Any) -> Any:
    """Rows without their negative entries, of unit length.

    Example:
        >>> unit_positive(sparse.csr_array([[3.0, -1.0, 4.0]])).toarray()
        array([[0.6, 0. , 0.8]])
    """
    positive = rows.maximum(0).tocsr()
    lengths = np.sqrt(positive.multiply(positive).sum(axis=1))
    return sparse.csr_array(sparse.diags_array(1 / np.maximum(lengths, 1e-12)) @ positive)


def _strongest(row: Any) -> Any:
    row = sparse.csr_array(row)
    if row.nnz > _N_KEPT:
        kept = np.argpartition(-np.abs(row.data), _N_KEPT)[:_N_KEPT]
        row = sparse.csr_array((row.data[kept], row.indices[kept], [0, _N_KEPT]), shape=row.shape)
    return row
