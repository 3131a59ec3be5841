"""Chooses the precision: half precision if the device has fast products for it, otherwise single precision."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

_BF16_FEATURES = ("avx512_bf16", "amx_bf16")  # without these, half precision is slower on a CPU


def half_for(precision: str, device: Any) -> Any:
    """The torch type for training with a setting of `precision`; None for single precision.

    Example:
        >>> half_for("bf16", "cuda"), half_for("fp16", "cpu"), half_for("fp32", "cuda")
        (torch.bfloat16, None, None)
    """
    kinds = {"bf16": torch.bfloat16} if _cpu_has_bf16() else {}
    if torch.device(device).type == "cuda":
        kinds = {"bf16": torch.bfloat16, "fp16": torch.float16}
    return kinds.get(precision)


@cache
def _cpu_has_bf16() -> bool:
    """Whether the CPU has fast products of bf16; False if torch is too old to know."""
    known: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(known.get(name, False) for name in _BF16_FEATURES)
