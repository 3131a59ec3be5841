"""Teaches a network with torch. Nothing else here imports it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.arrays.rows import Features, Floats, Sparse
from labelwood.errors import LabelwoodError
from labelwood.groups.multi_instance.bags import Bags, ranges, rows_of
from labelwood.groups.multi_instance.network import Loss, Network

_SHARE = 0.5  # of a device's free memory that rows may take; the rest is for what training computes
# What is learned. Decay is for weights only: a bias that shrinks says nothing about how simple a network is.
_WEIGHTS, _BIASES = ("hidden_weights", "concept_weights"), ("hidden_bias", "concept_bias")


def check_torch() -> None:
    """Raises `LabelwoodError` if torch is not installed.

    Example:
        >>> check_torch()
    """
    if find_spec("torch") is None:
        raise LabelwoodError(
            "a multi-instance network learns with torch, which is not installed: pip install 'labelwood[deep]'"
        )


@dataclass
class Course:
    """How to learn, and how far it has come.

    Example:
        >>> Course(epochs=3, batch_size=8).loss
        'softmax'
    """

    epochs: int
    batch_size: int
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    loss: Loss = "softmax"
    seed: int = 0
    done: int = 0  # steps, of `total`, for whoever shows progress
    total: int = 0


def epochs(
    network: Network, bags: Bags, Y: Sparse, *, weights: Floats, course: Course, device: Any
) -> Iterator[Network]:
    """Learns, and yields the network after each epoch.

    `Y` has a row a bag, with counts of labels; `weights` say how much bags count, and may be empty.

    Example:
        >>> from labelwood.groups.multi_instance.bags import as_bags
        >>> from labelwood.arrays.rows import from_dense
        >>> eye = np.eye(2, dtype=np.float32)
        >>> start = Network.random(n_features=2, hidden=4, concepts=1, n_labels=2, seed=0)
        >>> how = {"weights": np.empty(0, np.float32), "course": Course(epochs=3, batch_size=2), "device": "cpu"}
        >>> len(list(epochs(start, as_bags(eye), from_dense(eye), **how)))
        3
    """
    import torch

    learned = _tensors(network, course.loss, device)
    groups = [
        {"params": [p for name, p in learned.items() if name in _WEIGHTS], "weight_decay": course.weight_decay},
        {"params": [p for name, p in learned.items() if name not in _WEIGHTS], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=course.learning_rate)
    forward = Forward(learned, _hot_embeddings(network, device), network.affinity)
    take, targets = taker(bags.rows, device), _targets(Y, course.loss)
    rng = np.random.default_rng([course.seed, 1])  # numbers other than those the weights began with
    all_sizes = bags.sizes
    course.total = course.epochs * -(-len(bags) // course.batch_size)
    for _ in range(course.epochs):
        shuffled = rng.permutation(len(bags))
        for at in range(0, len(bags), course.batch_size):
            batch = shuffled[at : at + course.batch_size]
            sizes = all_sizes[batch]
            logits = forward(take(bags.order[ranges(bags.starts[batch], sizes)]), sizes)
            losses = _losses(logits, torch.from_numpy(targets(batch)).to(device), course.loss)
            if len(weights):
                losses = losses * torch.from_numpy(weights[batch]).to(device)
            optimiser.zero_grad()
            losses.mean().backward()
            optimiser.step()
            course.done += 1
        yield _checked(replace(network, **{n: p.detach().cpu().numpy().copy() for n, p in learned.items()}), course)


@dataclass(frozen=True)
class Forward:
    """The network as torch computes it: from the rows of some bags, one after the other, to the bags' logits."""

    learned: dict[str, Any]
    hot: Any  # τ L, or None where M is 1
    affinity: str = "cosine"

    def __call__(self, rows: Any, sizes: NDArray[np.int64]) -> Any:
        """Ŷ with offsets, bags × labels."""
        scores = self.instance_scores(rows)
        offsets = self.learned.get("offsets", 0)
        if len(sizes) and (sizes == sizes[0]).all():
            shape = len(sizes), int(sizes[0]), -1
            scores = scores.view(shape)
            if self.hot is not None:
                scores = scores * (int(sizes[0]) * self._heat(rows).view(shape).softmax(dim=1))
            return scores.amax(dim=1) + offsets
        return self._padded(scores, rows, sizes) + offsets

    def instance_scores(self, rows: Any) -> Any:
        """V2."""
        w = self.learned
        inner = (rows @ w["hidden_weights"] + w["hidden_bias"]).relu()
        outer = inner @ w["concept_weights"].flatten(1) + w["concept_bias"].flatten()
        return outer.relu().view(-1, *w["concept_bias"].shape).amax(dim=1)

    def _heat(self, rows: Any) -> Any:
        """τ X Lᵀ."""
        import torch

        if self.affinity == "cosine":
            rows = torch.nn.functional.normalize(rows, dim=1)
        return rows @ self.hot.T

    def _padded(self, scores: Any, rows: Any, sizes: NDArray[np.int64]) -> Any:
        """Ŷ of bags of different sizes: the scores, not the rows, are filled up to the largest."""
        import torch

        real = torch.from_numpy(np.arange(sizes.max()) < sizes[:, None]).to(scores.device)[:, :, None]

        def filled(values: Any, other: float) -> Any:
            space = torch.full((*real.shape[:2], values.shape[1]), other, device=values.device)
            return space.masked_scatter(real, values)

        scores = filled(scores, 0.0)
        if self.hot is not None:
            counts = torch.from_numpy(sizes).to(scores)[:, None, None]
            scores = scores * (counts * filled(self._heat(rows), -torch.inf).softmax(dim=1))
        return scores.masked_fill(~real, -torch.inf).amax(dim=1)


def taker(rows: Features, device: Any) -> Callable[[NDArray[np.int64]], Any]:
    """A function that gives some of the rows as a dense tensor on the device.

    Dense rows move to a GPU once if there is room; otherwise, and if they are sparse, a batch at a time.

    Example:
        >>> taker(np.eye(3, dtype=np.float32), "cpu")(np.array([2])).tolist()
        [[0.0, 0.0, 1.0]]
    """
    import torch

    device = torch.device(device)
    if isinstance(rows, Sparse):
        return lambda which: torch.from_numpy(rows_of(rows, which).to_scipy().toarray()).to(device)  # type: ignore[union-attr]
    if device.type == "cuda" and rows.nbytes < _SHARE * torch.cuda.mem_get_info(device)[0]:
        there = torch.tensor(rows, device=device)
        return lambda which: there[torch.from_numpy(which).to(device)]
    return lambda which: torch.from_numpy(rows[which]).to(device)


def _tensors(network: Network, loss: Loss, device: Any) -> dict[str, Any]:
    import torch

    # With the softmax loss all labels' offsets could rise together without a change: there are none.
    names = (*_WEIGHTS, *_BIASES, *(("offsets",) if loss == "sigmoid" else ()))
    return {n: torch.tensor(getattr(network, n), device=device, requires_grad=True) for n in names}


def _hot_embeddings(network: Network, device: Any) -> Any:
    import torch

    if not network.attends:
        return None
    assert network.embeddings is not None
    return torch.tensor(np.float32(network.temperature) * network.embeddings, device=device)


def _targets(Y: Sparse, loss: Loss) -> Callable[[NDArray[np.int64]], Floats]:
    """What the bags of a batch should come to: shares of labels that add up to one, or a one for each label."""
    counts = Y.to_scipy()
    if loss == "sigmoid":
        return lambda batch: np.sign(counts[batch].toarray())
    sums = np.maximum(counts.sum(axis=1), 1e-9).astype(np.float32)
    return lambda batch: counts[batch].toarray() / sums[batch, None]


def _losses(logits: Any, targets: Any, loss: Loss) -> Any:
    import torch

    if loss == "softmax":
        return -(targets * logits.log_softmax(dim=1)).sum(dim=1)
    pairs = torch.nn.functional.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    return pairs.sum(dim=1)


def _checked(network: Network, course: Course) -> Network:
    if not all(np.isfinite(getattr(network, name)).all() for name in (*_WEIGHTS, *_BIASES, "offsets")):
        raise LabelwoodError(f"training with learning_rate={course.learning_rate} ran away: give a smaller one")
    return network
