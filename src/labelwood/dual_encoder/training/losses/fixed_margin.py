"""The triplet loss of NGAME and DEXA."""

from __future__ import annotations

from typing import Any

from labelwood.dual_encoder.training.losses.triplets import reduced, triplets


def fixed_margin(
    similarities: Any,
    truth: Any,
    positives: Any,
    *,
    margin: float = 0.3,
    n_negatives: int = 10,
    weighting: str = "violators",
    temperature: float = 0.1,
    detach_weights: bool = False,
) -> Any:
    """A hinge: a positive should lead every negative by `margin` (Equation 2). For weights see `triplets.reduced`.

    Example:
        >>> import torch
        >>> truth = torch.tensor([[True, False]])
        >>> round(fixed_margin(torch.tensor([[0.2, 0.4]]), truth, torch.tensor([[0]])).item(), 4)
        0.5
    """
    found = triplets(similarities, truth, positives, n_negatives=n_negatives)
    losses = (margin - found.gaps).relu()
    return reduced(losses, found, weighting=weighting, temperature=temperature, detach_weights=detach_weights)
