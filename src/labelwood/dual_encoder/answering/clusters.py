"""Clusters of equal size, by repeated halving, on the device of the vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from labelwood.dual_encoder.model.encoder import unit

Ids = NDArray[np.int64]
_MOST_ROUNDS = 20
_TOLERANCE = 1e-4  # smallest gain in the mean cosine between vectors and the mean of their half that counts


def clusters(vectors: Any, n_levels: int, *, seed: int) -> tuple[Ids, Ids]:
    """The numbers of vectors, cluster after cluster, and where each cluster starts, with the end of the last.

    There are 2^`n_levels` clusters, or as many as vectors; their sizes differ by at most one. All nodes of a level are
    halved at the same time, by balanced spherical 2-means.

    Example:
        >>> members, starts = clusters(torch.tensor([[1.0, 0], [0, 1.0], [0.9, 0.1], [0.1, 0.9]]), 1, seed=0)
        >>> sorted(sorted(some.tolist()) for some in np.split(members, starts[1:-1]))
        [[0, 2], [1, 3]]
    """
    n = len(vectors)
    generator = torch.Generator().manual_seed(seed)
    rows = torch.cat([unit(vectors), vectors.new_zeros(1, vectors.shape[1])])  # the last row is padding for nodes
    order = torch.full((1, -(-n // (1 << n_levels)) << n_levels), n, device=rows.device)
    order[0, :n] = torch.arange(n)
    sizes = torch.tensor([n], device=rows.device)
    for _ in range(n_levels):
        order, sizes = _split_nodes(rows, order, sizes, generator)
    sizes = sizes[sizes > 0].cpu().numpy()
    return order[order < n].cpu().numpy(), np.concatenate([[0], np.cumsum(sizes)])


def _split_nodes(rows: Any, order: Any, sizes: Any, generator: Any) -> tuple[Any, Any]:
    """Splits each node in two. A row of `order` has the members of a node, padded with the number of the last row."""
    members, half = rows[order], -(-sizes // 2)
    total = members.sum(dim=1)
    a, b = _random_pairs(sizes, generator)
    nodes = torch.arange(len(order), device=rows.device)
    ranked = _rank_members(members, members[nodes, a] - members[nodes, b], sizes)
    best = -1.0
    for _ in range(_MOST_ROUNDS):
        first = _sum_of_first(members, ranked, half)
        second = total - first
        mean_cosine = float((first.norm(dim=1) + second.norm(dim=1)).sum()) / (len(rows) - 1)
        if mean_cosine <= best + _TOLERANCE:
            break
        best, ranked = mean_cosine, _rank_members(members, unit(first) - unit(second), sizes)
    return _split_by_rank(order.gather(1, ranked), sizes, half, len(rows) - 1)


def _random_pairs(sizes: Any, generator: Any) -> tuple[Any, Any]:
    """The places of two different random members of each node; twice the same if it has only one."""
    chances = torch.rand(2, len(sizes), generator=generator, dtype=torch.float64).to(sizes.device)
    a = (chances[0] * sizes).long()
    b = a + 1 + (chances[1] * (sizes - 1)).long()
    return a, b % sizes.clamp(min=1)


def _rank_members(members: Any, direction: Any, sizes: Any) -> Any:
    """The places of each node's members, sorted by their product with its direction; padding comes last."""
    along = torch.bmm(members, direction[:, :, None])[:, :, 0]
    places = torch.arange(members.shape[1], device=members.device)
    along = along.masked_fill(places >= sizes[:, None], -torch.inf)
    return along.sort(dim=1, descending=True, stable=True).indices


def _sum_of_first(members: Any, ranked: Any, half: Any) -> Any:
    """The sum of the first half of each node's members."""
    places = torch.arange(members.shape[1], device=members.device)
    is_first = members.new_zeros(ranked.shape).scatter(1, ranked, (places < half[:, None]).to(members))
    return torch.bmm(is_first[:, None, :], members)[:, 0]


def _split_by_rank(by_rank: Any, sizes: Any, half: Any, filler: int) -> tuple[Any, Any]:
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
