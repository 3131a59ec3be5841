"""Packed texts get the same vectors and gradients as padded ones."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.dual_encoder.samples import write_checkpoint

from labelwood.dual_encoder.data.tokens import TokenFeeder, Tokens, fillers
from labelwood.dual_encoder.gpu.packing import PACKED, packed_attention, packs, use_packed_attention
from labelwood.dual_encoder.model import embedding
from labelwood.dual_encoder.model.embedding import Embedder
from labelwood.dual_encoder.model.encoder import CheckpointEncoder, TinyEncoder, encoder_from_state
from labelwood.dual_encoder.model.pretrained import load_encoder
from labelwood.dual_encoder.model.tokenizer import SubwordTokenizer
from labelwood.dual_encoder.settings import EncoderSettings

pytestmark = pytest.mark.deep

TEXTS = ["q1", "word3 word4 q7 word9", "", "q2 word5", "label8 word8 word7 word6 word5 word4 q1"]


@pytest.fixture(params=["mean", "cls"])
def encoder(request, tmp_path):
    return load_encoder(EncoderSettings(checkpoint=write_checkpoint(tmp_path), pooling=request.param))


def feeder_for(encoder):
    return TokenFeeder((Tokens.of(TEXTS, encoder.tokenizer, max_tokens=16),), "cpu")


def test_packed_and_padded_texts_get_the_same_vectors_and_gradients(encoder):
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


def test_filler_texts_do_not_change_other_texts(encoder):
    feeder, which = feeder_for(encoder), np.array([4, 0, 2, 1, 1, 3] * 12)
    use_packed_attention(encoder.model)
    plain, rounded = feeder.packed(which), feeder.packed(which, rounded=True)
    assert len(rounded.ids) > len(plain.ids)
    results = []
    for batch in (plain, rounded):
        encoder.zero_grad()
        vectors = encoder.packed(*batch)[: len(which)]
        (vectors**3).sum().backward()
        results.append((vectors, [p.grad.clone() for p in encoder.parameters() if p.grad is not None]))
    assert torch.allclose(results[0][0], results[1][0], atol=1e-6)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(results[0][1], results[1][1], strict=True))


@given(st.integers(1, 5000), st.integers(2, 512), st.floats(0, 1))
def test_fillers_round_the_size_of_batches(n_texts, longest, share):
    n_tokens = round(n_texts * longest * share)
    lengths = fillers(n_texts, n_tokens, longest)
    assert len(lengths)
    assert lengths.min() >= 1, "pooling reads the first token of each text"
    assert lengths.max() <= longest
    assert len(lengths) <= n_texts // 4 + n_tokens // 16 + 1
    assert lengths.sum() < len(lengths) + max(1, n_tokens // 16)
    for n, filled, part in ((n_texts, n_texts + len(lengths), 4), (n_tokens, n_tokens + lengths.sum(), 16)):
        assert filled % 2 ** int(np.log2(max(1, n // part))) == 0


@pytest.mark.parametrize(("spread", "most_sizes"), [(400, 3), (2500, 8)])  # random texts, and similar ones
def test_batches_of_similar_size_have_few_rounded_sizes(spread, most_sizes):
    rng = np.random.default_rng(0)
    sizes, added, total = set(), 0, 0
    for _ in range(200):
        n_texts, n_tokens = 2048 + int(rng.normal(1700, spread / 40)), int(rng.normal(49_000, spread))
        lengths = fillers(n_texts, n_tokens, longest=32)
        sizes.add((n_texts + len(lengths), n_tokens + int(lengths.sum())))
        added, total = added + lengths.sum(), total + n_tokens
    assert len(sizes) <= most_sizes
    assert added < 0.04 * total


def test_only_training_is_compiled(encoder, monkeypatch):
    asked = []
    monkeypatch.setattr(torch, "compile", lambda encode, *, dynamic: lambda *batch: asked.append(1) or encode(*batch))
    monkeypatch.setattr(torch.compiler, "reset", asked.clear)
    monkeypatch.setattr(embedding, "can_pack", lambda encoder, *_, **__: use_packed_attention(encoder.model))
    embed = Embedder(encoder, (Tokens.of(TEXTS, encoder.tokenizer, max_tokens=16),), device="cpu", compiled=True)
    which = np.array([0, 1, 3, 4] * 16)
    expected = embed(which)
    assert not asked
    encoder.training = True  # but not its parts, so there is no dropout
    assert torch.allclose(embed(which), expected, atol=1e-6)
    assert len(asked) == 1
    rounded = embed.embed_packed(embed.feeder.packed(which, rounded=True))
    assert len(rounded) > len(which)
    assert torch.equal(embed.embed_packed(embed.feeder.packed(which, rounded=True), compiled=False), rounded)
    assert torch.allclose(rounded[: len(which)], expected, atol=1e-6)
    assert len(asked) == 2
    embed.release()
    assert not asked


def test_padded_texts_are_encoded_with_texts_of_similar_length(encoder, monkeypatch):
    monkeypatch.setattr(embedding, "_ON_A_CPU", 32)
    texts, which = ["q1", "q1 q2 q3 q4 q5 q6 q7 q8 q9", "q3 q4"] * 4, np.array([4, 0, 7, 1, 2, 10, 1])
    embed = Embedder(encoder, (Tokens.of(texts, encoder.tokenizer, max_tokens=16),), device="cpu", pack=False)
    expected = encoder(*embed.feeder.padded(which))
    widths, padded = [], embed.feeder.padded
    monkeypatch.setattr(
        embed.feeder, "padded", lambda some: widths.append(int(max(embed.feeder.lengths[some]))) or padded(some)
    )
    for found in (embed(which), embed.all(which)):
        assert torch.allclose(found, expected, atol=1e-5)
    assert widths[:4] == [4, 11, 11, 11]
    weights = torch.linspace(-1, 1, expected.numel()).view_as(expected)
    gradients = [
        torch.autograd.grad((v * weights).sum(), list(encoder.parameters()), allow_unused=True)
        for v in (embed(which), expected)
    ]
    for own, other in zip(*gradients, strict=True):
        assert (own is None) == (other is None)
        assert own is None or torch.allclose(own, other, atol=1e-5)


def test_packed_attention_uses_the_encoder_s_scaling():
    tokens, bounds = torch.randn(1, 2, 5, 4), torch.tensor([0, 5])
    for scaling in (None, 0.5, 0.1):
        found, _ = packed_attention(None, *[tokens] * 3, None, bounds=bounds, longest=5, scaling=scaling)
        expected = torch.nn.functional.scaled_dot_product_attention(*[tokens] * 3, scale=scaling)
        assert torch.allclose(found, expected.transpose(1, 2), atol=1e-6)


def test_the_tiny_encoder_gives_the_same_mean_for_packed_texts():
    encoder = TinyEncoder(dim=4)
    feeder, which = feeder_for(encoder), np.array([1, 4, 0])
    assert torch.allclose(encoder.packed(*feeder.packed(which)), encoder(*feeder.padded(which)), atol=1e-6)


def test_an_encoder_with_packed_attention_can_be_unpickled_in_another_process(encoder, tmp_path):
    feeder, which = feeder_for(encoder), np.array([4, 0, 2])
    use_packed_attention(encoder.model)
    (tmp_path / "encoder").write_bytes(pickle.dumps((encoder, feeder.padded(which))))
    script = f"""
import pickle, sys, numpy
encoder, batch = pickle.load(open({str(tmp_path / "encoder")!r}, "rb"))
numpy.save({str(tmp_path / "vectors.npy")!r}, encoder(*batch).detach().numpy())
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    expected = encoder(*feeder.padded(which)).detach().numpy()
    assert np.allclose(np.load(tmp_path / "vectors.npy"), expected, atol=1e-6)


def test_texts_are_packed_only_after_a_test_of_the_encoder(encoder, monkeypatch):
    assert packs(encoder, "cpu", None, longest=16)
    packed = encoder.packed
    encoder.first_position = 1
    assert not packs(encoder, "cpu", None, longest=16), "other positions"
    encoder.first_position = 0
    monkeypatch.setattr(encoder, "packed", lambda *batch: 1.001 * packed(*batch))
    assert not packs(encoder, "cpu", None, longest=16), "other vectors"
    monkeypatch.setattr(encoder, "packed", lambda *batch: packed(*batch).detach() + 0 * packed(*batch).sum())
    assert not packs(encoder, "cpu", None, longest=16), "other gradients"
    monkeypatch.setattr(encoder.model, "set_attn_implementation", lambda name: None)
    assert not packs(encoder, "cpu", None, longest=16), "no way to change its attention"


@pytest.mark.parametrize("error", [None, RuntimeError("no such kernel"), Exception("one that does not compile")])
def test_an_encoder_that_does_not_pack_keeps_its_own_attention(encoder, monkeypatch, error):
    def packed(*batch):
        if error:
            raise error
        return torch.randn(4, 8)

    monkeypatch.setattr(encoder, "packed", packed)
    before = encoder.model.config._attn_implementation
    assert not packs(encoder, "cpu", None, longest=16)
    assert encoder.model.config._attn_implementation == before != PACKED
    assert not encoder.training


SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 80,
}
DISTILLED = {"dim": 16, "hidden_dim": 32, "n_layers": 2, "n_heads": 2, "max_position_embeddings": 80}


@pytest.mark.parametrize(
    ("family", "how", "longest", "verdict"),
    [
        ("Bert", {}, 80, True),
        ("Bert", {"attn_implementation": "eager"}, 80, True),
        ("DistilBert", {}, 80, True),
        ("Electra", {"embedding_size": 16}, 80, True),
        ("ModernBert", {"local_attention": 16, "global_attn_every_n_layers": 2}, 8, True),
        # Attention is limited to a window, which is longer than a short text.
        ("ModernBert", {"local_attention": 16, "global_attn_every_n_layers": 2}, 64, False),
        ("Roberta", {"pad_token_id": 1}, 78, True),  # positions start after the padding
        ("XLMRoberta", {"pad_token_id": 1}, 78, True),
        ("MPNet", {"pad_token_id": 1}, 64, False),  # its own attention would treat all texts as one
        ("DebertaV2", {}, 64, False),
    ],
)
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # DeBERTa's own code
def test_only_encoders_with_the_same_vectors_use_packing(encoder, family, how, longest, verdict):
    import transformers

    torch.manual_seed(0)
    sizes = {**(DISTILLED if family == "DistilBert" else SIZES), "pad_token_id": 0, **how}
    special = {} if family == "DistilBert" else {"bos_token_id": 2, "eos_token_id": 3}
    config = getattr(transformers, f"{family}Config")(vocab_size=encoder.tokenizer.n_tokens, **special, **sizes)
    model = getattr(transformers, f"{family}Model")(config)
    for weights in model.parameters():
        weights.data += 0.05 * torch.randn_like(weights)
    other = CheckpointEncoder(model, SubwordTokenizer(encoder.tokenizer.text, sizes["pad_token_id"]), encoder.pooling)
    feeder, which = feeder_for(other), np.arange(len(TEXTS))
    with torch.no_grad():
        before = other(*feeder.padded(which))
        assert packs(other, "cpu", None, longest=longest) == verdict
        if verdict:
            assert torch.allclose(other.packed(*feeder.packed(which)), before, atol=1e-5)
        assert torch.allclose(other(*feeder.padded(which)), before, atol=1e-5), "vectors of padded texts do not change"


def test_a_saved_encoder_does_not_name_packed_attention(encoder):
    use_packed_attention(encoder.model)
    state = encoder.state()
    assert PACKED not in repr(state.fitted)
    assert encoder_from_state(state).model.config._attn_implementation != PACKED


def test_texts_of_several_tables_are_numbered_consecutively():
    encoder = TinyEncoder(dim=4)
    tables = tuple(Tokens.of(texts, encoder.tokenizer, max_tokens=16) for texts in (TEXTS[:2], TEXTS[2:]))
    together = Embedder(encoder, tables, device="cpu").all()
    single = Embedder(encoder, (Tokens.of(TEXTS, encoder.tokenizer, max_tokens=16),), device="cpu").all()
    assert torch.equal(together, single)
