"""Trains a network with torch. This is the only module here that imports torch."""

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

_GPU_SHARE = 0.5  # share of a GPU's free memory that rows may take; training needs the rest
# The parameters that are trained. Only weights decay: small biases do not make a network simpler.
_WEIGHTS, _BIASES = ("hidden_weights", "concept_weights"), ("hidden_bias", "concept_bias")


def check_torch() -> None:
    """Raises `LabelwoodError` if torch is not installed.

    Example:
        >>> check_torch()
    """
    if find_spec("torch") is None:
        raise LabelwoodError(
            "a multi-instance network needs torch to learn, which is not installed: pip install 'labelwood[deep]'"
        )


@dataclass
class Course:
    """The settings of a training, and its progress.

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
    done: int = 0  # finished steps of `total`, for a progress bar
    total: int = 0


def epochs(
    network: Network, bags: Bags, Y: Sparse, *, weights: Floats, course: Course, device: Any
) -> Iterator[Network]:
    """Trains, and yields the network after each epoch.

    `Y` has one row per bag, with counts of labels. `weights` are the weights of bags, and may be empty.

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
    forward = Forward(learned, _scaled_embeddings(network, device), network.affinity)
    take, targets = row_loader(bags.rows, device), _targets(Y, course.loss)
    rng = np.random.default_rng([course.seed, 1])  # a random stream other than that of the initial weights
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
        yield _check_finite(
            replace(network, **{n: p.detach().cpu().numpy().copy() for n, p in learned.items()}), course
        )


@dataclass(frozen=True)
class Forward:
    """The network in torch: computes logits of bags from their rows, bag after bag."""

    learned: dict[str, Any]
    scaled_embeddings: Any  # τ L, or None if M is 1
    affinity: str = "cosine"

    def __call__(self, rows: Any, sizes: NDArray[np.int64]) -> Any:
        """Ŷ with offsets, bags × labels."""
        scores = self.instance_scores(rows)
        offsets = self.learned.get("offsets", 0)
        if len(sizes) and (sizes == sizes[0]).all():
            shape = len(sizes), int(sizes[0]), -1
            scores = scores.view(shape)
            if self.scaled_embeddings is not None:
                scores = scores * (int(sizes[0]) * self._scaled_affinities(rows).view(shape).softmax(dim=1))
            return scores.amax(dim=1) + offsets
        return self._padded(scores, rows, sizes) + offsets

    def instance_scores(self, rows: Any) -> Any:
        """V2."""
        w = self.learned
        inner = (rows @ w["hidden_weights"] + w["hidden_bias"]).relu()
        outer = inner @ w["concept_weights"].flatten(1) + w["concept_bias"].flatten()
        return outer.relu().view(-1, *w["concept_bias"].shape).amax(dim=1)

    def _scaled_affinities(self, rows: Any) -> Any:
        """τ X Lᵀ."""
        import torch

        if self.affinity == "cosine":
            rows = torch.nn.functional.normalize(rows, dim=1)
        return rows @ self.scaled_embeddings.T

    def _padded(self, scores: Any, rows: Any, sizes: NDArray[np.int64]) -> Any:
        """Ŷ of bags of different sizes. Scores, not rows, are padded to the size of the largest bag."""
        import torch

        real = torch.from_numpy(np.arange(sizes.max()) < sizes[:, None]).to(scores.device)[:, :, None]

        def filled(values: Any, other: float) -> Any:
            space = torch.full((*real.shape[:2], values.shape[1]), other, device=values.device)
            return space.masked_scatter(real, values)

        scores = filled(scores, 0.0)
        if self.scaled_embeddings is not None:
            counts = torch.from_numpy(sizes).to(scores)[:, None, None]
            scores = scores * (counts * filled(self._scaled_affinities(rows), -torch.inf).softmax(dim=1))
        return scores.masked_fill(~real, -torch.inf).amax(dim=1)


def row_loader(rows: Features, device: Any) -> Callable[[NDArray[np.int64]], Any]:
    """A function that returns some of the rows as a dense tensor on the device.

    Dense rows move to a GPU at once if there is enough memory. Otherwise, and for sparse rows, each batch moves alone.

    Example:
        >>> row_loader(np.eye(3, dtype=np.float32), "cpu")(np.array([2])).tolist()
        [[0.0, 0.0, 1.0]]
    """
    import torch

    device = torch.device(device)
    if isinstance(rows, Sparse):
        return lambda which: torch.from_numpy(rows_of(rows, which).to_scipy().toarray()).to(device)  # type: ignore[union-attr]
    if device.type == "cuda" and rows.nbytes < _GPU_SHARE * torch.cuda.mem_get_info(device)[0]:
        on_gpu = torch.tensor(rows, device=device)
        return lambda which: on_gpu[torch.from_numpy(which).to(device)]
    return lambda which: torch.from_numpy(rows[which]).to(device)


def _tensors(network: Network, loss: Loss, device: Any) -> dict[str, Any]:
    import torch

    # The softmax does not change if all offsets rise together, so this loss trains no offsets.
    names = (*_WEIGHTS, *_BIASES, *(("offsets",) if loss == "sigmoid" else ()))
    return {n: torch.tensor(getattr(network, n), device=device, requires_grad=True) for n in names}


def _scaled_embeddings(network: Network, device: Any) -> Any:
    import torch

    if not network.attends:
        return None
    assert network.embeddings is not None
    return torch.tensor(np.float32(network.temperature) * network.embeddings, device=device)


def _targets(Y: Sparse, loss: Loss) -> Callable[[NDArray[np.int64]], Floats]:
    """Returns a function for the targets of a batch of bags: shares of labels with sum one, or a one for each label."""
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


def _check_finite(network: Network, course: Course) -> Network:
    if not all(np.isfinite(getattr(network, name)).all() for name in (*_WEIGHTS, *_BIASES, "offsets")):
        raise LabelwoodError(f"training with learning_rate={course.learning_rate} ran away: give a smaller one")
    return network
