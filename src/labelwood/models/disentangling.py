"""Gives the labels of a trained model more than one place in its tree."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from labelwood.base import NO_LIMITS, Model
from labelwood.errors import ParameterError
from labelwood.inputs import as_labels, thread_count
from labelwood.models.one_vs_rest import OneVsRest
from labelwood.models.softmax_tree import SoftmaxTreeClassifier
from labelwood.models.tree import TreeClassifier
from labelwood.search.disentangling import Matching, Refit
from labelwood.search.softmax import Matrix, TrainedSoftmax
from labelwood.search.tree import Merge
from labelwood.trees import LabelTree, overlapping, with_single_leaves
from labelwood.trees.cutting import cut

AnyModel = TypeVar("AnyModel", bound=Model)
_BEAM = 10  # clusters that a row of a softmax tree reaches
_CLUSTER = 100  # labels of a cluster of a softmax tree at most


def disentangle(
    model: AnyModel,
    X: Any,
    Y: Any,
    *,
    copies: int = 2,
    rounds: int = 1,
    refit: Refit = "all",
    matching: Matching = "in-sample",
    crowding: float | None = 1.0,
    merge: Merge = "max",
) -> AnyModel:
    """A model like a trained one, whose labels lie in up to `copies` clusters each; see `TreeClassifier`.

    `X` and `Y` are the rows it was trained on. The trained model says which clusters these rows reach; labels go to
    those that most of their rows reach, and then the classifiers are trained anew, all or those of the labels. A
    softmax tree has clusters of up to a hundred labels, which become Huffman trees, and is trained anew whole.

    Example:
        >>> model = TreeClassifier(tree="balanced", arity=2, max_leaf=2).fit(np.eye(8), np.eye(8))
        >>> disentangle(model, np.eye(8), np.eye(8)).trees_[0].tree.leaf_sizes.sum() > 8
        np.True_
    """
    model.check_fitted()
    how: dict[str, Any] = {"copies": copies, "rounds": rounds, "refit": refit, "matching": matching}
    how |= {"crowding": crowding, "merge": merge}
    if isinstance(model, TreeClassifier) and not isinstance(model, OneVsRest):
        return model.disentangled(X, Y, **how)  # type: ignore[return-value]
    if isinstance(model, SoftmaxTreeClassifier) and model.trained_.tree is not None:
        if (rounds, refit, matching, crowding, merge) != (1, "all", "in-sample", 1.0, "max"):
            raise ParameterError(
                "a softmax tree gets its copies at once and is trained anew: give copies and nothing else"
            )
        return _softmax(model, X, Y, copies)  # type: ignore[return-value]
    raise ParameterError(f"{type(model).__name__} has no tree whose labels could lie in several places")


def _softmax(model: SoftmaxTreeClassifier, X: Any, Y: Any, copies: int) -> SoftmaxTreeClassifier:
    rows = model.check_sparse(X)
    labels = as_labels(Y, rows.n_rows)
    clusters, matcher = _clusters(model.trained_)
    k = min(_BEAM, matcher.n_labels)
    top, _ = matcher.topk(rows, k, beam=None, limits=NO_LIMITS, n_threads=thread_count(model.n_threads))
    reached = top.to_scipy(matcher.n_labels)
    reached.data = np.ones_like(reached.data)  # a cluster that is reached with a chance of almost zero is reached
    shared = overlapping(clusters, labels.to_scipy(), reached, copies=copies)
    frequencies = np.bincount(labels.indices, minlength=labels.n_cols)
    params = {**model.get_params(deep=False), "tree": with_single_leaves(shared, frequencies)}
    return type(model)(**params).fit(X, Y)


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
    matcher = TrainedSoftmax(
        names, trained.embeddings, Matrix(plain=vectors), trained.n_features, n_clusters, trained.unit, trained.kept
    )
    return clusters, matcher
