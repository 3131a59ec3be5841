"""Computes a network's scores for instances and bags in NumPy: answers need no torch.

    V1 = ReLU(ReLU(X W + b) U + c)       instances × concepts × labels
    V2 = max of V1 over concepts         instances × labels
    M  = g · softmax(τ X Lᵀ)             instances × labels, the softmax over the g instances of a bag
    Ŷ  = max of V2 ⊙ M over instances    one number per label

Without label embeddings L, with τ = 0, or for a bag of one instance, M is 1 and this is Deep-MIML.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from labelwood import _native
from labelwood.arrays.rows import Features, Floats, Sparse, shape_of
from labelwood.arrays.topk import TopK
from labelwood.contract.limits import Limits
from labelwood.groups.multi_instance.bags import Bags, rows_of

Loss: TypeAlias = Literal["softmax", "sigmoid"]
_BLOCK = 32  # rows whose scores of all concepts are in memory at a time
_LOWEST = float(np.finfo(np.float32).min)
_CHUNK = 1 << 10  # instances that are scored together; a larger bag is scored alone


@dataclass(frozen=True)
class Network:
    """The weights, and label embeddings for attention to instances.

    Example:
        >>> network = Network.random(n_features=3, hidden=4, concepts=2, n_labels=5, seed=0)
        >>> network.instance_scores(np.ones((2, 3), np.float32)).shape
        (2, 5)
    """

    hidden_weights: Floats  # features × hidden
    hidden_bias: Floats
    concept_weights: Floats  # hidden × concepts × labels
    concept_bias: Floats  # concepts × labels
    offsets: Floats  # one number per label, added to Ŷ; zeros if the loss is softmax
    embeddings: Floats | None = None  # labels × features
    temperature: float = 0.0
    affinity: Literal["cosine", "product"] = "cosine"

    @classmethod
    def random(cls, *, n_features: int, hidden: int, concepts: int, n_labels: int, seed: int) -> Network:
        """A network with random weights, without label embeddings."""
        rng = np.random.default_rng(seed)

        def layer(n_in: int, *out: int) -> Floats:
            weights: Floats = (2 * rng.random((n_in, *out), np.float32) - 1) * np.float32(n_in**-0.5)
            return weights

        return cls(
            hidden_weights=layer(n_features, hidden),
            hidden_bias=np.zeros(hidden, np.float32),
            concept_weights=layer(hidden, concepts, n_labels),
            # Above zero, so that no label starts where ReLU is flat and has no gradient.
            concept_bias=np.full((concepts, n_labels), 0.1, np.float32),
            offsets=np.zeros(n_labels, np.float32),
        )

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return len(self.offsets)

    @property
    def attends(self) -> bool:
        """Whether there is attention: whether M can differ from 1."""
        return self.embeddings is not None and self.temperature > 0

    def instance_scores(self, rows: Features, n_threads: int = 1) -> Floats:
        """V2: how well each label fits each row."""
        weights = self.concept_weights.reshape(len(self.hidden_bias), -1)

        def block_scores(block: Floats) -> Floats:
            inner = np.maximum(product(block, self.hidden_weights, n_threads) + self.hidden_bias, 0)
            outer = product(inner, weights, n_threads).reshape(-1, *self.concept_bias.shape)
            outer = np.maximum(outer + self.concept_bias, 0)
            best: Floats = outer.max(axis=1)
            return best

        return _in_blocks(rows, self.n_labels, block_scores)

    def affinities(self, rows: Features, n_threads: int = 1) -> Floats:
        """X Lᵀ, with rows scaled to unit length if the affinity is the cosine."""
        assert self.embeddings is not None
        columns = np.ascontiguousarray(self.embeddings.T)
        if self.affinity == "product":
            return _in_blocks(rows, self.n_labels, lambda block: product(block, columns, n_threads))
        return _in_blocks(rows, self.n_labels, lambda block: product(unit(block), columns, n_threads))

    def bag_scores(self, bags: Bags, first: int, last: int, n_threads: int = 1) -> Floats:
        """Ŷ of the bags from `first` to before `last`."""
        starts, sizes = bags.starts[first:last], bags.sizes[first:last]
        rows = rows_of(bags.rows, bags.order[bags.starts[first] : bags.starts[last]])
        scores = self.instance_scores(rows, n_threads)
        if self.attends:
            scores *= self._mask(self.affinities(rows, n_threads), starts - starts[0], sizes)
        best: Floats = np.maximum.reduceat(scores, starts - starts[0], axis=0)
        return best

    def _mask(self, affinities: Floats, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Floats:
        """M: the softmax over each bag's instances, times their number."""
        hot = np.float32(self.temperature) * affinities
        hot = np.exp(hot - np.repeat(np.maximum.reduceat(hot, starts, axis=0), sizes, axis=0))
        shares: Floats = hot / np.repeat(np.add.reduceat(hot, starts, axis=0), sizes, axis=0)
        return shares * np.repeat(sizes, sizes)[:, None].astype(np.float32)

    def rows_topk(self, rows: Features, k: int, limits: Limits, loss: Loss, n_threads: int) -> TopK:
        """The best labels of single rows."""
        parts = [np.arange(at, min(at + _CHUNK, shape_of(rows)[0])) for at in range(0, shape_of(rows)[0], _CHUNK)]
        scores = (self.instance_scores(rows_of(rows, part), n_threads) for part in parts)
        return _concatenate([top_labels(part + self.offsets, k, limits, loss) for part in scores], k)

    def bags_topk(self, bags: Bags, k: int, limits: Limits, loss: Loss, n_threads: int) -> TopK:
        """The best labels of whole bags."""
        tops, first = [], 0
        while first < len(bags):
            last = max(first + 1, int(np.searchsorted(bags.starts, bags.starts[first] + _CHUNK, side="right")) - 1)
            tops.append(top_labels(self.bag_scores(bags, first, last, n_threads) + self.offsets, k, limits, loss))
            first = last
        return _concatenate(tops, k)


def unit(rows: Floats) -> Floats:
    """Rows scaled to unit length; a row of zeros does not change.

    Example:
        >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)).tolist()
        [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths: Floats = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    lengths[lengths == 0] = 1
    return rows / lengths


def top_labels(logits: Floats, k: int, limits: Limits, loss: Loss) -> TopK:
    """The k labels with the largest logits of each row, with their probabilities as scores.

    Example:
        >>> from labelwood.contract.limits import NO_LIMITS
        >>> top_labels(np.array([[0.0, 2.0, -1.0]], np.float32), 2, NO_LIMITS, "sigmoid").ids
        array([[1, 0]], dtype=int32)
    """
    is_number = ~np.isnan(logits)
    if not np.isfinite(logits).all():  # weights so large that their sums overflow
        logits = np.nan_to_num(logits, nan=_LOWEST, posinf=-_LOWEST, neginf=_LOWEST)
    probabilities = _probabilities(logits, loss)
    excluded = (probabilities < limits.min_score) | ~is_number
    if len(limits.allowed):
        excluded |= limits.allowed == 0
    # Sorted by logits, because probabilities near one round to the same number.
    ids = np.argsort(np.where(excluded, np.inf, -logits), axis=1, kind="stable")[:, :k]
    out = np.take_along_axis(excluded, ids, axis=1)
    scores = np.take_along_axis(probabilities, ids, axis=1)
    return TopK(np.where(out, -1, ids).astype(np.int32), np.where(out, np.float32(-np.inf), scores))


def _probabilities(logits: Floats, loss: Loss) -> Floats:
    probabilities: Floats
    if loss == "sigmoid":
        small = np.exp(-np.abs(logits))  # cannot overflow
        probabilities = np.where(logits >= 0, 1, small) / (1 + small)
        return probabilities
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = powers / powers.sum(axis=1, keepdims=True)
    return probabilities


def _in_blocks(rows: Features, n_out: int, function: Callable[[Floats], Floats]) -> Floats:
    out = np.empty((shape_of(rows)[0], n_out), np.float32)
    for at in range(0, len(out), _BLOCK):
        out[at : at + _BLOCK] = function(dense(rows, at, min(at + _BLOCK, len(out))))
    return out


def product(rows: Floats, matrix: Floats, n_threads: int = 1) -> Floats:
    """Rows × a matrix. With NumPy, the last bit of a row's product would depend on the other rows.

    Example:
        >>> product(np.float32([[1, 2]]), np.float32([[3], [4]]))
        array([[11.]], dtype=float32)
    """
    return _native.dense_product(np.ascontiguousarray(rows), matrix, n_threads)


def dense(rows: Features, first: int, last: int) -> Floats:
    """The rows from `first` to before `last` as a dense array.

    Example:
        >>> dense(np.eye(3, dtype=np.float32), 1, 2)
        array([[0., 1., 0.]], dtype=float32)
    """
    part: Floats = rows.to_scipy()[first:last].toarray() if isinstance(rows, Sparse) else rows[first:last]
    return part


def _concatenate(tops: list[TopK], k: int) -> TopK:
    if not tops:
        return TopK(np.empty((0, k), np.int32), np.empty((0, k), np.float32))
    return TopK(np.concatenate([top.ids for top in tops]), np.concatenate([top.scores for top in tops]))
