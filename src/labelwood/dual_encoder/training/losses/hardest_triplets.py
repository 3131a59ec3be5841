"""The triplet loss of classifiers on top of an encoder, as NGAME has it."""

from __future__ import annotations

from typing import Any

import torch

from labelwood.dual_encoder.training.losses.triplets import reduced, triplets


def hardest_triplets(
    similarities: Any,
    truth: Any,
    never_negative: Any,
    *,
    margin: float = 0.2,
    n_positives: int = 3,
    n_negatives: int = 5,
    weighting: str = "losses",
    temperature: float = 0.1,
) -> Any:
    """The least similar true answers of a row should each lead its most similar negatives by `margin`.

    A column in `never_negative`, which has all true answers too, is not a negative. Other losses are given positives;
    this one takes the hardest of all that are true. The weights of triplets are those of `triplets.reduced`.

    Example:
        >>> truth = torch.tensor([[True, True, False]])
        >>> round(hardest_triplets(torch.tensor([[0.5, 0.9, 0.4]]), truth, truth, n_positives=1).item(), 4)
        0.1
    """
    with torch.no_grad():
        hardest = similarities.masked_fill(~truth, torch.inf)
        lowest, positives = hardest.topk(min(n_positives, similarities.shape[1]), dim=1, largest=False)
    found = triplets(similarities, never_negative, positives, n_negatives=n_negatives)
    found = found._replace(real=found.real & torch.isfinite(lowest)[:, :, None])
    losses = (margin - found.gaps).relu()
    return reduced(losses, found, weighting=weighting, temperature=temperature, detach_weights=False)
