"""Texts end to end get the vectors and the gradients that they get padded."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.prime.samples import write_checkpoint

from labelwood.prime.embedding import Embedder
from labelwood.prime.encoder import TinyEncoder, encoder_from_state, load_encoder
from labelwood.prime.packing import PACKED, packs, use_packed_attention
from labelwood.prime.settings import EncoderSettings
from labelwood.prime.tokens import TokenFeeder, Tokens

TEXTS = ["q1", "word3 word4 q7 word9", "", "q2 word5", "label8 word8 word7 word6 word5 word4 q1"]


@pytest.fixture(params=["mean", "cls"])
def encoder(request, tmp_path):
    return load_encoder(EncoderSettings(checkpoint=write_checkpoint(tmp_path), pooling=request.param))


def feeder_for(encoder):
    return TokenFeeder((Tokens.of(TEXTS, encoder.tokenizer, max_tokens=16),), "cpu")


def test_packed_texts_get_the_vectors_and_gradients_of_padded_ones(encoder):
    feeder, which = feeder_for(encoder), np.array([4, 0, 2, 1, 1, 3])
    use_packed_attention(encoder.model)
    results = []
    for vectors in (encoder.packed(*feeder.packed(which)), encoder(*feeder.padded(which))):
        encoder.zero_grad()
        (vectors**3).sum().backward()
        results.append((vectors, [p.grad.clone() for p in encoder.parameters() if p.grad is not None]))
    (packed, gradients), (padded, expected) = results
    assert torch.allclose(packed, padded, atol=1e-5)
    assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(gradients, expected, strict=True))


def test_the_words_of_a_tiny_encoder_have_the_same_mean_packed():
    encoder = TinyEncoder(dim=4)
    feeder, which = feeder_for(encoder), np.array([1, 4, 0])
    assert torch.allclose(encoder.packed(*feeder.packed(which)), encoder(*feeder.padded(which)), atol=1e-6)


def test_an_encoder_is_tried_before_its_texts_are_packed(encoder, monkeypatch):
    assert packs(encoder, "cpu", None)
    monkeypatch.setattr(encoder, "packed", lambda *batch: -encoder(*feeder_for(encoder).padded(np.array([0, 1]))))
    assert not packs(encoder, "cpu", None), "other vectors"
    monkeypatch.setattr(encoder.model, "set_attn_implementation", None)
    assert not packs(encoder, "cpu", None), "no way to change its attention"


def test_an_encoder_that_does_not_pack_keeps_its_own_attention(encoder, monkeypatch):
    monkeypatch.setattr(encoder, "packed", lambda *batch: torch.randn(2, 8))
    before = encoder.model.config._attn_implementation
    assert not packs(encoder, "cpu", None)
    assert encoder.model.config._attn_implementation == before


def test_a_saved_encoder_does_not_ask_for_packed_attention(encoder):
    use_packed_attention(encoder.model)
    state = encoder.state()
    assert PACKED not in repr(state.fitted)
    assert encoder_from_state(state).model.config._attn_implementation != PACKED


def test_tables_of_texts_are_numbered_through():
    encoder = TinyEncoder(dim=4)
    tables = tuple(Tokens.of(texts, encoder.tokenizer, max_tokens=16) for texts in (TEXTS[:2], TEXTS[2:]))
    together = Embedder(encoder, tables, device="cpu").all()
    single = Embedder(encoder, (Tokens.of(TEXTS, encoder.tokenizer, max_tokens=16),), device="cpu").all()
    assert torch.equal(together, single)
