"""The decoupled softmax loss of DEXML."""

from __future__ import annotations

from typing import Any

import torch

MASKED = -1e4  # its exponential is zero, and unlike -inf it gives a valid gradient if a row has no negatives


def decoupled_softmax(similarities: Any, truth: Any, positives: Any, *, temperature: float = 0.05) -> Any:
    """The cross entropy of each positive against the negatives; positives do not compete with each other.

    It is meant for columns that are all labels. With one positive per row it equals `in_batch_softmax`.

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
