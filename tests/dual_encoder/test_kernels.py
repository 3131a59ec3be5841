"""Kernels give the same values and gradients as torch; without a GPU, Triton's interpreter runs them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

pytestmark = pytest.mark.deep

pytest.importorskip("triton", reason="is not made for this machine")

ATTENTION = """
import torch
from torch.nn.functional import scaled_dot_product_attention
from labelwood.dual_encoder.gpu.kernels.short_attention import short_attention

torch.manual_seed(0)
# The interpreter treats bfloat16 as whole numbers; GPUs round single precision in products.
TYPES = {torch.float16: 1e-2} | ({torch.float32: 1e-5} if DEVICE == "cpu" else {torch.bfloat16: 6e-2})
for width, sizes in ((32, [1, 16, 17, 5, 32]), (32, [40, 64, 3, 0, 12]), (16, [128, 70, 1, 33]), (64, [9])):
    for dtype, close in TYPES.items():
        bounds = torch.tensor([0, *sizes]).cumsum(0).int()
        given = [torch.randn(sum(sizes), 3, width, dtype=dtype, requires_grad=True) for _ in range(3)]
        gradient = torch.randn(sum(sizes), 3, width, dtype=dtype)
        found = short_attention(*given, bounds, max(sizes), 0.2)
        found.backward(gradient)
        exact = [tensor.detach().float().requires_grad_() for tensor in given]
        texts = zip(*(tensor.split(sizes) for tensor in exact))
        turned = ([tensor.transpose(0, 1) for tensor in text] for text in texts)
        expected = torch.cat([scaled_dot_product_attention(*text, scale=0.2).transpose(0, 1) for text in turned])
        expected.backward(gradient.float())
        for a, b in zip([found, *(t.grad for t in given)], [expected, *(t.grad for t in exact)]):
            assert torch.allclose(a.float(), b, atol=close), (width, sizes, dtype)
"""

# The cases include a row without negatives, a row with too few of them, and positives that are drawn twice.
LOSSES = """
from itertools import product

import torch
from labelwood.dual_encoder.gpu.kernels.fused_losses import fused_regulariser, fused_triplets
from labelwood.dual_encoder.training.losses import decoupled_softmax, make_loss, regulariser
from labelwood.dual_encoder.settings import LossSettings

def alike(found, expected, tensors, case):
    assert torch.allclose(found, expected, atol=1e-5), case
    gradients = zip(*(torch.autograd.grad(1.7 * number, tensors) for number in (found, expected)))
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in gradients), case

torch.manual_seed(0)
KINDS, WEIGHTINGS = ("dynamic", "fixed", "inverted"), ("violators", "masked", "mean")
for shape in ((6, 40, 1), (5, 7, 2), (3, 17, 3)):
    rows, columns, n_positives = shape
    by_text, by_prototype = (torch.randn(rows, columns).mul(0.2).requires_grad_() for _ in range(2))
    positives = torch.randint(columns, (rows, n_positives))
    positives[1] = 0
    truth = (torch.rand(rows, columns) < 0.15).scatter(1, positives, True)
    truth[0] = True
    truth[1, :-2], truth[1, -2:] = True, False
    for case in product(KINDS, WEIGHTINGS, (False, True), (0.0, 0.1)):
        kind, weighting, detach, anchor = case
        settings = LossSettings(kind=kind, weighting=weighting, detach_weights=detach)
        found = fused_triplets(by_text, truth, positives, settings, anchor=anchor, anchor_temperature=0.05)
        expected = make_loss(settings)(by_text, truth, positives)
        softmax = decoupled_softmax(by_text, truth, positives, temperature=0.05)
        alike(found, expected + anchor * softmax, [by_text], (shape, case))
    how = {"margin": 0.1, "n_negatives": 10}
    both = [by_text, by_prototype]
    alike(*(f(*both, truth, positives, **how) for f in (fused_regulariser, regulariser)), both, shape)
"""


OBJECTIVE = """
import torch
from labelwood.dual_encoder.gpu import kernels
from labelwood.dual_encoder.training import objective
from labelwood.dual_encoder.gpu.kernels import fused_losses
from labelwood.dual_encoder.settings import PrimeSettings

place = torch.zeros(0).device
assert kernels.gives_what_torch_gives(place)
torch.manual_seed(0)
rows = torch.arange(6)
relations = objective.Relations(torch.eye(6, 9, dtype=torch.bool), rows[:, None], rows)
vectors = [torch.nn.functional.normalize(torch.randn(n, 5)).requires_grad_() for n in (6, 9, 9)]
found, launched = [], []
kernel = fused_losses._Relation.apply
fused_losses._Relation.apply = lambda *given: launched.append(1) or kernel(*given)
for fuses in (False, True):
    kernels._tried[place] = fuses
    total, parts = objective.Objective(PrimeSettings())(*vectors, relations)
    gradients = torch.autograd.grad(total, vectors)
    found.append([total.detach(), *(parts[name].detach() for name in sorted(parts)), *gradients])
    assert len(launched) == 3 * fuses
assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(*found))
wide, few = torch.zeros(1, 8193), torch.zeros(1, 1).long()
assert kernels.can_fuse(wide[:, 1:], few, 32)
assert not kernels.can_fuse(wide, few, 32) and not kernels.can_fuse(wide[:, 1:], few, 33)
assert not kernels.can_fuse(wide[:, 1:], few.expand(1, 9), 32)
fused_losses._Relation.apply = lambda *given: kernel(*given) + 1
assert not kernels.gives_what_torch_gives(place), "other numbers"
fused_losses._Relation.apply = None
assert not kernels.gives_what_torch_gives(place), "an error"
"""
SCRIPTS = {"attention": ATTENTION, "losses": LOSSES, "objective": OBJECTIVE}


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_values_and_gradients_equal_those_of_torch(name, device):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    run_script(SCRIPTS[name], device=device, interpreted=device == "cpu")


def run_script(script, *, device, interpreted):
    """Runs in a separate process: whether kernels are interpreted is decided when Triton is imported."""
    first = f"DEVICE = {device!r}\nimport torch\ntorch.set_default_device(DEVICE)\n"
    run = subprocess.run(
        [sys.executable, "-c", first + script + "print('done')"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "TRITON_INTERPRET": str(int(interpreted)), "PYTHONPATH": ":".join(sys.path)},
    )
    assert run.stdout.strip() == "done", run.stderr


ALIGNMENT = """
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.runtime.jit import create_function_from_signature
from labelwood.dual_encoder.gpu.kernels.fused_losses import _regulariser_kernel, _relation_kernel

for kernel in (_relation_kernel, _regulariser_kernel):
    bind = create_function_from_signature(kernel.signature, kernel.params, CUDABackend(GPUTarget("cuda", 90, 32)))
    kinds = set()
    for first in (0, 1):  # numbers have eight bytes, so the second is not aligned to sixteen
        given = {p.name: 16 if p.is_constexpr else torch.zeros(16) for p in kernel.params}
        given["positives"] = torch.arange(16)[first:]
        kinds.add(str(bind(**given)[1]))
    assert len(kinds) == 1
"""


def test_kernels_are_not_compiled_again_for_another_alignment():
    run_script(ALIGNMENT, device="cpu", interpreted=False)
