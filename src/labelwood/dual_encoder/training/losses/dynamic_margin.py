"""The adaptive triplet loss of PRIME."""

from __future__ import annotations

from typing import Any

from labelwood.dual_encoder.training.losses.triplets import dynamic_hinge, reduced, triplets


def dynamic_margin(
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
    """A hinge whose margin is the distance |s_p − s_n| itself, clipped to [`margin_min`, `margin_max`], detached.

    This is the first line of the paper's Equation 13. Its second line and Equation 3 invert a sign if the positive
    leads by less than `margin_min`; see `inverted_margin`. A margin without gradient has the gradient of a fixed one of
    `margin_min`; it only changes the triplets' weights. These have a gradient unless `detach_weights` is set.

    Example:
        >>> import torch
        >>> truth = torch.tensor([[True, False]])
        >>> round(dynamic_margin(torch.tensor([[0.2, 0.4]]), truth, torch.tensor([[0]])).item(), 4)
        0.4
    """
    found = triplets(similarities, truth, positives, n_negatives=n_negatives)
    losses = dynamic_hinge(found.gaps, margin_min, margin_max)
    return reduced(losses, found, weighting=weighting, temperature=temperature, detach_weights=detach_weights)
