"""The supported kinds of encoders and their settings; nothing else is passed to transformers.

A configuration from a file could name code to run, a repository to download, or sizes that exceed any memory. So its
kind must be in this list, which also names the classes. Only listed settings pass, each checked by a rule. Sizes must
be those of the weights in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias

from labelwood.dual_encoder.model.inert_settings import INERT

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
Rule: TypeAlias = Callable[[Any, Mapping[str, Any], Shapes], bool]

_WORDS = "embeddings.word_embeddings.weight"
_POSITIONS = "embeddings.position_embeddings.weight"
_LARGEST = 1_000_000  # limit of sizes that need little memory
_MOST_LAYERS = 100  # limit if layers share weights, so that weights do not show their number
_MOST_COMPUTED = 1 << 20  # numbers in position embeddings that are computed one by one; DistilBERT has 512 × 768
_WIDEST_KERNEL = 31  # limit for a convolution over tokens; DeBERTa has 3
_ACTIVATIONS = (
    "gelu|gelu_10|gelu_accurate|gelu_fast|gelu_new|gelu_python|gelu_pytorch_tanh|leaky_relu|linear|mish|quick_gelu|relu|"
    "relu2|relu6|sigmoid|silu|swish|tanh"
)


@dataclass(frozen=True)
class Architecture:
    """One kind of encoder: its classes in transformers, and a rule for each setting.

    Example:
        >>> ARCHITECTURES["bert"].model
        'BertModel'
    """

    config: str
    model: str
    rules: Mapping[str, Rule]


def check_config(config: Mapping[str, Any], shapes: Shapes) -> dict[str, Any]:
    """The settings that the encoder depends on; raises `ValueError` if one is unknown or breaks its rule.

    Example:
        >>> check_config({"model_type": "detr", "backbone": "somebody/something"}, {})
        Traceback (most recent call last):
        ...
        ValueError: its type is 'detr'; supported are albert, bert, camembert, deberta, deberta-v2, distilbert, \
electra, modernbert, mpnet, roberta, xlm-roberta
    """
    architecture = architecture_of(config)
    for name, shape in shapes.items():
        if 0 in shape:  # such an array has no bytes, however large its other axes are
            raise ValueError(f"its weights {_short(name)} are empty")
    kept = {"model_type": config["model_type"]}
    for name, value in config.items():
        if name in architecture.rules:
            if not architecture.rules[name](value, config, shapes):
                raise ValueError(f"its {name} is {_short(value)}, which contradicts its weights or is not allowed")
            kept[name] = value
        elif name in _FIXED:
            if value not in _FIXED[name]:
                raise ValueError(f"its {name} is {_short(value)}, but a text encoder needs {_FIXED[name][0]!r}")
        elif name not in INERT:
            raise ValueError(f"its configuration has {_short(name)}, which no {config['model_type']} has")
    return kept


def known_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The supported settings of a checkpoint's configuration; raises `ValueError` for one that must not be ignored.

    Example:
        >>> known_settings({"model_type": "bert", "hidden_size": 8, "gradient_checkpointing": False})
        {'model_type': 'bert', 'hidden_size': 8}
        >>> known_settings({"model_type": "bert", "auto_map": {"AutoModel": "somebody/something"}})
        Traceback (most recent call last):
        ...
        ValueError: its configuration asks for code or weights of another kind ('auto_map')
    """
    architecture = architecture_of(config)
    for name, value in config.items():
        if value and name.startswith(_NOT_IGNORED):
            raise ValueError(f"its configuration asks for code or weights of another kind ({_short(name)})")
    known = {"model_type", *architecture.rules, *_FIXED}
    return {name: value for name, value in config.items() if name in known}


def architecture_of(config: Mapping[str, Any]) -> Architecture:
    """The architecture of a configuration; raises `ValueError` for a type that is not supported.

    Example:
        >>> architecture_of({"model_type": "roberta"}).config
        'RobertaConfig'
    """
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in ARCHITECTURES:
        raise ValueError(f"its type is {_short(kind)}; supported are {', '.join(sorted(ARCHITECTURES))}")
    return ARCHITECTURES[kind]


def new_model(settings: Mapping[str, Any]) -> Any:
    """A model with random weights, from checked settings. It reads no files and uses no network.

    Example:
        >>> sizes = {"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
        >>> new_model({"model_type": "bert", "intermediate_size": 8, **sizes}).config.hidden_size
        8
    """
    return model_class(settings)(new_config(settings))


def new_config(settings: Mapping[str, Any]) -> Any:
    """The configuration for transformers, from checked settings.

    Example:
        >>> new_config({"model_type": "electra", "embedding_size": 4}).embedding_size
        4
    """
    import transformers

    own = {name: value for name, value in settings.items() if name != "model_type"}
    return getattr(transformers, architecture_of(settings).config)(**_NO_SPECIAL_TOKENS, **own)


def model_class(settings: Mapping[str, Any]) -> Any:
    """The model's class in transformers.

    Example:
        >>> model_class({"model_type": "mpnet"}).__name__
        'MPNetModel'
    """
    import transformers

    return getattr(transformers, architecture_of(settings).model)


def settings_from(config: Any) -> dict[str, Any]:
    """The settings of a model's configuration to save: those that `check_config` accepts.

    Example:
        >>> settings_from(new_config({"model_type": "bert", "num_hidden_layers": 3}))["num_hidden_layers"]
        3
    """
    whole = config.to_dict()
    architecture = architecture_of(whole)
    return {name: whole[name] for name in ("model_type", *architecture.rules) if name in whole}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


def _size(array: str, axis: int) -> Rule:
    """The size of a weight array along an axis."""
    return lambda value, config, shapes: type(value) is int and shapes.get(array, ())[axis : axis + 1] == (value,)


def _size_if_there(array: str, least: int) -> Rule:
    """The number of vectors in an array; any number within limits if there is no such array."""

    def rule(value: Any, config: Mapping[str, Any], shapes: Shapes) -> bool:
        if type(value) is not int or value > _LARGEST:
            return False
        return shapes[array][:1] == (value,) if array in shapes else least <= value <= (_LARGEST if least else 0)

    return rule


def _parts(prefix: str) -> Rule:
    """The number of parts that the names of weights count."""

    def rule(value: Any, config: Mapping[str, Any], shapes: Shapes) -> bool:
        found = {name[len(prefix) + 1 :].partition(".")[0] for name in shapes if name.startswith(f"{prefix}.")}
        return type(value) is int and value == len(found) >= 1

    return rule


def _heads(of: str) -> Rule:
    """A number of heads that divides the size."""

    def rule(value: Any, config: Mapping[str, Any], shapes: Shapes) -> bool:
        size = config.get(of)
        return type(value) is int and type(size) is int and 1 <= value <= size and size % value == 0

    return rule


def _whole(least: int, most: int) -> Rule:
    return lambda value, config, shapes: type(value) is int and least <= value <= most


def _number(least: float, most: float) -> Rule:
    return lambda value, config, shapes: type(value) in (int, float) and isfinite(value) and least <= value <= most


def _one_of(*choices: Any) -> Rule:
    return lambda value, config, shapes: any(value is choice or value == choice for choice in choices)


def _flag(value: Any, config: Mapping[str, Any], shapes: Shapes) -> bool:
    return isinstance(value, bool)


def _padding(value: Any, config: Mapping[str, Any], shapes: Shapes) -> bool:
    size = config.get("vocab_size")
    return value is None or (type(value) is int and type(size) is int and 0 <= value < size)


def _required_padding(value: Any, config: Mapping[str, Any], shapes: Shapes) -> bool:
    """A padding token, which must exist because positions are counted from it."""
    return value is not None and _padding(value, config, shapes)


def _kernel(value: Any, config: Mapping[str, Any], shapes: Shapes) -> bool:
    """The width of a kernel: an even one would change the number of tokens."""
    return type(value) is int and (value == 0 or (value % 2 == 1 and 1 <= value <= _WIDEST_KERNEL))


def _buckets(value: Any, config: Mapping[str, Any], shapes: Shapes) -> bool:
    """A number of buckets: with one, transformers would divide by its half, which is zero."""
    return type(value) is int and (value == -1 or 2 <= value <= _LARGEST)


def _mpnet_buckets(value: Any, config: Mapping[str, Any], shapes: Shapes) -> bool:
    """At least 32 buckets: transformers always uses 32."""
    return _size("encoder.relative_attention_bias.weight", 0)(value, config, shapes) and value >= 32


def _few_positions(value: Any, config: Mapping[str, Any], shapes: Shapes) -> bool:
    """Whether positions are computed: only allowed if that does not take long."""
    n_positions, dim = (*shapes.get(_POSITIONS, ()), _LARGEST, _LARGEST)[:2]
    return isinstance(value, bool) and (not value or n_positions * dim <= _MOST_COMPUTED)


def _relations(value: Any, config: Mapping[str, Any], shapes: Shapes) -> bool:
    named = value.split("|") if isinstance(value, str) else value
    return named is None or (isinstance(named, list) and all(name in ("p2c", "c2p") for name in named))


def _layer_types(value: Any, config: Mapping[str, Any], shapes: Shapes) -> bool:
    known = ("full_attention", "sliding_attention")
    return isinstance(value, list) and len(value) == config.get("num_hidden_layers") and all(t in known for t in value)


def _rotations(value: Any, config: Mapping[str, Any], shapes: Shapes) -> bool:
    """Plain rotary positions for each kind of layer: only a base."""
    if value is None:
        return True
    is_known = isinstance(value, dict) and value.keys() <= {"full_attention", "sliding_attention"}
    return is_known and all(map(_is_rotation, value.values()))


def _is_rotation(value: Any) -> bool:
    if not isinstance(value, dict) or not value.keys() <= {"rope_type", "rope_theta"}:
        return False
    return value.get("rope_type", "default") == "default" and _rate(value.get("rope_theta", 1.0), {}, {})


_share, _epsilon, _rate = _number(0, 0.999), _number(0, 1), _number(1, 1e12)
_activation = _one_of(*_ACTIVATIONS.split("|"))
_BASE: dict[str, Rule] = {"vocab_size": _size(_WORDS, 0), "pad_token_id": _padding}
_BERT: dict[str, Rule] = _BASE | {
    "hidden_size": _size(_WORDS, 1),
    "num_hidden_layers": _parts("encoder.layer"),
    "num_attention_heads": _heads("hidden_size"),
    "intermediate_size": _size("encoder.layer.0.intermediate.dense.weight", 0),
    "hidden_act": _activation,
    "hidden_dropout_prob": _share,
    "attention_probs_dropout_prob": _share,
    "max_position_embeddings": _size_if_there(_POSITIONS, 1),
    "type_vocab_size": _size_if_there("embeddings.token_type_embeddings.weight", 0),
    "layer_norm_eps": _epsilon,
}
_ROBERTA: dict[str, Rule] = _BERT | {"pad_token_id": _required_padding}
_DEBERTA: dict[str, Rule] = _BERT | {
    "relative_attention": _flag,
    "max_relative_positions": _whole(-1, _LARGEST),
    "position_buckets": _buckets,
    "position_biased_input": _flag,
    "pos_att_type": _relations,
    "norm_rel_ebd": _one_of("none", "layer_norm"),
    "share_att_key": _flag,
    "conv_kernel_size": _kernel,
    "conv_groups": _whole(1, _LARGEST),
    "conv_act": _activation,
}
_MODERN: dict[str, Rule] = {
    "vocab_size": _size("embeddings.tok_embeddings.weight", 0),
    "pad_token_id": _padding,
    "hidden_size": _size("embeddings.tok_embeddings.weight", 1),
    "num_hidden_layers": _parts("layers"),
    "num_attention_heads": _heads("hidden_size"),
    "intermediate_size": _size("layers.0.mlp.Wo.weight", 1),
    "hidden_activation": _activation,
    "max_position_embeddings": _whole(1, _LARGEST),
    "norm_eps": _epsilon,
    "norm_bias": _flag,
    "attention_bias": _flag,
    "mlp_bias": _flag,
    "attention_dropout": _share,
    "embedding_dropout": _share,
    "mlp_dropout": _share,
    "local_attention": _whole(1, _LARGEST),
    "layer_types": _layer_types,
    "rope_parameters": _rotations,
    "global_attn_every_n_layers": _whole(1, _LARGEST),
    "global_rope_theta": _rate,
    "local_rope_theta": _rate,
}
_ALBERT_LAYER = "encoder.albert_layer_groups.0.albert_layers"
ARCHITECTURES: Mapping[str, Architecture] = {
    "bert": Architecture("BertConfig", "BertModel", _BERT),
    "roberta": Architecture("RobertaConfig", "RobertaModel", _ROBERTA),
    "xlm-roberta": Architecture("XLMRobertaConfig", "XLMRobertaModel", _ROBERTA),
    "camembert": Architecture("CamembertConfig", "CamembertModel", _ROBERTA),
    "mpnet": Architecture(
        "MPNetConfig",
        "MPNetModel",
        {name: rule for name, rule in _ROBERTA.items() if name != "type_vocab_size"}
        | {"relative_attention_num_buckets": _mpnet_buckets},
    ),
    "electra": Architecture(
        "ElectraConfig",
        "ElectraModel",
        _BERT
        | {"embedding_size": _size(_WORDS, 1), "hidden_size": _size("encoder.layer.0.attention.self.query.weight", 0)},
    ),
    "deberta": Architecture("DebertaConfig", "DebertaModel", _DEBERTA),
    "deberta-v2": Architecture("DebertaV2Config", "DebertaV2Model", _DEBERTA),
    "albert": Architecture(
        "AlbertConfig",
        "AlbertModel",
        _BERT
        | {
            "embedding_size": _size(_WORDS, 1),
            "hidden_size": _size("encoder.embedding_hidden_mapping_in.weight", 0),
            "intermediate_size": _size(f"{_ALBERT_LAYER}.0.ffn.weight", 0),
            "num_hidden_layers": _whole(1, _MOST_LAYERS),
            "num_hidden_groups": _parts("encoder.albert_layer_groups"),
            "inner_group_num": _parts(_ALBERT_LAYER),
        },
    ),
    "distilbert": Architecture(
        "DistilBertConfig",
        "DistilBertModel",
        _BASE
        | {
            "dim": _size(_WORDS, 1),
            "n_layers": _parts("transformer.layer"),
            "n_heads": _heads("dim"),
            "hidden_dim": _size("transformer.layer.0.ffn.lin1.weight", 0),
            "max_position_embeddings": _size_if_there(_POSITIONS, 1),
            "activation": _activation,
            "dropout": _share,
            "attention_dropout": _share,
            "sinusoidal_pos_embds": _few_positions,
        },
    ),
    "modernbert": Architecture("ModernBertConfig", "ModernBertModel", _MODERN),
}
# Settings that would make it another kind of model, with the allowed values.
_FIXED: Mapping[str, tuple[Any, ...]] = {
    "is_decoder": (False,),
    "add_cross_attention": (False,),
    "is_encoder_decoder": (False,),
    "position_embedding_type": ("absolute", None),
    "pruned_heads": ({}, None),
    "rope_scaling": (None,),
}
# The tokenizer adds special tokens. The defaults of transformers could be outside the vocabulary.
_NO_SPECIAL_TOKENS = dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"))
# Unsupported settings of a checkpoint are ignored, except for these: without them it would be another encoder.
_NOT_IGNORED = ("auto_map", "quantization_config", "backbone", "per_layer_config", "trust_remote_code")
