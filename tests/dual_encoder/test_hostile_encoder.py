"""A model's encoder must be of a known kind, with the sizes of its weights, and come only from its own files."""

from __future__ import annotations

import json
import random
import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tests.dual_encoder.hostile import CONFIG, REPOSITORY, hostile_configs, ignored_configs, tokenizer
from tests.dual_encoder.samples import write_checkpoint

import labelwood as lw
from labelwood.dual_encoder.model import architectures
from labelwood.dual_encoder.model.encoder import CheckpointEncoder, encoder_from_state
from labelwood.dual_encoder.model.pretrained import load_encoder
from labelwood.dual_encoder.saving import tables_from
from labelwood.dual_encoder.settings import EncoderSettings
from labelwood.errors import LabelwoodError, ModelError
from labelwood.store import State

# In the oldest supported version of transformers, DeBERTa uses functions that the newest torch warns about.
WARNING = "ignore:.torch.jit.script. is deprecated:DeprecationWarning"
pytestmark = [pytest.mark.deep, pytest.mark.filterwarnings(WARNING)]
IDS = torch.tensor([[2, 5, 6, 7, 3]])
OLDER = Path(__file__).parent / "models"
_SMALL = {
    "vocab_size": 184,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 40,
    "pad_token_id": 0,
}
_RELATIVE = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False}
_CONVOLUTION = {"position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": True, "conv_kernel_size": 3}
KINDS = {
    "bert": _SMALL,
    "roberta": _SMALL,
    "xlm-roberta": _SMALL,
    "camembert": _SMALL,
    "mpnet": _SMALL,
    "electra": {**_SMALL, "embedding_size": 4},
    "deberta": {**_SMALL, **_RELATIVE},
    "deberta-v2": {**_SMALL, **_RELATIVE, **_CONVOLUTION, "conv_act": "gelu", "type_vocab_size": 0},
    "albert": {**_SMALL, "embedding_size": 4, "num_hidden_layers": 3},
    "distilbert": {
        "vocab_size": 184,
        "dim": 8,
        "n_layers": 2,
        "n_heads": 2,
        "hidden_dim": 16,
        "max_position_embeddings": 40,
    },
    "modernbert": {**_SMALL, "global_attn_every_n_layers": 2, "local_attention": 8, "global_rope_theta": 5000.0},
}


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    """Makes every request to the hub or to another machine fail."""

    def refuse(*_, **__):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for name in ("hf_hub_download", "snapshot_download", "model_info"):
        monkeypatch.setattr(f"huggingface_hub.{name}", refuse)
    for name in ("cached_file", "cached_files"):
        monkeypatch.setattr(f"transformers.utils.hub.{name}", refuse)
    monkeypatch.setattr("transformers.dynamic_module_utils.get_class_from_dynamic_module", refuse)


def model_of(kind):
    torch.manual_seed(0)
    settings = {"model_type": kind, **KINDS[kind]}
    return architectures.model_class(settings)(architectures.new_config(settings)).eval()


def written(folder, model):
    write_checkpoint(folder)
    model.save_pretrained(folder)
    return EncoderSettings(checkpoint=str(folder), max_tokens=16)


def vectors(encoder):
    with torch.no_grad():
        return encoder(IDS, torch.ones_like(IDS, dtype=torch.bool))


def test_all_supported_kinds_are_tested():
    assert KINDS.keys() == architectures.ARCHITECTURES.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_saved_and_loaded_without_the_network(tmp_path, kind):
    model = model_of(kind)
    with torch.no_grad():
        expected = model(input_ids=IDS).last_hidden_state.mean(dim=1)
    encoder = load_encoder(written(tmp_path, model))
    assert torch.allclose(vectors(encoder), expected, atol=1e-6)
    state = encoder.state()
    again = encoder_from_state(state)
    assert torch.equal(vectors(again), vectors(encoder))
    assert again.state().fitted == state.fitted, "a loaded model is saved unchanged"
    whole = json.loads(encoder.model.config.to_json_string(use_diff=False))
    older = replace(state, fitted={**state.fitted, "config": whole})
    assert torch.equal(vectors(encoder_from_state(older)), vectors(encoder)), "saved by an earlier version"


def test_weights_with_names_of_other_models_and_older_versions_are_found(tmp_path):
    model = model_of("bert")
    settings = written(tmp_path, model)
    weights = load_file(tmp_path / "model.safetensors")
    older = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}

    def renamed(name):
        for new, old in older.items():
            name = name.replace(new, old)
        return f"bert.{name}"

    named = {renamed(name): tensor for name, tensor in weights.items()}
    save_file({**named, "cls.predictions.bias": torch.zeros(184)}, tmp_path / "model.safetensors", {"format": "pt"})
    with torch.no_grad():
        expected = model(input_ids=IDS).last_hidden_state.mean(dim=1)
    assert torch.allclose(vectors(load_encoder(settings)), expected, atol=1e-6)


def test_weights_are_read_from_several_files_but_only_within_the_checkpoint(tmp_path):
    model = model_of("bert")
    settings = written(tmp_path / "one", model)
    whole = vectors(load_encoder(settings))
    model.save_pretrained(tmp_path / "one", max_shard_size="3KB")
    (tmp_path / "one" / "model.safetensors").unlink()
    assert torch.equal(vectors(load_encoder(settings)), whole)
    index = tmp_path / "one" / "model.safetensors.index.json"
    for file, reason in (("../x.safetensors", "outside its folder"), ("x.bin", "not list files of safetensors")):
        index.write_text(json.dumps({"weight_map": {"a": file}}))
        with pytest.raises(LabelwoodError, match=reason):
            load_encoder(settings)


def test_an_adapter_named_by_a_checkpoint_is_ignored(tmp_path):
    settings = written(tmp_path, model_of("bert"))
    before = vectors(load_encoder(settings))
    adapter = {"peft_type": "LORA", "base_model_name_or_path": REPOSITORY, "auto_mapping": {"base_model_class": "evil"}}
    (tmp_path / "adapter_config.json").write_text(json.dumps(adapter))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"auto_map": {"AutoTokenizer": ["evil.Words", None]}}))
    (tmp_path / "generation_config.json").write_text("{")
    assert torch.equal(vectors(load_encoder(settings)), before)


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    return load_encoder(EncoderSettings(checkpoint=write_checkpoint(folder))).state()


@pytest.mark.parametrize("seed", range(3))
def test_hostile_configurations_are_refused_by_one_sentence(state, seed):
    n = 0
    for name, config in hostile_configs(random.Random(seed)):
        with pytest.raises(ModelError) as e:
            encoder_from_state(replace(state, fitted={**state.fitted, "config": config}))
            pytest.fail(f"{name} was loaded")
        assert "\n" not in str(e.value), name
        assert len(str(e.value)) < 500, name
        n += 1
    assert n > 400


def test_inert_settings_have_no_effect(state):
    expected = vectors(encoder_from_state(replace(state, fitted={**state.fitted, "config": CONFIG})))
    for name, config in ignored_configs():
        encoder = encoder_from_state(replace(state, fitted={**state.fitted, "config": config}))
        assert torch.equal(vectors(encoder), expected), name
        assert encoder.state().fitted["config"].keys() <= CONFIG.keys(), name


@pytest.mark.parametrize("kind", KINDS)
def test_no_setting_can_be_larger_than_the_weights_allow(tmp_path, kind):
    state = load_encoder(written(tmp_path, model_of(kind))).state()
    config = state.fitted["config"]
    unbound = {"max_position_embeddings", "local_attention", "global_attn_every_n_layers"}
    unbound |= {"max_relative_positions", "position_buckets"}
    for name, value in config.items():
        if type(value) is not int or name == "pad_token_id":
            continue
        for larger in (10**7, 2**31, 10**18) if name in unbound else (value + 1, 10**6, 2**31, 10**18):
            if kind == "albert" and name == "num_hidden_layers" and larger == value + 1:
                continue  # the layers share their weights
            with pytest.raises(ModelError):
                encoder_from_state(replace(state, fitted={**state.fitted, "config": {**config, name: larger}}))


@pytest.mark.parametrize("file", sorted(OLDER.glob("*.json")), ids=lambda file: file.stem)
def test_models_of_earlier_versions_give_the_same_answers(file):
    expected = json.loads(file.read_text())
    top = lw.load(file.with_suffix("")).set_params(device="cpu").predict_topk(expected["texts"], 3)
    assert top.ids.tolist() == expected["ids"]
    assert np.allclose(top.scores, expected["scores"], atol=1e-5)


@pytest.mark.parametrize("name", ["backbone", "backbone_kwargs", "auto_map", "quantization_config", "per_layer_config"])
def test_a_checkpoint_that_asks_for_code_is_refused_before_training(tmp_path, name):
    settings = written(tmp_path, model_of("bert"))
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, name: {"trust_remote_code": True}}))
    with pytest.raises(LabelwoodError, match=rf"asks for code .*\('{name}'\); give another one"):
        load_encoder(settings)


def test_inert_settings_of_a_checkpoint_are_not_saved(tmp_path):
    settings = written(tmp_path, model_of("bert"))
    config = json.loads((tmp_path / "config.json").read_text())
    more = {
        "gradient_checkpointing": True,
        "sentence_transformers": {"version": "5"},
        "_attn_implementation": REPOSITORY,
    }
    (tmp_path / "config.json").write_text(json.dumps({**config, **more, "num_labels": 10**9}))
    state = load_encoder(settings).state()
    assert not state.fitted["config"].keys() & (more.keys() | {"num_labels", "id2label", "_name_or_path"})
    modules = encoder_from_state(state).model.modules()
    assert not any(getattr(module, "gradient_checkpointing", False) for module in modules)


def test_the_installed_version_of_transformers_is_allowed():
    from packaging.specifiers import SpecifierSet

    assert transformers.__version__ in SpecifierSet(">=5.10.1,<6")


def _state_of(kind, **changes):
    """The state that a model of a kind would have saved, even if its settings are invalid."""
    settings = {"model_type": kind, **KINDS[kind], **changes}
    with torch.device("meta"):
        model = architectures.new_model(settings)
        model.pooler = None
    arrays = {name: np.zeros(tuple(tensor.shape), np.float32) for name, tensor in model.state_dict().items()}
    arrays["tokenizer.json"] = np.frombuffer(json.dumps(tokenizer()).encode(), np.uint8)
    return State("checkpoint", {}, {"config": settings, "pooling": "mean", "pad_id": 0}, arrays=arrays)


_NO_SIZE = {"hidden_size": 0, "num_attention_heads": 12}
_FREE = {
    "ELECTRA's positions": ("electra", {"embedding_size": 0, "max_position_embeddings": 2 * 10**8}),
    "ALBERT's positions": ("albert", {"embedding_size": 0, "max_position_embeddings": 2 * 10**8}),
    "ALBERT's layers": ("albert", {"num_hidden_layers": 1000}),
    "DeBERTa of no size": ("deberta", {**_NO_SIZE, "relative_attention": False, "position_biased_input": True}),
    "positions that are computed": (
        "distilbert",
        {"sinusoidal_pos_embds": True, "dim": 64, "max_position_embeddings": 40_000},
    ),
}


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors:UserWarning")
@pytest.mark.parametrize("name", _FREE)
def test_settings_are_checked_even_if_weights_are_empty(name):
    kind, changes = _FREE[name]
    settings = {"model_type": kind, **KINDS[kind], **changes}
    shapes = _shapes_of(settings)
    if settings.get("hidden_size") == 0:
        del settings["num_attention_heads"]  # transformers then uses its default
    with pytest.raises(ValueError, match=r"are empty|contradicts its weights"):
        architectures.check_config(settings, shapes)


def _shapes_of(settings):
    computed = settings.pop("sinusoidal_pos_embds", False)  # computing them takes long even on the meta device
    with torch.device("meta"):
        model = architectures.new_model(settings)
    if computed:
        settings["sinusoidal_pos_embds"] = computed
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def test_prototypes_without_dimensions_are_refused():
    none = np.empty((10**8, 0), np.float32)
    arrays = {"prototypes": none, "free_vectors": none[:0], "centres": none[:0]}
    with pytest.raises(ModelError, match="prototypes are not vectors of 0"):
        tables_from(State("prime", {}, {"n_labels": 10**8, "labels_per_row": 1}, arrays=arrays), dim=0)


_UNREADABLE = {
    "one bucket": ("deberta-v2", {"position_buckets": 1}),
    "no buckets": ("deberta-v2", {"position_buckets": 0}),
    "an even kernel": ("deberta-v2", {"conv_kernel_size": 2}),
    "a wide kernel": ("deberta-v2", {"conv_kernel_size": 1001}),
    **{f"{kind} without padding": (kind, {"pad_token_id": None}) for kind in ("roberta", "xlm-roberta", "camembert")},
    "few of the buckets that are fixed": ("mpnet", {"relative_attention_num_buckets": 31}),
    "positions for padding alone": ("roberta", {"max_position_embeddings": 1}),
    "BERT without types": ("bert", {"type_vocab_size": 0}),
}


@pytest.mark.parametrize("name", _UNREADABLE)
def test_an_encoder_that_cannot_encode_a_text_is_refused_on_loading(name):
    kind, changes = _UNREADABLE[name]
    with pytest.raises(ModelError) as e:
        encoder_from_state(_state_of(kind, **changes))
    assert "\n" not in str(e.value)


def test_an_error_while_encoding_is_one_clear_sentence(state, monkeypatch):
    def fail(*_):
        raise RuntimeError("sizes differ\nat many lines")

    monkeypatch.setattr(CheckpointEncoder, "forward", fail)
    with pytest.raises(ModelError, match=r"cannot be restored from its files \(sizes differ\): save the model again$"):
        encoder_from_state(state)


@pytest.mark.parametrize("kind", KINDS)
def test_no_encoder_has_special_tokens_outside_its_vocabulary(kind):
    config = architectures.new_config({"model_type": kind, **KINDS[kind]})
    marks = [value for name, value in config.to_dict().items() if name.endswith("_token_id") and value is not None]
    assert all(0 <= mark < config.vocab_size for mark in marks)
