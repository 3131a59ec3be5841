"""Attention of short packed texts on GPUs: one kernel for the forward and one for the backward pass.

Torch's kernels work on tiles of 128 × 128 tokens. A title has about a dozen tokens, so nearly all of the tile is empty.
Here a whole text is in one tile, the smallest that holds it, and only inputs and outputs pass through memory.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit
def _loaded(tensor, at, real):
    return tl.load(tensor + at, mask=real, other=0.0)


@triton.jit
def _probabilities(q, k, size, scale, BLOCK: tl.constexpr):
    scores = tl.dot(q, tl.trans(k)) * scale
    scores = tl.where(tl.arange(0, BLOCK)[None, :] < size, scores, -1e30)
    found = tl.exp(scores - tl.max(scores, 1)[:, None])
    return found / tl.sum(found, 1)[:, None]


@triton.jit
def _places(start, size, head, HEADS: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    tokens = tl.arange(0, BLOCK)
    at = ((start + tokens)[:, None] * HEADS + head) * WIDTH + tl.arange(0, WIDTH)[None, :]
    return at, (tokens < size)[:, None]


@triton.jit
def _text_forward(
    Q, K, V, out, start, size, head, scale, HEADS: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr
):
    at, real = _places(start, size, head, HEADS, WIDTH, BLOCK)
    q, k, v = _loaded(Q, at, real), _loaded(K, at, real), _loaded(V, at, real)
    p = _probabilities(q, k, size, scale, BLOCK)
    tl.store(out + at, tl.dot(p.to(v.dtype), v).to(v.dtype), mask=real)


@triton.jit
def _text_backward(
    Q, K, V, G, dQ, dK, dV, start, size, head, scale, HEADS: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr
):
    at, real = _places(start, size, head, HEADS, WIDTH, BLOCK)
    q, k, v, g = _loaded(Q, at, real), _loaded(K, at, real), _loaded(V, at, real), _loaded(G, at, real)
    p = _probabilities(q, k, size, scale, BLOCK)
    tl.store(dV + at, tl.dot(tl.trans(p.to(v.dtype)), g).to(v.dtype), mask=real)
    dp = tl.dot(g, tl.trans(v))
    ds = (p * (dp - tl.sum(p * dp, 1)[:, None]) * scale).to(v.dtype)
    tl.store(dQ + at, tl.dot(ds, k).to(v.dtype), mask=real)
    tl.store(dK + at, tl.dot(tl.trans(ds), q).to(v.dtype), mask=real)


@triton.jit
def _forward(Q, K, V, out, bounds, scale, HEADS: tl.constexpr, WIDTH: tl.constexpr, LONGEST: tl.constexpr):
    head = tl.program_id(1)
    start = tl.load(bounds + tl.program_id(0)).to(tl.int64)
    size = tl.load(bounds + tl.program_id(0) + 1) - start
    if size <= 16:
        _text_forward(Q, K, V, out, start, size, head, scale, HEADS, WIDTH, 16)
    elif size <= 32:
        if LONGEST > 16:
            _text_forward(Q, K, V, out, start, size, head, scale, HEADS, WIDTH, 32)
    elif size <= 64:
        if LONGEST > 32:
            _text_forward(Q, K, V, out, start, size, head, scale, HEADS, WIDTH, 64)
    else:
        if LONGEST > 64:
            _text_forward(Q, K, V, out, start, size, head, scale, HEADS, WIDTH, 128)


@triton.jit
def _backward(Q, K, V, G, dQ, dK, dV, bounds, scale, HEADS: tl.constexpr, WIDTH: tl.constexpr, LONGEST: tl.constexpr):
    head = tl.program_id(1)
    start = tl.load(bounds + tl.program_id(0)).to(tl.int64)
    size = tl.load(bounds + tl.program_id(0) + 1) - start
    if size <= 16:
        _text_backward(Q, K, V, G, dQ, dK, dV, start, size, head, scale, HEADS, WIDTH, 16)
    elif size <= 32:
        if LONGEST > 16:
            _text_backward(Q, K, V, G, dQ, dK, dV, start, size, head, scale, HEADS, WIDTH, 32)
    elif size <= 64:
        if LONGEST > 32:
            _text_backward(Q, K, V, G, dQ, dK, dV, start, size, head, scale, HEADS, WIDTH, 64)
    else:
        if LONGEST > 64:
            _text_backward(Q, K, V, G, dQ, dK, dV, start, size, head, scale, HEADS, WIDTH, 128)


def _launch(kernel: Any, tensors: list[Any], bounds: Any, longest: int, scale: float) -> None:
    _, heads, width = tensors[0].shape
    square = max(16, triton.next_power_of_2(longest))
    warps = {16: 1, 32: 2, 64: 4, 128: 8}[square]
    grid = (len(bounds) - 1, heads)
    with torch.cuda.device_of(bounds):  # otherwise kernels run on the current GPU, which may be another one
        kernel[grid](*tensors, bounds, scale, HEADS=heads, WIDTH=width, LONGEST=square, num_warps=warps)


_SCHEMA = "(Tensor query, Tensor key, Tensor value, Tensor bounds, int longest, float scale) -> Tensor"
_BACKWARD = "(Tensor gradient, Tensor query, Tensor key, Tensor value, Tensor bounds, int longest, float scale)"


@torch.library.custom_op("labelwood::short_attention", mutates_args=(), schema=_SCHEMA)
def short_attention(query: Any, key: Any, value: Any, bounds: Any, longest: int, scale: float) -> Any:
    """Attention of tokens × heads × size within each text; text i is ``bounds[i]:bounds[i + 1]``.

    It needs half precision and has no dropout. Texts have at most `longest` tokens, and `longest` is at most 128.
    """
    tensors = [tensor.contiguous() for tensor in (query, key, value)]
    found = torch.empty_like(tensors[0])
    _launch(_forward, [*tensors, found], bounds, longest, scale)
    return found


@torch.library.custom_op(
    "labelwood::short_attention_backward", mutates_args=(), schema=_BACKWARD + " -> (Tensor, Tensor, Tensor)"
)
def _short_attention_backward(
    gradient: Any, query: Any, key: Any, value: Any, bounds: Any, longest: int, scale: float
) -> tuple[Any, Any, Any]:
    tensors = [tensor.contiguous() for tensor in (query, key, value, gradient)]
    found = [torch.empty_like(tensor) for tensor in tensors[:3]]
    _launch(_backward, [*tensors, *found], bounds, longest, scale)
    return found[0], found[1], found[2]


@short_attention.register_fake
def _(query: Any, key: Any, value: Any, bounds: Any, longest: int, scale: float) -> Any:
    return query.new_empty(query.shape)


@_short_attention_backward.register_fake
def _(gradient: Any, query: Any, key: Any, value: Any, bounds: Any, longest: int, scale: float) -> Any:
    return tuple(tensor.new_empty(tensor.shape) for tensor in (query, key, value))


def _remember(ctx: Any, inputs: Any, output: Any) -> None:
    query, key, value, bounds, ctx.longest, ctx.scale = inputs
    ctx.save_for_backward(query, key, value, bounds)


def _gradients(ctx: Any, gradient: Any) -> Any:
    return (*_short_attention_backward(gradient, *ctx.saved_tensors, ctx.longest, ctx.scale), None, None, None)


short_attention.register_autograd(_gradients, setup_context=_remember)
