"""Clusters of the same size, by halving again and again, on the device where the vectors are."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from labelwood.dual_encoder.model.encoder import unit

Ids = NDArray[np.int64]
_MOST_ROUNDS = 20
_TOLERANCE = 1e-4  # of the mean cosine between vectors and their halves' means: less than this is no gain


def clusters(vectors: Any, n_levels: int, *, seed: int) -> tuple[Ids, Ids]:
    """The numbers of vectors, cluster after cluster, and where each begins, with the end of the last.

    There are 2^`n_levels` clusters, or as many as vectors, whose sizes differ by at most one. All halves of a level are
    found at once, by spherical 2-means that keeps them equal.

    Example:
        >>> members, starts = clusters(torch.tensor([[1.0, 0], [0, 1.0], [0.9, 0.1], [0.1, 0.9]]), 1, seed=0)
        >>> sorted(sorted(some.tolist()) for some in np.split(members, starts[1:-1]))
        [[0, 2], [1, 3]]
    """
    n = len(vectors)
    generator = torch.Generator().manual_seed(seed)
    rows = torch.cat([unit(vectors), vectors.new_zeros(1, vectors.shape[1])])  # the last one fills up nodes
    order = torch.full((1, -(-n // (1 << n_levels)) << n_levels), n, device=rows.device)
    order[0, :n] = torch.arange(n)
    sizes = torch.tensor([n], device=rows.device)
    for _ in range(n_levels):
        order, sizes = _halved(rows, order, sizes, generator)
    sizes = sizes[sizes > 0].cpu().numpy()
    return order[order < n].cpu().numpy(), np.concatenate([[0], np.cumsum(sizes)])


def _halved(rows: Any, order: Any, sizes: Any, generator: Any) -> tuple[Any, Any]:
    """Twice as many nodes; `order` has the members of each in a row, filled up at its end with the last of `rows`."""
    members, half = rows[order], -(-sizes // 2)
    everything = members.sum(dim=1)
    a, b = _two_of(sizes, generator)
    nodes = torch.arange(len(order), device=rows.device)
    ranked = _ranked(members, members[nodes, a] - members[nodes, b], sizes)
    best = -1.0
    for _ in range(_MOST_ROUNDS):
        first = _sum_of_first(members, ranked, half)
        second = everything - first
        together = float((first.norm(dim=1) + second.norm(dim=1)).sum()) / (len(rows) - 1)
        if together <= best + _TOLERANCE:
            break
        best, ranked = together, _ranked(members, unit(first) - unit(second), sizes)
    return _split(order.gather(1, ranked), sizes, half, len(rows) - 1)


def _two_of(sizes: Any, generator: Any) -> tuple[Any, Any]:
    """The places of two different members of each node; the same one where there is no other."""
    chances = torch.rand(2, len(sizes), generator=generator, dtype=torch.float64).to(sizes.device)
    a = (chances[0] * sizes).long()
    b = a + 1 + (chances[1] * (sizes - 1)).long()
    return a, b % sizes.clamp(min=1)


def _ranked(members: Any, direction: Any, sizes: Any) -> Any:
    """The places of each node's members by how far they lie in its direction; what fills it up comes last."""
    along = torch.bmm(members, direction[:, :, None])[:, :, 0]
    places = torch.arange(members.shape[1], device=members.device)
    along = along.masked_fill(places >= sizes[:, None], -torch.inf)
    return along.sort(dim=1, descending=True, stable=True).indices


def _sum_of_first(members: Any, ranked: Any, half: Any) -> Any:
    """The sum of the first half of each node's members."""
    places = torch.arange(members.shape[1], device=members.device)
    is_first = members.new_zeros(ranked.shape).scatter(1, ranked, (places < half[:, None]).to(members))
    return torch.bmm(is_first[:, None, :], members)[:, 0]


def _split(by_rank: Any, sizes: Any, half: Any, filler: int) -> tuple[Any, Any]:
    width = by_rank.shape[1] // 2
    places = torch.arange(width, device=by_rank.device)
    second = half[:, None] + places
    halves = torch.stack(
        [
            by_rank[:, :width].masked_fill(places >= half[:, None], filler),
            by_rank.gather(1, second.clamp(max=by_rank.shape[1] - 1)).masked_fill(second >= sizes[:, None], filler),
        ],
        dim=1,
    )
    return halves.view(-1, width), torch.stack([half, sizes - half], dim=1).view(-1)
