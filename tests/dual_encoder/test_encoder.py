"""Checkpoints are read as data: safetensors and a tokenizer file, without code or pickles."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.dual_encoder.samples import write_checkpoint
from transformers import GPT2Config, GPT2Model, T5Config, T5Model

from labelwood.dual_encoder.data.tokens import TokenFeeder, Tokens
from labelwood.dual_encoder.model.embedding import embed_texts
from labelwood.dual_encoder.model.encoder import CheckpointEncoder, encoder_from_state
from labelwood.dual_encoder.model.pretrained import load_encoder
from labelwood.dual_encoder.model.sentence_modules import SentenceModules
from labelwood.dual_encoder.model.tokenizer import SubwordTokenizer
from labelwood.dual_encoder.settings import EncoderSettings
from labelwood.errors import LabelwoodError, ModelError, ParameterError

pytestmark = pytest.mark.deep

TEXTS = ["q1 word2", "word3", "q4 word5 word6 label7 q1 q2 q3 q4 q5 q6 q7"]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return write_checkpoint(tmp_path_factory.mktemp("bert"))


def vectors(encoder, texts=TEXTS, max_tokens=16):
    return embed_texts(encoder, Tokens.of(texts, encoder.tokenizer, max_tokens=max_tokens), device="cpu")


def test_pooling_ignores_padding(checkpoint):
    encoder = load_encoder(EncoderSettings(checkpoint=checkpoint))
    assert encoder.dim == 8
    together = vectors(encoder)
    for text, vector in zip(TEXTS, together, strict=True):
        ids = torch.tensor(encoder.tokenizer.encode([text], 16))
        with torch.no_grad():
            alone = encoder.model(input_ids=ids).last_hidden_state.mean(dim=1)[0]
        assert torch.allclose(vector, alone, atol=1e-5)


def test_tokens_include_special_tokens_and_are_truncated(checkpoint):
    tokenizer = load_encoder(EncoderSettings(checkpoint=checkpoint)).tokenizer
    assert tokenizer.encode(["q0 q1 nothing"], 16) == [[2, 4, 5, 1, 3]]
    assert tokenizer.encode(["q0 q1 nothing"], 4) == [[2, 4, 5, 3]]


def test_pooling_by_the_first_token_gives_other_vectors(checkpoint):
    means, firsts = (vectors(load_encoder(EncoderSettings(checkpoint=checkpoint, pooling=p))) for p in ("mean", "cls"))
    assert not torch.allclose(means, firsts, atol=1e-3)


POOLINGS = [
    ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
    ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
    ({"pooling_mode": "cls", "include_prompt": True}, "cls"),
    ({"pooling_mode": "lasttoken"}, "lasttoken"),
    ({"pooling_mode": ["mean", "max"]}, "mean and max"),
    ({"pooling_mode_max_tokens": True}, "max_tokens"),
]


def test_a_checkpoint_on_the_hub_is_read_like_a_folder(tmp_path, monkeypatch):
    folder = tmp_path / "cached"
    write_checkpoint(folder)
    modules = [{"path": "", "type": "x.Transformer"}, {"path": "1_Pooling", "type": "x.Pooling"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": "cls"}))
    asked = []
    monkeypatch.setattr(
        "transformers.utils.cached_file", lambda name, file: asked.append((name, file)) or str(folder / file)
    )
    assert SentenceModules.of("somebody/encoder") == ("", "cls")
    assert asked == [("somebody/encoder", "modules.json"), ("somebody/encoder", "1_Pooling/config.json")]


def test_a_checkpoint_without_modules_on_the_hub_uses_mean_pooling(monkeypatch):
    def not_there(name, file):
        raise OSError("no way to the hub")

    monkeypatch.setattr("transformers.utils.cached_file", not_there)
    assert SentenceModules.of("somebody/encoder") == ("", "mean")


@pytest.mark.parametrize(
    "model",
    [
        T5Model(T5Config(d_model=8, d_kv=4, d_ff=16, num_layers=1, num_heads=2, vocab_size=200)),
        GPT2Model(GPT2Config(n_embd=8, n_layer=1, n_head=2, n_positions=16, vocab_size=200)),
    ],
)
def test_an_unsupported_kind_of_checkpoint_is_refused_before_training(checkpoint, tmp_path, model):
    model.save_pretrained(tmp_path)
    shutil.copy(Path(checkpoint) / "tokenizer.json", tmp_path)
    with pytest.raises(LabelwoodError, match=f"its type is '{model.config.model_type}'; supported are albert, bert"):
        load_encoder(EncoderSettings(checkpoint=str(tmp_path)))


def test_an_encoder_that_fails_on_long_texts_is_one_clear_sentence(checkpoint, monkeypatch):
    def fails(self, ids, real):
        raise RuntimeError("too long\nby far")

    monkeypatch.setattr(CheckpointEncoder, "forward", fails)
    with pytest.raises(LabelwoodError, match=r"cannot read a text of 17 tokens \(too long\): give another encoder"):
        load_encoder(EncoderSettings(checkpoint=checkpoint, max_tokens=8, max_label_tokens=17))


def test_a_folder_of_sentence_transformers_is_a_checkpoint(checkpoint, tmp_path):
    folder = tmp_path / "sentence"
    write_checkpoint(folder / "0_Transformer")
    kinds = [("0_Transformer", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]

    def list_modules(kinds):
        modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds]
        (folder / "modules.json").write_text(json.dumps(modules))

    list_modules(kinds)
    assert load_encoder(EncoderSettings(checkpoint=str(folder))).dim == 8
    assert load_encoder(EncoderSettings(checkpoint=str(folder))).pooling == "mean", "the default"
    (folder / "1_Pooling").mkdir()
    for config, pooling in POOLINGS:
        (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 8, **config}))
        if pooling in ("mean", "cls"):
            assert load_encoder(EncoderSettings(checkpoint=str(folder))).pooling == pooling
        else:
            with pytest.raises(LabelwoodError, match=f"pools its tokens by {pooling}, which is not supported"):
                load_encoder(EncoderSettings(checkpoint=str(folder)))
        assert load_encoder(EncoderSettings(checkpoint=str(folder), pooling="cls")).pooling == "cls", (
            "set by the caller"
        )
    (folder / "1_Pooling" / "config.json").write_text("[1]")
    with pytest.raises(LabelwoodError, match="does not say how an encoder pools"):
        load_encoder(EncoderSettings(checkpoint=str(folder)))
    list_modules([*kinds, ("3_Dense", "Dense")])
    with pytest.raises(LabelwoodError, match="a module Dense"):
        load_encoder(EncoderSettings(checkpoint=str(folder)))


def test_an_encoder_restored_from_its_state_gives_the_same_vectors(checkpoint):
    for settings in (EncoderSettings(checkpoint=checkpoint), EncoderSettings(checkpoint="tiny:8")):
        encoder = load_encoder(settings)
        assert torch.equal(vectors(encoder), vectors(encoder_from_state(encoder.state())))


def test_weights_are_not_rounded_to_the_precision_of_the_checkpoint(tmp_path):
    from transformers import AutoModel

    write_checkpoint(tmp_path)
    AutoModel.from_pretrained(tmp_path).half().save_pretrained(tmp_path)
    encoder = load_encoder(EncoderSettings(checkpoint=str(tmp_path)))
    for weights in encoder.parameters():
        weights.data += 1e-5 * torch.randn_like(weights)
    assert torch.equal(vectors(encoder), vectors(encoder_from_state(encoder.state())))


def test_missing_weights_are_an_error_unless_they_are_unused(tmp_path, capfd):
    from safetensors.numpy import load_file, save_file

    write_checkpoint(tmp_path)
    capfd.readouterr()
    file = tmp_path / "model.safetensors"
    weights = load_file(file)
    used = {name: array for name, array in weights.items() if not name.startswith("pooler.")}
    assert len(used) < len(weights)
    save_file(used, file, {"format": "pt"})
    assert load_encoder(EncoderSettings(checkpoint=str(tmp_path))).dim == 8
    assert capfd.readouterr() == ("", "")
    lost = "encoder.layer.1.output.dense.weight"
    save_file({name: array for name, array in used.items() if name != lost}, file, {"format": "pt"})
    with pytest.raises(LabelwoodError, match=f"lacks the weights '{lost}'"):
        load_encoder(EncoderSettings(checkpoint=str(tmp_path)))


def test_texts_with_special_tokens_and_padding_keep_within_the_maximal_length(checkpoint):
    encoder = load_encoder(EncoderSettings(checkpoint=checkpoint, max_tokens=32))
    for n in (1, 2, 30, 32):
        tokens = Tokens.of(["q1 " * 60, "q1"], encoder.tokenizer, max_tokens=n)
        assert tokens.lengths.max() == n
        assert TokenFeeder((tokens,), "cpu").padded(np.arange(2))[0].shape == (2, n)
        assert vectors(encoder, ["q1 " * 60], n).isfinite().all()


@pytest.mark.parametrize("longer", [{"max_tokens": 33}, {"max_label_tokens": 33}])
def test_more_tokens_than_positions_are_one_clear_sentence(checkpoint, longer):
    with pytest.raises(ParameterError, match="at most 32 tokens"):
        load_encoder(EncoderSettings(checkpoint=checkpoint, **longer))


def test_positions_that_start_after_padding_allow_fewer_tokens(checkpoint):
    from transformers import RobertaConfig, RobertaModel

    encoder = load_encoder(EncoderSettings(checkpoint=checkpoint))
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    config = RobertaConfig(vocab_size=184, max_position_embeddings=34, pad_token_id=1, **sizes)
    other = CheckpointEncoder(RobertaModel(config), SubwordTokenizer(encoder.tokenizer.text, pad_id=1))
    assert other.most_tokens == 32
    assert vectors(other, ["q1 " * 60], 32).isfinite().all()
    with pytest.raises((IndexError, RuntimeError)):
        vectors(other, ["q1 " * 60], 33)


def test_weights_that_are_not_safetensors_are_refused(checkpoint, tmp_path):
    write_checkpoint(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(LabelwoodError, match="cannot be loaded") as e:
        load_encoder(EncoderSettings(checkpoint=str(tmp_path)))
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    ("kind", "reason"), [("unheard-of", "its type is 'unheard-of'"), ("bert", "asks for code .*'auto_map'")]
)
def test_code_of_a_checkpoint_is_not_run(tmp_path, kind, reason):
    write_checkpoint(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}, "model_type": kind}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "evil.py").write_text("raise SystemExit('this ran')")
    with pytest.raises(LabelwoodError, match=reason):
        load_encoder(EncoderSettings(checkpoint=str(tmp_path)))


@pytest.mark.parametrize("name", ["no/such/folder/here", "tiny:x", "tiny:0"])
def test_a_missing_encoder_is_one_clear_sentence(name, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(LabelwoodError) as e:
        load_encoder(EncoderSettings(checkpoint=name))
    assert name in str(e.value)
    assert "\n" not in str(e.value)
    assert isinstance(e.value, ParameterError) == name.startswith("tiny")


def hostile(state, **changes):
    """The state with another configuration, with other arrays, or with changed bytes in an array."""
    config = {**state.fitted["config"], **changes.pop("config", {})}
    arrays = {**state.arrays, **changes.pop("arrays", {})}
    if "becomes" in changes:
        before = json.dumps(json.loads(state.arrays["tokenizer.json"].tobytes()), separators=(",", ":")).encode()
        after = before.replace(arrays["tokenizer.json"], changes.pop("becomes"))
        assert after != before
        arrays["tokenizer.json"] = np.frombuffer(after, np.uint8)
    return replace(state, fitted={**state.fitted, "config": config, **changes}, arrays=arrays)


@pytest.mark.parametrize(
    "changes",
    [
        {"config": {"num_hidden_layers": 10**9}},
        {"config": {"hidden_size": 10**9}},
        {"config": {"hidden_size": 4096}},
        {"config": {"hidden_size": "8"}},
        {"config": {"model_type": "unheard-of"}},
        {"config": {"model_type": None}},
        {"config": {"auto_map": {"AutoModel": "evil.Model"}}},
        {"config": {"vocab_size": 3}},
        {"arrays": {"embeddings.word_embeddings.weight": np.full((184, 8), np.nan, np.float32)}},
        {"arrays": {"embeddings.word_embeddings.weight": np.zeros((184, 9), np.float32)}},
        {"arrays": {"more": np.zeros(1, np.float32)}},
        {"arrays": {"tokenizer.json": np.frombuffer(b"{}", np.uint8)}},
        {"arrays": {"tokenizer.json": np.zeros(3, np.float32)}},
        {"arrays": {"tokenizer.json": b'"q1":5'}, "becomes": b'"q1":900'},
        {"arrays": {"tokenizer.json": b'"ids":[2]'}, "becomes": b'"ids":[900]'},
        {"config": {"_attn_implementation": "somebody/something"}},
        {"config": {"attn_implementation": "somebody/something"}},
        {"config": {"inner": {"attn_implementation": "somebody/something"}}},
        {"config": {"model_type": "gpt2", "n_layer": 10**6}},
        {"config": {"model_type": "clip", "text_config": {"num_hidden_layers": 10**6}}},
        {"pad_id": "0"},
        {"pad_id": 184},
        {"pad_id": -1},
        {"pooling": "max"},
    ],
)
def test_a_hostile_state_is_refused(checkpoint, changes):
    with pytest.raises(ModelError) as e:
        encoder_from_state(hostile(load_encoder(EncoderSettings(checkpoint=checkpoint)).state(), **changes))
    assert "\n" not in str(e.value)
