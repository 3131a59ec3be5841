"""Gives the labels of a trained softmax tree more than one place in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from labelwood.arrays.rows import Sparse
from labelwood.contract.limits import NO_LIMITS
from labelwood.softmax_tree.stored_rows import StoredRows
from labelwood.softmax_tree.trained import TrainedSoftmax
from labelwood.trees import LabelTree, overlapping, with_single_leaves
from labelwood.trees.copies import Copies
from labelwood.trees.cutting import cut

# What `labelwood.disentangle` says besides the number of copies: nothing that a softmax tree could do otherwise.
ONCE = Copies(rounds=1).params()
_BEAM = 10  # clusters that a row of a softmax tree reaches
_CLUSTER = 100  # labels of a cluster of a softmax tree at most


def overlapping_clusters(
    trained: TrainedSoftmax, rows: Sparse, labels: Sparse, copies: int, n_threads: int
) -> LabelTree:
    """A tree of single labels, in which each lies in up to `copies` of the clusters that its rows reach."""
    clusters, matcher = _clusters(trained)
    k = min(_BEAM, matcher.n_labels)
    top, _ = matcher.topk(rows, k, beam=None, limits=NO_LIMITS, n_threads=n_threads)
    reached = top.to_scipy(matcher.n_labels)
    reached.data = np.ones_like(reached.data)  # a cluster that is reached with a chance of almost zero is reached
    shared = overlapping(clusters, labels.to_scipy(), reached, copies=copies)
    frequencies = np.bincount(labels.indices, minlength=labels.n_cols)
    return with_single_leaves(shared, frequencies)


def _clusters(trained: TrainedSoftmax) -> tuple[LabelTree, TrainedSoftmax]:
    """The tree down to clusters of labels, and a model whose labels these clusters are."""
    assert trained.tree is not None
    clusters, nodes = cut(trained.tree, _CLUSTER)
    n_clusters = len(clusters.leaves)
    label_ptr = np.concatenate([[0], np.cumsum(np.diff(clusters.child_ptr) == 0)]).astype(np.int64)
    names = LabelTree(clusters.child_ptr, label_ptr, np.arange(n_clusters, dtype=np.int32), n_clusters)
    of_node = np.maximum(np.diff(trained.tree.child_ptr) - 1, 0)
    is_kept = np.zeros(trained.tree.n_nodes, bool)
    is_kept[nodes] = np.diff(clusters.child_ptr) > 0
    vectors = trained.vectors.plain_rows()[np.repeat(is_kept, of_node)]
    matcher = replace(trained, tree=names, vectors=StoredRows(plain=vectors), n_labels=n_clusters)
    return clusters, matcher
