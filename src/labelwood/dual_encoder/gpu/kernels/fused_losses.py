"""Losses over triplets and the regulariser for GPUs: one kernel each, instead of hundreds in torch.

A kernel loads a whole row of similarities and computes its hardest negatives, its loss and the gradient. The backward
pass only has to scale the gradient. For the definitions see `losses`.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from labelwood.dual_encoder.settings import LossSettings
from labelwood.dual_encoder.training.losses.triplets import NO_VIOLATION


@triton.jit
def _row(matrix, row, n_columns, other, WIDTH: tl.constexpr):
    places = tl.arange(0, WIDTH)
    return tl.load(matrix + row * n_columns + places, mask=places < n_columns, other=other)


@triton.jit
def _store_row(matrix, row, n_columns, values, WIDTH: tl.constexpr):
    places = tl.arange(0, WIDTH)
    tl.store(matrix + row * n_columns + places, values, mask=places < n_columns)


@triton.jit
def _hardest(negatives, K: tl.constexpr, SLOTS: tl.constexpr, WIDTH: tl.constexpr):
    """The K largest numbers and their places; −inf if there are fewer."""
    places, slots = tl.arange(0, WIDTH), tl.arange(0, SLOTS)
    best, at = tl.full((SLOTS,), float("-inf"), tl.float32), tl.zeros((SLOTS,), tl.int32)
    for slot in range(K):
        top, place = tl.max(negatives, 0, return_indices=True)
        best, at = tl.where(slots == slot, top, best), tl.where(slots == slot, place, at)
        negatives = tl.where(places == place, float("-inf"), negatives)
    return best, at


@triton.jit
def _negatives(similarities, truth, row, n_columns, K: tl.constexpr, SLOTS: tl.constexpr, WIDTH: tl.constexpr):
    """A row's similarities with −inf for true columns, and the K largest of them with their places."""
    row_truth = _row(truth, row, n_columns, 1, WIDTH)
    negatives = tl.where(row_truth != 0, float("-inf"), _row(similarities, row, n_columns, 0.0, WIDTH))
    best, at = _hardest(negatives, K, SLOTS, WIDTH)
    return negatives, best, at


@triton.jit
def _picked(values, slot, SLOTS: tl.constexpr):
    return tl.sum(tl.where(tl.arange(0, SLOTS) == slot, values, 0), 0)


@triton.jit
def _softmax(logits):
    found = tl.exp(logits - tl.max(logits, 0))
    return found / tl.sum(found, 0)


@triton.jit
def _triplets(
    gaps,
    near,
    real,
    margin_min,
    margin_max,
    temperature,
    no_violation,
    INVERTED: tl.constexpr,
    WEIGHTING: tl.constexpr,
    DETACHED: tl.constexpr,
    K: tl.constexpr,
    SLOTS: tl.constexpr,
):
    """For one positive: the loss, and its derivatives by the similarities of the positive and of the negatives."""
    margins = tl.minimum(tl.maximum(tl.abs(gaps), margin_min), margin_max)
    hinges, slopes = tl.maximum(margins - gaps, 0.0), tl.full((SLOTS,), -1.0, tl.float32)
    if INVERTED:
        uncertain = (gaps > 0) & (gaps < margin_min)
        hinges, slopes = tl.where(uncertain, gaps + margin_min, hinges), tl.where(uncertain, 1.0, slopes)
    hinges = tl.where(real, hinges, 0.0)
    violated = hinges > 0
    n_real = tl.maximum(tl.sum(real.to(tl.float32), 0), 1.0)
    by_weights = tl.zeros((SLOTS,), tl.float32)
    if WEIGHTING == "mean":
        weights = real.to(tl.float32) / n_real
    else:
        if WEIGHTING == "violators":
            logits, n = tl.where(violated, near, no_violation), 1.0
        else:
            logits, n = tl.where(real, tl.where(violated, near, 0.0), no_violation), n_real
        soft = _softmax(tl.where(tl.arange(0, SLOTS) < K, logits / temperature, float("-inf")))
        weights = soft / n
        if not DETACHED:
            from_mean = hinges - tl.sum(soft * hinges, 0)
            by_weights = tl.where(violated, weights * from_mean / temperature, 0.0)
    by_gaps = tl.where(violated, weights * slopes, 0.0)
    return tl.sum(weights * hinges, 0), tl.sum(by_gaps, 0), by_weights - by_gaps


# A batch's numbers are transferred in one block, so `positives` is aligned to sixteen bytes only in some batches.
# Without this option, Triton would compile a second kernel in the middle of training.
@triton.jit(do_not_specialize_on_alignment=["positives"])
def _relation_kernel(
    similarities,
    truth,
    positives,
    losses,
    gradients,
    n_columns,
    share,  # the weight of a row in the mean
    margin_min,
    margin_max,
    temperature,
    anchor,
    anchor_temperature,
    no_violation,
    INVERTED: tl.constexpr,
    WEIGHTING: tl.constexpr,
    DETACHED: tl.constexpr,
    ANCHORED: tl.constexpr,
    P: tl.constexpr,
    K: tl.constexpr,
    SLOTS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    places = tl.arange(0, WIDTH)
    negatives, best, at = _negatives(similarities, truth, row, n_columns, K, SLOTS, WIDTH)
    real = best > float("-inf")
    near = tl.where(real, best, 0.0)
    if ANCHORED:
        highest = tl.max(best, 0)
        highest = tl.where(highest > float("-inf"), highest, 0.0)
        shares = tl.exp((negatives - highest) / anchor_temperature)
        total = tl.sum(shares, 0)
        against = highest / anchor_temperature + tl.log(total)
        shares = shares / tl.maximum(total, 1e-30)
    loss, pull = 0.0, 0.0
    of_negatives = tl.zeros((SLOTS,), tl.float32)
    gradient = tl.zeros((WIDTH,), tl.float32)
    for p in tl.static_range(P):
        column = tl.load(positives + row * P + p)
        positive = tl.load(similarities + row * n_columns + column)
        found, of_positive, by_near = _triplets(
            positive - near,
            near,
            real,
            margin_min,
            margin_max,
            temperature,
            no_violation,
            INVERTED,
            WEIGHTING,
            DETACHED,
            K,
            SLOTS,
        )
        loss += found
        of_negatives += by_near
        if ANCHORED:
            behind = against - positive / anchor_temperature
            loss += anchor * (tl.maximum(behind, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(behind))))
            strength = anchor / (1.0 + tl.exp(-behind)) / anchor_temperature
            of_positive -= strength
            pull += strength
        gradient = tl.where(places == column, gradient + of_positive, gradient)
    for slot in range(K):
        amount = _picked(of_negatives, slot, SLOTS)
        gradient = tl.where(places == _picked(at, slot, SLOTS), gradient + amount, gradient)
    if ANCHORED:
        gradient += pull * shares
    tl.store(losses + row, loss * share)
    _store_row(gradients, row, n_columns, gradient * share, WIDTH)


@triton.jit(do_not_specialize_on_alignment=["positives"])
def _regulariser_kernel(
    by_text,
    by_prototype,
    truth,
    positives,
    sums,
    counts,
    directions,
    n_columns,
    margin,
    P: tl.constexpr,
    K: tl.constexpr,
    SLOTS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    places = tl.arange(0, WIDTH)
    _, best, at = _negatives(by_prototype, truth, row, n_columns, K, SLOTS, WIDTH)
    direction = tl.zeros((WIDTH,), tl.float32)
    ahead, n_ahead = 0.0, 0.0
    for p in tl.static_range(P):
        place = row * n_columns + tl.load(positives + row * P + p)
        missing = tl.load(by_text + place) - tl.load(by_prototype + place) + margin
        active = (missing > 0).to(tl.float32)
        ahead, n_ahead = ahead + tl.maximum(missing, 0.0), n_ahead + active
        direction = tl.where(places == place - row * n_columns, direction - active, direction)
    texts = tl.load(by_text + row * n_columns + at, mask=at < n_columns, other=0.0)  # out of range if all are NaN
    surplus = tl.where(best > float("-inf"), tl.maximum(best - texts + margin, 0.0), 0.0)
    for slot in range(K):
        active = (_picked(surplus, slot, SLOTS) > 0).to(tl.float32)
        direction = tl.where(places == _picked(at, slot, SLOTS), direction + active, direction)
    tl.store(sums + 2 * row, ahead)
    tl.store(sums + 2 * row + 1, tl.sum(surplus, 0))
    tl.store(counts + 2 * row, n_ahead)
    tl.store(counts + 2 * row + 1, tl.sum((surplus > 0).to(tl.float32), 0))
    _store_row(directions, row, n_columns, direction, WIDTH)


def _sizes(similarities: Any, positives: Any, n_negatives: int) -> dict[str, int]:
    width = max(16, triton.next_power_of_2(similarities.shape[1]))
    k = min(n_negatives, similarities.shape[1])
    slots = max(2, triton.next_power_of_2(k))
    warps = max(1, min(16, width // 512))
    return {"P": positives.shape[1], "K": k, "SLOTS": slots, "WIDTH": width, "num_warps": warps}


class _Relation(torch.autograd.Function):  # type: ignore[misc]  # torch is not typed here
    @staticmethod
    def forward(ctx: Any, similarities: Any, truth: Any, positives: Any, how: dict[str, Any]) -> Any:
        similarities = similarities.contiguous()
        losses, gradients = similarities.new_empty(len(similarities)), torch.empty_like(similarities)
        tensors = similarities, truth.contiguous(), positives.contiguous(), losses, gradients
        with torch.cuda.device_of(similarities):  # otherwise kernels run on the current GPU
            _relation_kernel[(len(similarities),)](*tensors, similarities.shape[1], **how)
        ctx.save_for_backward(gradients)
        return losses.sum()

    @staticmethod
    def backward(ctx: Any, upstream: Any) -> tuple[Any, ...]:
        return ctx.saved_tensors[0] * upstream, None, None, None


class _Regulariser(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(
        ctx: Any, by_text: Any, by_prototype: Any, truth: Any, positives: Any, margin: float, n_negatives: int
    ) -> Any:
        by_text, by_prototype = by_text.contiguous(), by_prototype.contiguous()
        sums, counts = (by_text.new_empty(len(by_text), 2) for _ in range(2))
        directions = torch.empty_like(by_text)
        tensors = by_text, by_prototype, truth.contiguous(), positives.contiguous(), sums, counts, directions
        with torch.cuda.device_of(by_text):
            _regulariser_kernel[(len(by_text),)](
                *tensors, by_text.shape[1], margin, **_sizes(by_text, positives, n_negatives)
            )
        halves = 0.5 / counts.sum(dim=0).clamp(min=1)
        ctx.save_for_backward(directions, halves)
        return (sums.sum(dim=0) * halves).sum()

    @staticmethod
    def backward(ctx: Any, upstream: Any) -> tuple[Any, ...]:
        directions, halves = ctx.saved_tensors
        of_positives, of_negatives = halves * upstream
        gradient = directions * torch.where(directions > 0, of_negatives, of_positives)
        return -gradient, gradient, None, None, None, None


def fused_triplets(
    similarities: Any, truth: Any, positives: Any, settings: LossSettings, *, anchor: float, anchor_temperature: float
) -> Any:
    """The loss over triplets that the settings name, and `anchor` times the decoupled softmax."""
    s = settings
    is_fixed = s.kind == "fixed"
    how = {
        "share": 1 / len(similarities),
        "margin_min": s.margin if is_fixed else s.margin_min,
        "margin_max": s.margin if is_fixed else s.margin_max,
        "temperature": s.temperature,
        "anchor": anchor,
        "anchor_temperature": anchor_temperature,
        "no_violation": NO_VIOLATION,
        "INVERTED": s.kind == "inverted",
        "WEIGHTING": s.weighting,
        "DETACHED": s.detach_weights,
        "ANCHORED": anchor != 0,
        **_sizes(similarities, positives, s.negatives),
    }
    return _Relation.apply(similarities, truth, positives, how)


def fused_regulariser(
    by_text: Any, by_prototype: Any, truth: Any, positives: Any, *, margin: float, n_negatives: int
) -> Any:
    """The same as `losses.regulariser`."""
    return _Regulariser.apply(by_text, by_prototype, truth, positives, margin, n_negatives)
