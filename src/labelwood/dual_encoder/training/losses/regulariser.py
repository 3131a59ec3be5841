"""The regulariser: prototypes should be better answers than the labels' texts."""

from __future__ import annotations

from typing import Any

import torch


def regulariser(
    by_text: Any, by_prototype: Any, truth: Any, positives: Any, *, margin: float = 0.1, n_negatives: int = 10
) -> Any:
    """Half of R_p + R_n (Equations 6 and 7, with the hinge that the paper omits).

    For positives, the similarity to the prototype should exceed that to the text by `margin`. For the negatives with
    the nearest prototypes, it should be lower by `margin`. Each term is a mean over the violations.

    Example:
        >>> truth, positives = torch.tensor([[True, False]]), torch.tensor([[0]])
        >>> same = torch.tensor([[0.5, 0.5]])
        >>> round(regulariser(same, same, truth, positives, margin=0.1).item(), 4)
        0.1
    """
    ahead = by_text.gather(1, positives) - by_prototype.gather(1, positives) + margin
    k = min(n_negatives, by_prototype.shape[1])
    with torch.no_grad():
        best, columns = by_prototype.masked_fill(truth, -torch.inf).topk(k, dim=1)
    behind = by_prototype.gather(1, columns) - by_text.gather(1, columns) + margin
    behind = behind.masked_fill(~torch.isfinite(best), 0.0)
    return (_mean_of_active(ahead.relu()) + _mean_of_active(behind.relu())) / 2


def _mean_of_active(values: Any) -> Any:
    return values.sum() / (values.detach() > 0).sum().clamp(min=1)
