"""Trees between balanced clustering and a Fano code: precise, or with frequent labels near the root."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal, TypedDict

import numpy as np
from annotated_types import Ge, Le

from labelwood import _native
from labelwood.arrays.rows import as_labels
from labelwood.arrays.threads import thread_count
from labelwood.arrays.values import real_number
from labelwood.contract.bundles import Bundle
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.trees.coverage import Rule, label_weights
from labelwood.trees.tree import LabelTree
from labelwood.trees.vectors import check_sizes, unit_rows


@dataclass(frozen=True)
class Interpolated(Bundle):
    """An interpolated tree, as a value for the parameter `tree` of models; see `labelwood.trees.interpolated`.

    Parameters:
        lam: Between balanced clustering (0) and a Fano code (2).

    Example:
        >>> import labelwood as lw
        >>> lw.TreeClassifier(tree=lw.Interpolated(lam=1.5))
        TreeClassifier(tree='interpolated', lam=1.5)
    """

    implied: ClassVar[Mapping[str, Any]] = {"tree": "interpolated"}

    lam: Annotated[float, Ge(0), Le(2)] = 1.0

    def build(self, vectors: Any, Y: Any, **how: Any) -> LabelTree:
        """The tree of labels with these vectors, by `labelwood.trees.interpolated`, whose options the fields are.

        Example:
            >>> vectors, Y = np.eye(4), np.repeat(np.eye(4), [80, 40, 20, 20], axis=0)
            >>> Interpolated(lam=2).build(vectors, Y, max_leaf=1).label_depths.tolist()
            [1, 2, 3, 3]
        """
        return interpolated(vectors, Y, **asdict(self), **how)


class InterpolatedFields(TypedDict, total=False):
    """Fields of `Interpolated` that type checkers know as parameters of models, too."""

    lam: float


def interpolated(
    vectors: Any,
    Y: Any,
    *,
    lam: float = 1.0,
    rule: Rule | float = "marginal",
    smoothing: float = 0.1,
    smooth: Literal["node", "root"] = "node",
    midpoint: bool = True,
    row_weights: Any = None,
    arity: int = 2,
    max_leaf: int = 100,
    seed: int = 0,
    n_threads: int | None = None,
) -> LabelTree:
    """A tree that trades likeness of labels within a node against a short way to frequent ones.

    At every node, labels are split in two so that both sides weigh the same. With `lam` 0 every label weighs the same
    and the tree is `balanced`; up to 1 weights approach the labels' frequencies, which is weighted 2-means; from there
    to 2 weight counts more and likeness less, and 2 is a Fano code, whose expected depth is within one bit of the best.

    Parameters:
        vectors: A row for each label (`labelwood.labels.pifa` makes them).
        Y: Which rows have which labels, rows × labels.
        lam: Between 0 and 2; `lam_of` makes it from the scale λ′ from 0 to infinity.
        rule: How often a label is counted beyond `lam` 1: "marginal" counts a row for its most frequent label only,
            "greedy" takes the label with most rows, then that with most of the others, and so on. A number between 0
            and 1 mixes plain frequencies (0) and "marginal" (1).
        smoothing: Weight that labels share evenly beside their own, at every node or once at the root (`smooth`).
        midpoint: Whether the way from 0 to 2 leads through weighted 2-means; without, weights and likeness change
            evenly all the way.
        row_weights: How much each row counts; all the same if not given.
        arity: Children of a node: the heaviest part that is no leaf is split again until there are so many.
        max_leaf: A node with so many labels or fewer is a leaf.

    Labels in another order give the same tree, and so does any number of threads; but of labels that cover the same
    rows, the greedy rule takes the first.

    Example:
        >>> vectors, Y = np.eye(4), np.repeat(np.eye(4), [8, 4, 2, 2], axis=0)
        >>> interpolated(vectors, Y, lam=2, smoothing=0, max_leaf=1).label_depths.tolist()
        [1, 2, 3, 3]
        >>> interpolated(vectors, Y, lam=0, max_leaf=1).label_depths.tolist()
        [2, 2, 2, 2]
    """
    check_sizes(arity, max_leaf, seed)
    lam, smoothing = real_number(lam, "lam", 0, 2), real_number(smoothing, "smoothing", 0, 1e100)
    rows, labels = unit_rows(vectors), as_labels(Y)
    if labels.n_cols != rows.n_rows:
        raise LabelwoodError(f"vectors has {rows.n_rows} labels and Y {labels.n_cols}: give both the same")
    frequency, covering = label_weights(labels, rule, row_weights)
    if smooth == "root":
        frequency, covering = (_smoothed(weights, smoothing) for weights in (frequency, covering))
        smoothing = 0.0
    arrays = _native.interpolated_tree(
        rows,
        frequency=frequency,
        covering=covering,
        lam=lam,
        smoothing=smoothing,
        midpoint=midpoint,
        arity=arity,
        max_leaf=max_leaf,
        seed=seed,
        n_threads=thread_count(n_threads),
    )
    return LabelTree.from_arrays(arrays, rows.n_rows)


def lam_of(scale: float) -> float:
    """λ from λ′, which runs from 0 to infinity: 2λ′ / (1 + λ′).

    Example:
        >>> lam_of(0), lam_of(1), lam_of(3)
        (0.0, 1.0, 1.5)
    """
    if not scale >= 0:
        raise ParameterError(f"the scale must be at least 0, not {scale}")
    return 2.0 if scale == np.inf else 2 * scale / (1 + scale)


def _smoothed(weights: Any, smoothing: float) -> Any:
    total = weights.sum()
    return (weights / total if total > 0 else weights) + smoothing / len(weights)
