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


@pytest.mark.parametrize("script", [ATTENTION], ids=["attention"])
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
