"""The softmax of DEXML."""

from __future__ import annotations

from typing import Any

import torch

MASKED = -1e4  # its exponential is zero, and unlike infinity it has a gradient where a row has no negatives


def decoupled_softmax(similarities: Any, truth: Any, positives: Any, *, temperature: float = 0.05) -> Any:
    """Cross entropy of each positive by itself against the negatives: positives do not compete with each other.

    Meant for columns that are all labels; with a single positive a row it equals `in_batch_softmax`.

    Example:
        >>> truth = torch.tensor([[True, True, False]])
        >>> sims = torch.tensor([[0.5, 0.9, 0.5]])
        >>> round(decoupled_softmax(sims, truth, torch.tensor([[0]]), temperature=1.0).item(), 4)
        0.6931
    """
    logits = similarities / temperature
    against = logits.masked_fill(truth, MASKED).logsumexp(dim=1, keepdim=True)
    chosen = logits.gather(1, positives)
    return torch.nn.functional.softplus(against - chosen).sum(dim=1).mean()
