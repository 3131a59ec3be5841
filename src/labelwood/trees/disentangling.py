"""Gives the labels of a trained model more than one place in its tree."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar

from labelwood.errors import ParameterError

AnyModel = TypeVar("AnyModel")
Refit: TypeAlias = Literal["all", "ranker"]
Matching: TypeAlias = Literal["in-sample", "out-of-fold"]
Merge: TypeAlias = Literal["max", "mean"]


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
        >>> import numpy as np
        >>> from labelwood import TreeClassifier
        >>> model = TreeClassifier(tree="balanced", arity=2, max_leaf=2).fit(np.eye(8), np.eye(8))
        >>> disentangle(model, np.eye(8), np.eye(8)).trees_[0].tree.leaf_sizes.sum() > 8
        np.True_
    """
    disentangled = getattr(model, "disentangled", None)
    if disentangled is None:
        raise without_places(model)
    how: dict[str, Any] = {"copies": copies, "rounds": rounds, "refit": refit, "matching": matching}
    found: AnyModel = disentangled(X, Y, **how, crowding=crowding, merge=merge)
    return found


def without_places(model: Any) -> ParameterError:
    """The error for a model without a tree.

    Example:
        >>> str(without_places(3))
        'int has no tree whose labels could lie in several places'
    """
    return ParameterError(f"{type(model).__name__} has no tree whose labels could lie in several places")
