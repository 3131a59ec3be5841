"""Shared parts of the losses over triplets of a row, a positive and a negative."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

NO_VIOLATION = -50.0  # replaces the similarity of a triplet without loss in the softmax, so that its weight is zero
NO_LOSS = -100.0  # the same for a softmax over losses


class Triplets(NamedTuple):
    """The hardest negatives of each row, combined with each of its positives.

    Example:
        >>> truth = torch.tensor([[True, False, False]])
        >>> found = triplets(torch.tensor([[0.5, 0.1, 0.4]]), truth, torch.tensor([[0]]), n_negatives=1)
        >>> [round(x, 2) for x in found.gaps.flatten().tolist()]
        [0.1]
    """

    gaps: Any  # s_p − s_n, rows × P × negatives
    negatives: Any  # s_n, rows × 1 × negatives
    real: Any  # rows × 1 × negatives; False if a row has fewer negatives


def triplets(similarities: Any, truth: Any, positives: Any, *, n_negatives: int) -> Triplets:
    """The `n_negatives` most similar columns of each row that are not true answers.

    Example:
        >>> truth = torch.tensor([[True, True, False]])
        >>> triplets(torch.tensor([[0.5, 0.9, 0.4]]), truth, torch.tensor([[0]]), n_negatives=2).real.tolist()
        [[[True, False]]]
    """
    k = min(n_negatives, similarities.shape[1])
    with torch.no_grad():
        masked = similarities.masked_fill(truth, -torch.inf)
        best, columns = masked.topk(k, dim=1)
    negatives = similarities.gather(1, columns)[:, None, :]
    chosen = similarities.gather(1, positives)[:, :, None]
    return Triplets(chosen - negatives, negatives, torch.isfinite(best)[:, None, :])


def dynamic_hinge(gaps: Any, margin_min: float, margin_max: float) -> Any:
    """A hinge whose margin is the distance |s_p − s_n| itself, clipped to [`margin_min`, `margin_max`], detached.

    Example:
        >>> [round(x, 4) for x in dynamic_hinge(torch.tensor([0.2, 0.05, -0.2, -0.5]), 0.1, 0.3).tolist()]
        [0.0, 0.05, 0.4, 0.8]
    """
    return (gaps.detach().abs().clamp(margin_min, margin_max) - gaps).relu()


def reduced(losses: Any, found: Triplets, *, weighting: str, temperature: float, detach_weights: bool) -> Any:
    """Reduces losses to one number: the mean over rows of the weighted losses of their triplets.

    The weights of a positive's triplets are a softmax:

    - ``violators``: over the similarities of negatives with a loss; weighted losses are added up (PRIME).
    - ``masked``: over the similarities, with 0 for negatives without a loss; the mean over triplets is taken (NGAME).
    - ``losses``: over the positive losses themselves, without a temperature; the same mean (NGAME's classifiers).
    - ``mean``: no softmax; all triplets have the same weight.

    Example:
        >>> truth = torch.tensor([[True, False, False]])
        >>> found = triplets(torch.tensor([[0.5, 0.1, 0.4]]), truth, torch.tensor([[0]]), n_negatives=2)
        >>> losses = (0.3 - found.gaps).relu()
        >>> round(reduced(losses, found, weighting="violators", temperature=0.1, detach_weights=False).item(), 4)
        0.2
    """
    losses = losses.masked_fill(~found.real, 0.0)
    violated = losses.detach() > 0
    if weighting == "violators":
        weights = (found.negatives.masked_fill(~violated, NO_VIOLATION) / temperature).softmax(dim=2)
    elif weighting == "masked":
        logits = (found.negatives * violated).masked_fill(~found.real, NO_VIOLATION)
        weights = (logits / temperature).softmax(dim=2) / found.real.sum(dim=2, keepdim=True).clamp(min=1)
    elif weighting == "losses":
        weights = losses.masked_fill(~violated, NO_LOSS).softmax(dim=2)
        weights = weights / found.real.sum(dim=2, keepdim=True).clamp(min=1)
    else:
        weights = found.real / found.real.sum(dim=2, keepdim=True).clamp(min=1)
    if detach_weights:
        weights = weights.detach()
    return (weights * losses).sum(dim=(1, 2)).mean()
