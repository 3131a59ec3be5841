"""The in-batch softmax loss of dense passage retrieval (DPR)."""

from __future__ import annotations

from typing import Any

from labelwood.dual_encoder.training.losses.decoupled_softmax import MASKED


def in_batch_softmax(similarities: Any, truth: Any, positives: Any, *, temperature: float = 0.05) -> Any:
    """The cross entropy of a row's sampled positives over them and the negatives, without other true answers.

    Example:
        >>> import torch
        >>> truth = torch.tensor([[True, True, False]])
        >>> sims = torch.tensor([[0.5, 0.9, 0.5]])
        >>> round(in_batch_softmax(sims, truth, torch.tensor([[0]]), temperature=1.0).item(), 4)
        0.6931
    """
    logits = similarities / temperature
    left_out = truth.scatter(1, positives, False)
    total = logits.masked_fill(left_out, MASKED).logsumexp(dim=1, keepdim=True)
    return (total - logits.gather(1, positives)).sum(dim=1).mean()
