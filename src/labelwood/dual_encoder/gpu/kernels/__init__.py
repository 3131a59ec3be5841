"""GPU kernels of our own, written in Triton, which comes with torch for GPUs.

They only save time: for each there is an equivalent in torch, which other devices use and tests compare with.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

_HAS_TRITON = find_spec("triton") is not None
_MIN_CAPABILITY = (8, 0)  # older GPUs have too little shared memory for texts of 128 tokens
_MOST_COLUMNS, _MOST_NEGATIVES, _MOST_POSITIVES = 8192, 32, 8  # limits of a row that a thread block can hold
_tried: dict[Any, bool] = {}


def can_run(device: Any) -> bool:
    """Whether kernels run on a device and agree with torch. This is tested once: a compiler may be missing.

    Example:
        >>> can_run("cpu")
        False
    """
    import torch

    device = torch.device(device)
    if device not in _tried:
        is_new = device.type == "cuda" and torch.cuda.get_device_capability(device) >= _MIN_CAPABILITY
        _tried[device] = _HAS_TRITON and is_new and gives_what_torch_gives(device)
    return _tried[device]


def gives_what_torch_gives(device: Any) -> bool:
    """Whether the fused losses agree with torch on a small example."""
    import torch

    from labelwood.dual_encoder.settings import LossSettings
    from labelwood.dual_encoder.training.losses import decoupled_softmax, make_loss, regulariser

    try:
        from labelwood.dual_encoder.gpu.kernels.fused_losses import fused_regulariser, fused_triplets

        with torch.inference_mode(False), torch.enable_grad():
            both = torch.arange(64.0, device=device).cos().view(2, 4, 8).requires_grad_()
            positives = torch.stack([torch.arange(4, device=device), torch.arange(4, 8, device=device)], dim=1)
            truth = torch.zeros(4, 8, device=device, dtype=torch.bool).scatter(1, positives, True)
            how: dict[str, Any] = {"margin": 0.1, "n_negatives": 3}
            found = fused_triplets(both[0], truth, positives, LossSettings(), anchor=0.1, anchor_temperature=1.0)
            expected = make_loss(LossSettings())(both[0], truth, positives)
            expected = expected + 0.1 * decoupled_softmax(both[0], truth, positives, temperature=1.0)
            found = found + fused_regulariser(both[0], both[1], truth, positives, **how)
            expected = expected + regulariser(both[0], both[1], truth, positives, **how)
            gradients = [torch.autograd.grad(loss, both)[0] for loss in (found, expected)]
        return bool(torch.allclose(found, expected, atol=1e-4) and torch.allclose(*gradients, atol=1e-4))
    except Exception:  # any failure: without a C compiler, for example, Triton cannot launch kernels
        return False


def can_fuse(similarities: Any, positives: Any, n_negatives: int) -> bool:
    """Whether `fused_losses` can handle similarities of this size on their device.

    Example:
        >>> import torch
        >>> can_fuse(torch.zeros(2, 3), torch.zeros(2, 1), 10)
        False
    """
    fits = 0 < similarities.shape[1] <= _MOST_COLUMNS and n_negatives <= _MOST_NEGATIVES
    return fits and positives.shape[1] <= _MOST_POSITIVES and can_run(similarities.device)
