"""Half precision is used if the device has instructions for it, and learns the same as single precision."""

from __future__ import annotations

import pytest
import torch
from tests.dual_encoder.samples import changed, write_checkpoint
from tests.dual_encoder.test_trainer import make, weights

from labelwood.dual_encoder.gpu import precision
from labelwood.dual_encoder.gpu.precision import half_for

pytestmark = pytest.mark.deep


@pytest.fixture
def cpu(monkeypatch):
    """The capabilities that the processor reports."""
    known = {}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: known, raising=False)
    monkeypatch.setattr(precision, "_cpu_has_bf16", precision._cpu_has_bf16.__wrapped__)
    return known


@pytest.mark.parametrize("name", ["avx512_bf16", "amx_bf16"])
def test_a_cpu_uses_half_precision_only_with_instructions_for_it(cpu, name):
    assert half_for("bf16", "cpu") is None
    cpu |= {"avx2": True, name: False}
    assert half_for("bf16", "cpu") is None
    cpu[name] = True
    assert half_for("bf16", "cpu") is torch.bfloat16
    assert half_for("fp16", "cpu") is None
    assert half_for("fp32", "cpu") is None


def test_an_old_torch_uses_single_precision_on_a_cpu(cpu, monkeypatch):
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    assert half_for("bf16", "cpu") is None
    assert half_for("bf16", "cuda") is torch.bfloat16


def test_half_precision_changes_weights_in_the_same_direction(cpu, tmp_path):
    off = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    settings = {
        "encoder": {"checkpoint": write_checkpoint(tmp_path, hidden_size=32, **off)},
        "prototypes": {"dropout": 0},
    }
    cpu["avx512_bf16"] = True
    moved = {}
    for kind in ("fp32", "bf16"):
        trainer = make(changed(**settings, training={"precision": kind, "learning_rate": 1e-3}))
        before = weights(trainer)
        trainer.train()
        moved[kind] = torch.cat([(after - before[name]).ravel() for name, after in weights(trainer).items()]).float()
    missed = (moved["bf16"] - moved["fp32"]).norm() / moved["fp32"].norm()
    assert 1e-4 < missed < 0.2
