"""Our own attention of short texts gives what torch's gives; Triton's interpreter runs the kernels without a GPU."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("triton", reason="comes with torch for GPUs")

# In a process of its own: what interprets kernels is decided when Triton is imported.
SCRIPT = """
import torch
from torch.nn.functional import scaled_dot_product_attention
from labelwood.prime.short_attention import short_attention

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
print("alike")
"""


def test_texts_get_the_attention_and_the_gradients_that_torch_gives_them():
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={"TRITON_INTERPRET": "1", "PYTHONPATH": ":".join(sys.path)},
    )
    assert run.stdout.strip() == "alike", run.stderr
