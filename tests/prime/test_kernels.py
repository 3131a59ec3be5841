"""Kernels give what torch gives, and its gradients; Triton's interpreter runs them without a GPU."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("triton", reason="is not made for this machine")

ATTENTION = """
import torch
from torch.nn.functional import scaled_dot_product_attention
from labelwood.prime.kernels.short_attention import short_attention

torch.manual_seed(0)
for width, sizes in ((32, [1, 16, 17, 5, 32]), (32, [40, 64, 3, 0, 12]), (16, [128, 70, 1, 33]), (64, [9])):
    for dtype, close in ((torch.float32, 1e-5), (torch.float16, 1e-2)):
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

# A row without negatives, one with fewer than asked for, and positives that are drawn twice are among them.
LOSSES = """
from itertools import product

import torch
from labelwood.prime.kernels.fused_losses import fused_regulariser, fused_triplets
from labelwood.prime.losses import decoupled_softmax, make_loss, regulariser
from labelwood.prime.settings import LossSettings

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


@pytest.mark.parametrize("script", [ATTENTION, LOSSES], ids=["attention", "losses"])
def test_numbers_and_gradients_are_those_of_torch(script):
    run = subprocess.run(  # a process of its own: whether kernels are interpreted is settled when Triton is imported
        [sys.executable, "-c", script + "print('alike')"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={"TRITON_INTERPRET": "1", "PYTHONPATH": ":".join(sys.path)},
    )
    assert run.stdout.strip() == "alike", run.stderr
