"""Gives the labels of a trained model more than one place in its tree."""

from __future__ import annotations

from typing import Any, TypeVar, Unpack

from labelwood.errors import ParameterError
from labelwood.trees.copies import Copies, CopiesFields

AnyModel = TypeVar("AnyModel")


def disentangle(
    model: AnyModel, X: Any, Y: Any, *, copies: int | Copies = 2, **fields: Unpack[CopiesFields]
) -> AnyModel:
    """A model like a trained one, whose labels lie in up to `copies` clusters each.

    `X` and `Y` are the rows it was trained on. The trained model says which clusters these rows reach; labels go to
    those that most of their rows reach, and then the classifiers are trained anew, all or those of the labels. A
    softmax tree has clusters of up to a hundred labels, which become Huffman trees, and is trained anew whole.

    `copies` may be `Copies`, whose fields may also be given by themselves. If `rounds` is not given, leaves are chosen
    anew once.

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
    given = copies if isinstance(copies, Copies) else Copies(copies)
    how = {**given.params(), "rounds": 1 if given.rounds is None else given.rounds, **fields}
    found: AnyModel = disentangled(X, Y, **how)
    return found


def without_places(model: Any) -> ParameterError:
    """The error for a model without a tree.

    Example:
        >>> str(without_places(3))
        'int has no tree whose labels could lie in several places'
    """
    return ParameterError(f"{type(model).__name__} has no tree whose labels could lie in several places")
