"""The dynamic margin as printed in the paper, only for ablations."""

from __future__ import annotations

from typing import Any

import torch

from labelwood.dual_encoder.training.losses.triplets import dynamic_hinge, reduced, triplets


def inverted_margin(
    similarities: Any,
    truth: Any,
    positives: Any,
    *,
    margin_min: float = 0.1,
    margin_max: float = 0.3,
    n_negatives: int = 10,
    weighting: str = "violators",
    temperature: float = 0.1,
    detach_weights: bool = False,
) -> Any:
    """Equation 3: a positive that leads by less than `margin_min` is pushed back until it does not lead.

    The loss jumps from twice `margin_min` to zero when the lead reaches `margin_min`. `dynamic_margin` does not.

    Example:
        >>> import torch
        >>> truth = torch.tensor([[True, False]])
        >>> round(inverted_margin(torch.tensor([[0.45, 0.4]]), truth, torch.tensor([[0]])).item(), 4)
        0.15
    """
    found = triplets(similarities, truth, positives, n_negatives=n_negatives)
    gaps = found.gaps
    uncertain = (gaps > 0) & (gaps < margin_min)
    losses = torch.where(uncertain, gaps + margin_min, dynamic_hinge(gaps, margin_min, margin_max))
    return reduced(losses, found, weighting=weighting, temperature=temperature, detach_weights=detach_weights)
