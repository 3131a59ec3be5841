"""The losses: their values in closed form, their gradients, and that no true answer is ever a negative."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import torch

from labelwood.dual_encoder.settings import LossSettings
from labelwood.dual_encoder.training.losses import (
    decoupled_softmax,
    dynamic_margin,
    fixed_margin,
    in_batch_softmax,
    inverted_margin,
    make_loss,
    regulariser,
)

pytestmark = pytest.mark.deep

LEFT = torch.tensor([[True, False]])  # the first column is the answer
FIRST = torch.tensor([[0]])
KINDS = get_args(LossSettings.model_fields["kind"].annotation)


def of_gap(loss, gap, **how):
    """The loss of one positive that leads one negative by `gap`."""
    return loss(torch.tensor([[0.5 + gap, 0.5]], dtype=torch.float64), LEFT, FIRST, **how).item()


def random_case(seed=0, rows=6, columns=12, n_true=3):
    rng = np.random.default_rng(seed)
    sims = torch.from_numpy(rng.uniform(-1, 1, (rows, columns)))
    truth = torch.zeros(rows, columns, dtype=torch.bool)
    for row in truth:
        row[rng.choice(columns, n_true, replace=False)] = True
    positives = torch.stack([row.nonzero().ravel()[:2] for row in truth])
    return sims, truth, positives


@pytest.mark.parametrize(
    ("gap", "expected"),
    [
        (0.4, 0.0),  # easy
        (0.1, 0.0),  # at γ_min
        (0.06, 0.04),  # uncertain: γ_min − gap
        (0.0, 0.1),  # a tie is hard: γ_min
        (-0.05, 0.15),  # hard, margin clipped to γ_min
        (-0.2, 0.4),  # hard, margin is the distance
        (-0.5, 0.8),  # hard, margin clipped to γ_max
    ],
)
def test_the_dynamic_margin_has_the_expected_value_in_each_region(gap, expected):
    assert of_gap(dynamic_margin, gap) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("gap", "expected"), [(0.4, 0.0), (0.06, 0.16), (0.0, 0.1), (-0.2, 0.4), (-0.5, 0.8)])
def test_the_inverted_margin_differs_only_for_a_small_lead(gap, expected):
    assert of_gap(inverted_margin, gap) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("gap", "expected"), [(0.4, 0.0), (0.3, 0.0), (0.1, 0.2), (-0.5, 0.8)])
def test_the_fixed_margin_is_a_hinge(gap, expected):
    assert of_gap(fixed_margin, gap) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("gap", [0.5, 0.05, -0.05, -0.2, -0.6])
def test_a_pair_has_the_gradient_of_a_fixed_margin_of_gamma_min(gap):
    gradients = []
    for loss, how in ((dynamic_margin, {}), (fixed_margin, {"margin": 0.1})):
        sims = torch.tensor([[0.5 + gap, 0.5]], dtype=torch.float64, requires_grad=True)
        loss(sims, LEFT, FIRST, **how).backward()
        gradients.append(sims.grad)
    assert torch.equal(*gradients)


def test_the_inverted_margin_pushes_back_a_positive_with_a_small_lead():
    sims = torch.tensor([[0.55, 0.5]], dtype=torch.float64, requires_grad=True)
    inverted_margin(sims, LEFT, FIRST).backward()
    assert sims.grad.tolist() == [[1.0, -1.0]]


def test_the_gradient_of_the_weights_follows_the_formula():
    """∂/∂s_j = q_j (1 + (ℓ_j − Σ q ℓ) / τ) for negatives with a loss, and ∂/∂s_p = −1."""
    values = torch.tensor([[0.2, 0.5, 0.3, 0.25, -0.6]], dtype=torch.float64)
    truth = torch.tensor([[True, False, False, False, False]])
    sims = values.clone().requires_grad_()
    fixed_margin(sims, truth, FIRST, margin=0.3).backward()
    negatives = values[0, 1:4]  # the last one does not violate the margin
    losses, q = negatives - 0.2 + 0.3, (negatives / 0.1).softmax(0)
    expected = q * (1 + (losses - (q * losses).sum()) / 0.1)
    assert torch.allclose(sims.grad[0, 1:4], expected, atol=1e-12)
    assert sims.grad[0, 0].item() == pytest.approx(-1)
    assert sims.grad[0, 4] == 0


def test_gradients_agree_with_finite_differences():
    sims, truth, positives = random_case()
    for how in ({}, {"weighting": "masked"}, {"weighting": "mean"}):

        def loss(s, how=how):
            return fixed_margin(s, truth, positives, margin=0.3, n_negatives=4, **how)

        assert torch.autograd.gradcheck(loss, sims.clone().requires_grad_(), eps=1e-7)


def test_detached_weights_change_the_gradient_but_not_the_value():
    sims, truth, positives = random_case()
    kept, detached = sims.clone().requires_grad_(), sims.clone().requires_grad_()
    a = dynamic_margin(kept, truth, positives)
    b = dynamic_margin(detached, truth, positives, detach_weights=True)
    a.backward()
    b.backward()
    assert a.item() == b.item()
    assert not torch.allclose(kept.grad, detached.grad)
    assert (detached.grad[~truth] >= 0).all(), "only the gradient of weights can pull a negative nearer"


@pytest.mark.parametrize("kind", KINDS)
def test_no_true_answer_is_ever_a_negative(kind):
    loss = make_loss(LossSettings(kind=kind))
    sims, truth, positives = random_case()
    others = truth.clone().scatter(1, positives, False)
    leaf = sims.clone().requires_grad_()
    before = loss(leaf, truth, positives)
    before.backward()
    assert (leaf.grad[others] == 0).all()
    assert loss(sims.masked_fill(others, 0.999), truth, positives).item() == before.item()


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_without_negatives_has_a_finite_loss_and_gradient(kind):
    sims = torch.tensor([[0.3, 0.9]], requires_grad=True)
    loss = make_loss(LossSettings(kind=kind))(sims, torch.tensor([[True, True]]), FIRST)
    loss.backward()
    assert loss.item() == pytest.approx(0, abs=1e-6)
    assert torch.isfinite(sims.grad).all()


def test_positives_of_a_row_are_added_up_and_rows_averaged():
    sims, truth, positives = random_case()
    both = dynamic_margin(sims, truth, positives)
    one_by_one = [dynamic_margin(sims, truth, positives[:, i : i + 1]) for i in range(2)]
    assert both.item() == pytest.approx(sum(one_by_one).item())
    by_row = [dynamic_margin(sims[i : i + 1], truth[i : i + 1], positives[i : i + 1]) for i in range(len(sims))]
    assert both.item() == pytest.approx((sum(by_row) / len(by_row)).item())


def test_both_softmaxes_agree_for_one_positive_and_differ_for_two():
    sims, truth, positives = random_case()
    one = positives[:, :1]
    assert decoupled_softmax(sims, truth, one).item() == pytest.approx(in_batch_softmax(sims, truth, one).item())
    assert decoupled_softmax(sims, truth, positives).item() < in_batch_softmax(sims, truth, positives).item()
    two = torch.tensor([[0.4, 0.1]], dtype=torch.float64)
    expected = torch.nn.functional.cross_entropy(two / 0.05, torch.tensor([0]))
    assert in_batch_softmax(two, LEFT, FIRST).item() == pytest.approx(expected.item())


def test_the_regulariser_makes_prototypes_better_than_texts():
    by_text, by_prototype = torch.tensor([[0.5, 0.2]]), torch.tensor([[0.4, 0.3]], requires_grad=True)
    value = regulariser(by_text, by_prototype, LEFT, FIRST, margin=0.1)
    assert value.item() == pytest.approx((0.2 + 0.2) / 2)
    value.backward()
    assert by_prototype.grad[0, 0] < 0 < by_prototype.grad[0, 1], "descent raises positives and lowers negatives"
    assert regulariser(by_text, torch.tensor([[0.7, 0.0]]), LEFT, FIRST, margin=0.1).item() == 0


def test_the_regulariser_averages_over_violations():
    by_text = torch.tensor([[0.5, 0.2], [0.5, 0.2]])
    by_prototype = torch.tensor([[0.9, 0.0], [0.4, 0.0]])  # only the second positive is behind
    value = regulariser(by_text, by_prototype, LEFT.expand(2, 2), torch.tensor([[0], [0]]), margin=0.1)
    assert value.item() == pytest.approx(0.2 / 2)
