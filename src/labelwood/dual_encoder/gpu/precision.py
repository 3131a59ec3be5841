"""What to compute in: half precision where the device multiplies it, single precision elsewhere."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

_MULTIPLIES_BF16 = ("avx512_bf16", "amx_bf16")  # processors that do neither take longer than for single precision


def half_for(precision: str, device: Any) -> Any:
    """The type of torch that training computes in for a setting of `precision`; None for single precision.

    Example:
        >>> half_for("bf16", "cuda"), half_for("fp16", "cpu"), half_for("fp32", "cuda")
        (torch.bfloat16, None, None)
    """
    kinds = {"bf16": torch.bfloat16} if _a_cpu_multiplies_bf16() else {}
    if torch.device(device).type == "cuda":
        kinds = {"bf16": torch.bfloat16, "fp16": torch.float16}
    return kinds.get(precision)


@cache
def _a_cpu_multiplies_bf16() -> bool:
    """Older releases of torch cannot tell."""
    known: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(known.get(name, False) for name in _MULTIPLIES_BF16)
