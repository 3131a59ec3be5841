"""Dual encoders whose configuration or tokenizer was made to run code, to ask the network, or to end the process."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import numpy as np

from attack import model_samples, mutations
from attack.attacks.models import contents, use, warm
from attack.opened import Opened
from attack.protocol import CODE, FILE, Attack, Case, Failure

REPOSITORY = "attacker/model"
CODE_FILE = "from pathlib import Path\nPath({mark!r}).touch()\n"
# Types of models that build other models, or that have sizes that no weight bounds.
TYPES = [
    "bert",
    "distilbert",
    "roberta",
    "detr",
    "dpt",
    "perceiver",
    "timm_backbone",
    "encoder-decoder",
    "clip",
    "longformer",
]
TYPES += [
    "conditional_detr",
    "deformable_detr",
    "table-transformer",
    "vision-encoder-decoder",
    "xlnet",
    "mra",
    "albert",
    "t5",
]
KEYS: list[tuple[str, Any]] = [
    ("backbone", REPOSITORY),
    ("use_timm_backbone", False),
    ("use_pretrained_backbone", True),
    ("backbone_kwargs", {"trust_remote_code": True}),
    ("backbone_config", {"model_type": "timm_backbone", "backbone": REPOSITORY}),
    ("trust_remote_code", True),
    ("auto_map", {"AutoModel": f"{REPOSITORY}--code.Model", "AutoConfig": f"{REPOSITORY}--code.Config"}),
    ("_name_or_path", REPOSITORY),
    ("quantization_config", {"quant_method": "bitsandbytes", "load_in_8bit": True}),
    ("attn_implementation", "kernels-community/attn"),
    ("_attn_implementation", "flash_attention_2"),
    ("encoder", {"model_type": "bert", "_name_or_path": REPOSITORY}),
    ("text_config", {"model_type": "bert", "hidden_size": 10**9}),
    ("torch_dtype", "int8"),
    ("architectures", ["__import__('os').abort"]),
    ("num_labels", 2**31),
    ("id2label", {str(i): "x" for i in range(1000)}),
    ("num_self_attends_per_block", 10**6),
    ("chunk_size_feed_forward", 10**9),
    ("pruned_heads", {"0": [0, 1]}),
    ("problem_type", REPOSITORY),
    ("custom_pipelines", {"x": {"impl": "code.Pipeline"}}),
    ("base_model_tp_plan", {"layers.*": "colwise"}),
    ("distributed_config", {"enable_expert_parallel": True}),
]
_BACKBONE: dict[str, Any] = {"backbone": REPOSITORY, "backbone_config": None}
BARE: list[dict[str, Any]] = [
    {**_BACKBONE, "use_timm_backbone": False, "backbone_kwargs": {"trust_remote_code": True}},
    {**_BACKBONE, "use_timm_backbone": True, "use_pretrained_backbone": True},
    {**_BACKBONE, "use_pretrained_backbone": True},
    {},
]
CHARSMAPS = ["", "AAAA", "/////w==", "AAAAgAAAAAA=", "tAIAAAD//////w==", "A" * 1000, "%%%", "BAAAAAAAAAA="]


def configuration(case: Case) -> None:
    """Another type of model, keys that name code or repositories, numbers that cost memory or time."""
    opened = Opened(case.samples / "prime-bert")
    config = encoder_of(opened)["fitted"]["config"]
    if case.rng.random() < 0.4:  # a bare one, so that what is not said comes from the type or from elsewhere
        config.clear()
        config |= {"model_type": case.rng.choice(TYPES), **case.rng.choice(BARE)}
    elif case.rng.random() < 0.5:
        config["model_type"] = case.rng.choice(TYPES)
    for key, value in case.rng.sample(KEYS, case.rng.choice([0, 1, 2, 4])):
        config[key] = value
    numbers = [key for key, value in config.items() if isinstance(value, int | float)]
    if numbers and case.rng.random() < 0.5:
        key = case.rng.choice(numbers)
        config[key] = case.rng.choice([*mutations.WHOLE[:14], *mutations.REAL])
    _load(case, opened)


def tokenizer(case: Case) -> None:
    """Another tokenizer.json: hostile normalizers, patterns, models and processors."""
    opened = Opened(case.samples / "prime-bert")
    key = next(key for key in opened.arrays if key.endswith("tokenizer.json"))
    rules = json.loads(opened.arrays[key].tobytes())
    case.rng.choice([_normalizer, _pre_tokenizer, _any_value, _any_value, _any_value, _model])(case.rng, rules)
    try:
        text = json.dumps(rules).encode()
    except (ValueError, UnicodeEncodeError):
        return
    if case.rng.random() < 0.1:
        text = mutations.spoilt(case.rng, text)
    opened.arrays[key] = np.frombuffer(text, np.uint8).copy()
    _load(case, opened)


def _load(case: Case, opened: Opened) -> None:
    """Loads and uses a model next to code that it might be led to run."""
    import labelwood as lw

    place, mark = case.folder / "model", case.folder / "ran"
    try:
        opened.write(place)
    except (UnicodeEncodeError, ValueError):
        return
    code = case.folder / REPOSITORY
    code.mkdir(parents=True)
    for name in ("code.py", "modeling.py", "config.py", "__init__.py"):
        (code / name).write_text(CODE_FILE.format(mark=str(mark)))
    before = contents(place)
    try:
        use(lw.load(place), "prime-bert", case)
    finally:
        if mark.exists():
            raise Failure(CODE, "loading ran the code of a repository")
        if contents(place) != before:
            raise Failure(FILE, "loading changed the model's files")


def encoder_of(opened: Opened) -> dict[str, Any]:
    """The state of the encoder."""
    return next(state for _, state in opened.states() if state["kind"] == "checkpoint")


def _normalizer(rng: Random, rules: dict[str, Any]) -> None:
    made: list[Any] = [{"type": "Precompiled", "precompiled_charsmap": rng.choice(CHARSMAPS)}]
    made += [{"type": "Replace", "pattern": {"Regex": pattern}, "content": "x" * n} for pattern, n in _patterns(rng)]
    made += [
        {"type": "Sequence", "normalizers": [{"type": "NFKC"}] * 10_000},
        {"type": "Prepend", "prepend": "x" * 10**6},
    ]
    made += [{"type": "Unknown"}, {"type": "Precompiled", "precompiled_charsmap": _random_charsmap(rng)}, [], 3]
    rules["normalizer"] = rng.choice(made)


def _pre_tokenizer(rng: Random, rules: dict[str, Any]) -> None:
    made: list[Any] = [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        for pattern, _ in _patterns(rng)
    ]
    made += [{"type": "Sequence", "pretokenizers": []}, {"type": "Metaspace", "replacement": ""}, {"type": "ByteLevel"}]
    rules["pre_tokenizer"] = rng.choice(made)


def _patterns(rng: Random) -> list[tuple[str, int]]:
    patterns = [
        "",
        "(a+)+$",
        "(",
        "(?<n>x)\\g<n>",
        ".*.*.*=.*",
        "[\\s\\S]{0,65535}",
        "(?:(?:a|b)*)*c",
        "\\p{L}" * 1000,
        "\\",
        "a{99999}",
    ]
    return [(pattern, rng.choice([0, 1, 10_000])) for pattern in patterns]


def _random_charsmap(rng: Random) -> str:
    import base64

    size = rng.choice([0, 4, 8, 100, 2**31])
    return base64.b64encode(size.to_bytes(4, "little") + rng.randbytes(rng.choice([0, 3, 8, 100]))).decode()


def _model(rng: Random, rules: dict[str, Any]) -> None:
    """Another model, or token numbers that are large, missing or double."""
    vocab = rules["model"].get("vocab", {})
    if rng.random() < 0.5 and isinstance(vocab, dict):
        word = rng.choice(sorted(vocab))
        vocab[word] = rng.choice([10**6, 2**31 - 1, 2**32 - 1, 2**32, -1, 0])
    else:
        rules["model"] = rng.choice([
            {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "b"]]},
            {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"], "dropout": 0.5},
            {"type": "Unigram", "vocab": [["a", 1e308], ["b", -1e308]], "unk_id": 99},
            {"type": "Unigram", "vocab": [], "unk_id": 0, "byte_fallback": True},
            {"type": "WordPiece", "vocab": {"[UNK]": 0},
                "unk_token": "?", "continuing_subword_prefix": "", "max_input_chars_per_word": 0},
            {"type": "WordLevel", "vocab": {}, "unk_token": "[UNK]"},
        ])  # fmt: skip


def _any_value(rng: Random, rules: dict[str, Any]) -> None:
    for _ in range(rng.choice([1, 1, 2])):
        places = list(mutations.leaves(rules))
        tops = [place for place in places if place[0] is not rules["model"].get("vocab")] or places
        holder, key = rng.choice(tops)
        holder[key] = mutations.value(rng, holder[key], ["WordLevel", "BPE", "Unigram", "Sequence", "Regex", "[UNK]"])


def warm_bert(samples: Any) -> None:
    """Loads a sound one."""
    warm("prime-bert", samples)


_SHARED: dict[str, Any] = {"group": "models", "prepare": model_samples.save_all, "warm": warm_bert}
ATTACKS = [
    Attack(
        "encoder-config",
        "loads encoders whose configuration names code, repositories, sizes",
        configuration,
        400,
        40.0,
        **_SHARED,
    ),
    Attack("encoder-tokenizer", "loads encoders with a hostile tokenizer.json", tokenizer, 250, 40.0, **_SHARED),
]
