"""What models need to arrange labels in a tree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from labelwood.arrays.rows import Sparse
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.labels.representations import Members, sparse_label_vectors
from labelwood.trees import LabelTree

if TYPE_CHECKING:
    from labelwood.store import State

TreeMaker: TypeAlias = Callable[[Any, Any, int], LabelTree]

# Of a label its largest features make its clusters, so many of all labels together, but within bounds for each: more
# than 512 do not make better clusters, and less than 64 worse ones.
_LABEL_FEATURES = 1 << 24
_MAX_ARITY = 256


def without_given_tree(state: State) -> State:
    """A model's state with a word in the place of a tree that was given: it is kept as arrays, not as a parameter."""
    given = not isinstance(state.params.get("tree", ""), str)
    return replace(state, params={**state.params, "tree": "given"}) if given else state


def cluster_vectors(rows: Sparse, members: Members, n_threads: int) -> Any:
    """A vector for each label, sparse, by which labels are clustered."""
    n_labels = len(members[0]) - 1
    features = min(512, max(64, _LABEL_FEATURES // n_labels))
    return sparse_label_vectors(rows, members, features, n_threads).to_scipy()


def given_tree(tree: Any, n_labels: int) -> LabelTree:
    """A tree that the user gives, or that their function has made, if it is one for these labels.

    Example:
        >>> given_tree(LabelTree.from_nested([[0], [1]]), 2).n_nodes
        3
    """
    if isinstance(tree, str):
        raise ParameterError("the tree that was given is not kept as a parameter: give it again to train again")
    if not isinstance(tree, LabelTree):
        raise LabelwoodError(f"the function that makes the tree returned {type(tree).__name__}: return a LabelTree")
    if tree.n_labels != n_labels:
        raise LabelwoodError(f"the tree holds {tree.n_labels} labels and Y has {n_labels}: give their tree")
    return tree


def shallow_arity(n_labels: int, max_leaf: int) -> int:
    """The arity that gives full leaves at the least depth with at most 256 children a node.

    Example:
        >>> shallow_arity(13_000, 100), shallow_arity(1_000_000, 100)
        (130, 100)
    """
    n_leaves = -(-n_labels // max_leaf)
    depth, reach = 1, _MAX_ARITY
    while reach < n_leaves:
        depth, reach = depth + 1, reach * _MAX_ARITY
    arity = max(2, round(float(n_leaves) ** (1 / depth)))
    return int(arity + (math.prod([arity] * depth) < n_leaves))
