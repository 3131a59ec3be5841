"""Classifiers on top of a trained encoder that no longer changes: a weight vector for each label (PRIME W).

They start as the prototypes, and learn from a label's rows what its text and centroid do not contain. A label without
rows keeps its prototype.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from labelwood.arrays.rows import Floats, Sparse
from labelwood.dual_encoder.data.samplers import Ids, QueryOrder, pairs_of, true_pairs
from labelwood.dual_encoder.data.tokens import on_device
from labelwood.dual_encoder.model.encoder import unit
from labelwood.dual_encoder.settings import ClusterSchedule, PrimeSettings
from labelwood.dual_encoder.training.losses.hardest_triplets import hardest_triplets
from labelwood.dual_encoder.training.objective import marked
from labelwood.errors import LabelwoodError, ParameterError

SCORES = ("fused", "prototypes", "classifiers")


class ClassifierTrainer:
    """Trains the weights from unit vectors of queries, all with a label, on the device of these vectors.

    The labels of a step are all those of its queries, and only their weights change. Pairs in `never_negative`, by
    default `Y`, are never negatives. `done`, `total` and `note` are for progress bars.

    Example:
        >>> from labelwood.arrays.rows import from_dense
        >>> settings = PrimeSettings().with_changes({"classifiers": {"epochs": 2}})
        >>> eye = np.eye(3, dtype=np.float32)
        >>> trainer = ClassifierTrainer(torch.eye(3), eye[::-1].copy(), from_dense(eye), settings)
        >>> np.linalg.norm(trainer.train(), axis=1).round(4)
        array([1., 1., 1.], dtype=float32)
    """

    def __init__(
        self,
        queries: Any,
        prototypes: Floats,
        Y: Sparse,
        settings: PrimeSettings,
        *,
        never_negative: Sparse | None = None,
    ) -> None:
        s, seed = settings.classifiers, settings.training.seed
        torch.manual_seed(seed)
        self.settings, self.queries, self.Y = s, queries, Y
        self.never_negative = Y if never_negative is None else never_negative
        first = torch.tensor(np.asarray(prototypes), device=queries.device)
        self.weights = nn.Embedding.from_pretrained(unit(first), freeze=False, sparse=True)
        self.dropout = nn.Dropout(s.dropout)
        self.adam = torch.optim.SparseAdam(list(self.weights.parameters()), lr=s.learning_rate)
        self.order = QueryOrder(len(queries), ClusterSchedule(cluster_size=s.cluster_size), seed=seed)
        if s.cluster_size > 1:
            self.order.refresh(0, queries)
        self.n_batches = -(-len(queries) // s.size)
        self.done, self.total, self.note = 0, s.epochs * self.n_batches, ""

    def train(self) -> Floats:
        """Runs all epochs; returns the weights, labels × dim, of unit length."""
        for epoch in range(self.settings.epochs):
            order = self.order.of_epoch(epoch)
            losses = [self.step(order[at : at + self.settings.size]) for at in range(0, len(order), self.settings.size)]
            self.note = f"loss {float(torch.stack(losses).mean()):.4f}"
        learned: Floats = unit(self.weights.weight.detach()).cpu().numpy()
        return learned

    def step(self, which: Ids) -> Any:
        """Learns from a batch of queries; returns its loss, which stays on the device."""
        labels = np.unique(pairs_of(self.Y, which)[1])
        found = true_pairs(self.Y, which, labels)
        kept = found if self.never_negative is self.Y else true_pairs(self.never_negative, which, labels)
        rows, columns, *places = on_device((which, labels, *found, *kept), self.queries.device)
        truth, never_negative = (marked((len(which), len(labels)), *places[at : at + 2]) for at in (0, 2))
        queries = self.dropout(self.queries[rows])
        loss = self.loss(queries @ unit(self.weights(columns)).T, truth, never_negative)
        loss.backward()
        for group in self.adam.param_groups:
            group["lr"] = self.settings.learning_rate * self.rate(self.done)
        self.adam.step()
        self.adam.zero_grad(set_to_none=True)
        self.done += 1
        return loss.detach()

    def loss(self, similarities: Any, truth: Any, never_negative: Any) -> Any:
        """What a step is to lower."""
        s = self.settings
        return hardest_triplets(
            similarities,
            truth,
            never_negative,
            margin=s.margin,
            n_positives=s.positives,
            n_negatives=s.negatives,
            weighting=s.weighting,
            temperature=s.temperature,
        )

    def rate(self, step: int) -> float:
        """The factor of the learning rate in a step, counted from 0: it rises linearly, then falls linearly to zero."""
        warm_up = min(self.settings.warm_up, self.total)
        if step < warm_up:
            return (step + 1) / warm_up
        return (self.total - step) / max(1, self.total - warm_up)


def classifier_scores(prototypes: Floats, classifiers: Floats | None, scores: str) -> Floats:
    """The vectors to search, labels × dim. "fused" is the mean of both, which also gives the mean of both scores.

    Example:
        >>> a, b = np.float32([[1, 0]]), np.float32([[0, 1]])
        >>> classifier_scores(a, b, "fused"), classifier_scores(a, None, "fused")
        (array([[0.5, 0.5]], dtype=float32), array([[1., 0.]], dtype=float32))
    """
    if scores not in SCORES:
        raise ParameterError(f"scores is {scores!r} but should be one of: {', '.join(SCORES)}")
    if scores == "prototypes" or (classifiers is None and scores == "fused"):
        return prototypes
    if classifiers is None:
        raise LabelwoodError("the model has no classifiers: set classifiers.enabled or call fit_classifiers first")
    return classifiers if scores == "classifiers" else (prototypes + classifiers) * np.float32(0.5)
