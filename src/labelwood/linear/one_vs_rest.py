"""One classifier a label, trained on all rows: the same engine with a single leaf."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge

from labelwood.arrays.rows import Sparse
from labelwood.contract.params import Count, Seed, Threads
from labelwood.labels.order import Numbers
from labelwood.labels.representations import Members
from labelwood.linear.classifier import Positive, TreeClassifier
from labelwood.linear.trained import Link, Precision
from labelwood.linear.training import Loss
from labelwood.trees import LabelTree
from labelwood.trees.disentangling import without_places


class OneVsRest(TreeClassifier):
    """A linear classifier for every label, each trained on all rows. Accurate; its time grows with rows × labels.

    The parameters are those of `TreeClassifier` that do not concern a tree.

    Example:
        >>> OneVsRest().fit(np.eye(3), np.eye(3)).predict_topk(np.eye(3), k=1).ids.ravel().tolist()
        [0, 1, 2]
    """

    kind: ClassVar[str] = "one-vs-rest"

    def __init__(
        self,
        *,
        normalize: bool = True,
        loss: Loss = "squared-hinge",
        cost: Positive = 1.0,
        positive_weight: Positive = 1.0,
        bias: Annotated[float, Ge(0)] = 0.3,
        tolerance: Positive = 0.1,
        max_passes: Count = 8,
        threshold: Annotated[float, Ge(0)] = 0.1,
        max_weights: Count | None = None,
        precision: Precision = "int8",
        link: Link = "l3-hinge",
        seed: Seed = 0,
        verbose: bool = False,
        n_threads: Threads = None,
    ) -> None:
        super().__init__(
            beam=None,
            normalize=normalize,
            loss=loss,
            cost=cost,
            positive_weight=positive_weight,
            bias=bias,
            tolerance=tolerance,
            max_passes=max_passes,
            threshold=threshold,
            max_weights=max_weights,
            precision=precision,
            link=link,
            seed=seed,
            verbose=verbose,
            n_threads=n_threads,
        )

    def _label_trees(self, rows: Sparse, Y: Sparse, members: Members, names: Numbers, threads: int) -> list[LabelTree]:
        # Labels in canonical order: those with as many rows are solved together, as they need about as many passes.
        labels = np.arange(Y.n_cols, dtype=np.int32)
        return [LabelTree(np.array([1, 1], np.int32), np.array([0, Y.n_cols]), labels, Y.n_cols)]

    def disentangled(self, X: Any, Y: Any, **how: Any) -> TreeClassifier:
        """Its one leaf has all labels, so that there is no other place for any."""
        raise without_places(self)
