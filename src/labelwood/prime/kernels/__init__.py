"""What a GPU does faster in kernels of our own, written in Triton: that comes with torch where torch is made for GPUs.

Nothing here is needed: each has its like in torch, which serves elsewhere and is what tests compare it with.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

HAS_TRITON = find_spec("triton") is not None
_MOST_COLUMNS, _MOST_NEGATIVES, _MOST_POSITIVES = 8192, 32, 8  # of a row that a block of threads can hold


def can_fuse(similarities: Any, positives: Any, n_negatives: int) -> bool:
    """Whether `fused_losses` is made for similarities of this size, on the device where they are.

    Example:
        >>> import torch
        >>> can_fuse(torch.zeros(2, 3), torch.zeros(2, 1), 10)
        False
    """
    return bool(
        HAS_TRITON
        and similarities.is_cuda
        and 0 < similarities.shape[1] <= _MOST_COLUMNS
        and n_negatives <= _MOST_NEGATIVES
        and positives.shape[1] <= _MOST_POSITIVES
    )
