"""Models of one dataset, trained and judged."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import labelwood as lw
from lab.experiments.common.kept import Kept
from lab.experiments.common.rows import Rows
from lab.experiments.disentanglement.random_copies import with_random_copies
from labelwood.labels import inverse_propensities, label_frequencies
from labelwood.linear.trained import Merge, TrainedTree
from labelwood.metrics import evaluate
from labelwood.trees import LabelTree

K = 5


class Trials:
    """Runs on one dataset; those that were made before are not made again, and rows are read when one is missing."""

    def __init__(self, read: Callable[[], Rows], kept: Kept, n_threads: int) -> None:
        self._read, self.kept, self.n_threads = read, kept, n_threads
        self._trees: dict[tuple[int, int], LabelTree] = {}

    @cached_property
    def rows(self) -> Rows:
        """All of them."""
        return self._read()

    def figures(self, name: str, settings: Mapping[str, Any], measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Those of a run; says so if it has to be made."""
        if self.kept.known(name, settings) is None:
            sys.stderr.write(f"  {name}\n")
        return self.kept.figures(name, settings, measure)

    def trained(self, **params: Any) -> lw.TreeClassifier:
        """A tree of linear classifiers; leaves have no limit unless one is given, as in the paper."""
        params = {"crowding": None, **params}
        return lw.TreeClassifier(**params, n_threads=self.n_threads).fit(self.rows.X_train, self.rows.Y_train)

    def tree(self, *, copies: int, seed: int) -> LabelTree:
        """Where the labels of a model lie, which is trained unless that is known."""
        if (copies, seed) not in self._trees:
            self.remember(copies, seed, self.trained(copies=copies, seed=seed))
        return self._trees[copies, seed]

    def remember(self, copies: int, seed: int, model: lw.TreeClassifier) -> None:
        """Keeps a model's tree in mind."""
        self._trees[copies, seed] = model.trees_[0].tree

    def random_tree(self, *, copies: int, seed: int) -> LabelTree:
        """That of the plain model, with random copies."""
        return with_random_copies(self.tree(copies=1, seed=seed), self.tree(copies=copies, seed=seed), seed)


def on_the_clock(train: Callable[[], Any]) -> tuple[Any, float]:
    """What training gives, and the CPU seconds that it took on all threads."""
    started = time.process_time()
    model = train()
    return model, time.process_time() - started


def judged(model: Any, rows: Rows) -> dict[str, float]:
    """P and PSP of a model's first answers, in per cent."""
    top = model.predict_topk(rows.X_test, K)
    propensities = inverse_propensities(label_frequencies(rows.Y_train), rows.Y_train.shape[0])
    return evaluate(top, rows.Y_test, metrics=("P", "PSP"), inv_propensity=propensities)


def with_merge(model: lw.TreeClassifier, merge: Merge) -> lw.TreeClassifier:
    """The same trees, with copies' scores merged in another way: it matters to searches only."""
    other = type(model)(**{**model.get_params(deep=False), "merge": merge})
    other.__dict__ |= {name: value for name, value in vars(model).items() if name.endswith("_")}
    other.trees_ = [
        TrainedTree(each.tree, each.blocks, each.precision, each.feature_numbers, merge) for each in model.trees_
    ]
    return other


def copies_a_label(model: lw.TreeClassifier) -> float:
    """In how many leaves a label lies on average."""
    tree = model.trees_[0].tree
    return len(tree.labels) / tree.n_labels
