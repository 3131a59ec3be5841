"""The losses of dual encoders, one per file.

Every loss that `make_loss` returns is called as ``loss(similarities, truth, positives)``: similarities, rows × columns;
whether a column is a true answer of a row; and the columns of the sampled positives (rows × P). True answers are never
negatives, whether they were sampled or not. Losses have no state. They are means over rows, and sums over a row's P
positives. A row without a negative costs nothing. `regulariser` is added to a loss by the objective;
`hardest_triplets` trains the classifiers on top of an encoder.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from labelwood.dual_encoder.settings import LossSettings
from labelwood.dual_encoder.training.losses.decoupled_softmax import decoupled_softmax
from labelwood.dual_encoder.training.losses.dynamic_margin import dynamic_margin
from labelwood.dual_encoder.training.losses.fixed_margin import fixed_margin
from labelwood.dual_encoder.training.losses.hardest_triplets import hardest_triplets
from labelwood.dual_encoder.training.losses.in_batch_softmax import in_batch_softmax
from labelwood.dual_encoder.training.losses.inverted_margin import inverted_margin
from labelwood.dual_encoder.training.losses.regulariser import regulariser

__all__ = [
    "decoupled_softmax",
    "dynamic_margin",
    "fixed_margin",
    "hardest_triplets",
    "in_batch_softmax",
    "inverted_margin",
    "make_loss",
    "regulariser",
]

Loss: TypeAlias = Callable[[Any, Any, Any], Any]


def make_loss(settings: LossSettings) -> Loss:
    """The loss that the settings name.

    Example:
        >>> import torch
        >>> loss = make_loss(LossSettings(kind="fixed", margin=0.5, weighting="mean"))
        >>> round(loss(torch.tensor([[0.6, 0.3]]), torch.tensor([[True, False]]), torch.tensor([[0]])).item(), 4)
        0.2
    """
    s = settings
    margins: dict[str, Any] = {"margin_min": s.margin_min, "margin_max": s.margin_max}
    of_triplets: dict[str, Any] = {
        "n_negatives": s.negatives,
        "weighting": s.weighting,
        "temperature": s.temperature,
        "detach_weights": s.detach_weights,
    }
    losses: dict[str, Loss] = {
        "dynamic": partial(dynamic_margin, **margins, **of_triplets),
        "inverted": partial(inverted_margin, **margins, **of_triplets),
        "fixed": partial(fixed_margin, margin=s.margin, **of_triplets),
        "decoupled": partial(decoupled_softmax, temperature=s.temperature),
        "softmax": partial(in_batch_softmax, temperature=s.temperature),
    }
    return losses[s.kind]
