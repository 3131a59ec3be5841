"""Hostile configurations and tokenizer files that a model could contain, each with a name for its fault."""

from __future__ import annotations

import base64
import json
import random
import struct
from collections.abc import Iterator
from typing import Any

# Fits the weights of `samples.write_checkpoint`, with settings that older versions of transformers wrote.
CONFIG: dict[str, Any] = {
    "model_type": "bert",
    "vocab_size": 184,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 32,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
    "is_decoder": False,
    "add_cross_attention": False,
    "position_embedding_type": "absolute",
    "id2label": {"0": "LABEL_0", "1": "LABEL_1"},
    "label2id": {"LABEL_0": 0, "LABEL_1": 1},
    "architectures": ["BertModel"],
    "torch_dtype": "float32",
    "transformers_version": "4.57.6",
    "initializer_range": 0.02,
    "use_cache": True,
}
REPOSITORY = "somebody/something"
_OTHER_KINDS = """
detr conditional_detr table-transformer dpt maskformer mask2former upernet vitmatte zoedepth lightglue superglue
timm_wrapper timm_backbone clip siglip t5 gpt2 llama perceiver reformer funnel longformer encoder-decoder rag esm
vision-encoder-decoder speech-encoder-decoder musicgen bark unheard-of
"""
_CODE = {
    "auto_map": {"AutoModel": f"{REPOSITORY}--evil.Model"},
    "quantization_config": {"quant_method": "gptq", "bits": 4},
    "_attn_implementation": REPOSITORY,
    "_attn_implementation_internal": REPOSITORY,
    "attn_implementation": REPOSITORY,
    "_experts_implementation": REPOSITORY,
    "backbone": REPOSITORY,
    "backbone_kwargs": {"trust_remote_code": True},
    "backbone_config": {"model_type": "detr"},
    "use_pretrained_backbone": True,
    "use_timm_backbone": True,
    "trust_remote_code": True,
    "custom_pipelines": {"x": {"impl": "evil.Pipeline"}},
    "text_config": {"model_type": "bert", "num_hidden_layers": 10**6},
    "sub_configs": {"a": {}},
    "per_layer_config": {"0": {"hidden_size": 10**6}},
    "distributed_config": {"tp_size": 2},
    "fusion_config": {"patch_embeddings": True},
    "transformers_weights": "../../evil.bin",
    "encoder": {"model_type": "bert"},
    "num_self_attends_per_block": 10**6,
    "pruned_heads": {"0": [0]},
    "position_embedding_type": "relative_key",
    "is_decoder": True,
    "__class__": "evil",
}
_STRANGE = [10**9, 2**31 - 1, 2**63, 10**30, -1, 0, 3.5, 1e308, "8", "", None, True, [], [8], {}, {"a": 1}, REPOSITORY]
_SIZES = [name for name, value in CONFIG.items() if type(value) is int and name != "pad_token_id"]


def hostile_configs(rng: random.Random, n: int = 200) -> Iterator[tuple[str, dict[str, Any]]]:
    """Configurations that must be refused for the weights of `samples.write_checkpoint`."""
    for kind in _OTHER_KINDS.split():
        code = {"backbone": REPOSITORY, "backbone_kwargs": {"trust_remote_code": True}, "use_timm_backbone": False}
        yield f"type {kind}", CONFIG | {"model_type": kind}
        yield f"type {kind} with a backbone", {"model_type": kind} | code
    for kind in (None, 5, ["bert"], {"a": 1}):
        yield f"type {kind!r}", CONFIG | {"model_type": kind}
    for name, value in _CODE.items():
        yield f"asks for {name}", CONFIG | {name: value}
    for name in _SIZES:
        for value in _STRANGE:
            yield f"{name} is {value!r}", CONFIG | {name: value}
    for name in ("hidden_dropout_prob", "layer_norm_eps", "hidden_act", "pad_token_id", "is_decoder"):
        for value in (10**9, -1, "evil.function", [], {"a": 1}, REPOSITORY):
            yield f"{name} is {value!r}", CONFIG | {name: value}
    for i in range(n):
        name = rng.choice(_SIZES)
        # With half or twice as many heads, the same weights would be another encoder.
        factor = rng.choice([1000, 10**6] if name == "num_attention_heads" else [0.5, 1.5, 2, 1000, 10**6])
        yield f"random {i}: {name}", CONFIG | {name: int(CONFIG[name] * factor)}


def ignored_configs() -> Iterator[tuple[str, dict[str, Any]]]:
    """Configurations with strange settings that mean nothing for an encoder: they must have no effect."""
    yield "many labels", CONFIG | {"num_labels": 10**9}
    yield "a label far away", CONFIG | {"id2label": {str(2**31): "x"}}
    yield "a type of numbers that is none", CONFIG | {"torch_dtype": "evil.function", "dtype": REPOSITORY}
    yield "a class of tokenizers", CONFIG | {"tokenizer_class": "evil.Tokenizer", "architectures": ["evil.Model"]}
    yield "settings of text that is made", CONFIG | {"max_length": 10**9, "num_beams": 10**9, "prefix": "x" * 1000}


def tokenizer(**parts: Any) -> dict[str, Any]:
    """A small tokenizer file, with some parts replaced."""
    model = {"type": "WordLevel", "vocab": {"?": 0, "dog": 1, "a": 2}, "unk_token": "?"}
    empty = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return {"version": "1.0", **empty, "added_tokens": [], "model": model, **parts}


def charsmap(table: dict[str, str]) -> bytes:
    """SentencePiece's table of characters, as a trie whose nodes have 256 units each."""
    texts, starts = b"", {}
    for new in table.values():
        starts[new] = len(texts)
        texts += new.encode() + b"\0"
    prefixes = sorted({key.encode()[:n] for key in table for n in range(len(key.encode()) + 1)})
    bases = {prefix: 256 * i for i, prefix in enumerate(prefixes)}
    units = [0] * (256 * len(prefixes))
    for prefix, base in bases.items():
        if prefix:
            place = bases[prefix[:-1]] ^ prefix[-1]
            units[place] = prefix[-1] | (place ^ base) << 10
    for key, new in table.items():
        raw = key.encode()
        units[bases[raw[:-1]] ^ raw[-1]] |= 1 << 8
        units[bases[raw]] = starts[new] | 1 << 31
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + texts


def precompiled(raw: bytes) -> dict[str, Any]:
    """A normalizer with a table of characters."""
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(raw).decode()}


def split(pattern: str) -> dict[str, Any]:
    """A pre-tokenizer that splits by a regular expression."""
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def replace(pattern: dict[str, str], content: str) -> dict[str, Any]:
    """A normalizer that replaces a pattern."""
    return {"type": "Replace", "pattern": pattern, "content": content}


_A, _B = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}
_MARK = {"SpecialToken": {"id": "m", "type_id": 0}}


def template(single: list[Any], ids: list[Any] | None = None, tokens: list[str] | None = None) -> dict[str, Any]:
    """A post-processor that adds special tokens."""
    marks = {} if ids is None else {"m": {"id": "m", "ids": ids, "tokens": tokens or ["a"] * len(ids)}}
    return {"type": "TemplateProcessing", "single": single, "pair": [_A, _B], "special_tokens": marks}


def _added(content: str, number: int = 3) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "special"), False)
    return {"id": number, "content": content, "normalized": True, **flags}


def _chain(normalizers: list[Any]) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": normalizers}


def _nested(depth: int) -> dict[str, Any]:
    inner = _chain([])
    for _ in range(depth):
        inner = _chain([inner])
    return inner


PATTERNS = [
    r"(a|aa)+$", r"(a+)+[bc]", r"(x+x+)+y", r"(\w+\s?)+$", r"\s+$", r"a{0,100}a{0,100}[bc]", r"(?=(a+))\1+b", r"a+b?c",
    r"x*", r"x?", r"(", r"[", r"a{99999}", r"a{5,2}", r"a++", r"(?R)", r"\g<0>", "|", "a|", r"[a&&b]", "a" * 1000,
]  # fmt: skip


def _models() -> Iterator[tuple[str, Any]]:
    bpe = {"type": "BPE", "unk_token": "?"}
    yield "merge that is longer than any token", {**bpe, "vocab": {"?": 0, "ab": 1, "cd": 2}, "merges": [["ab", "cd"]]}
    merge = {"vocab": {"?": 0, "ab": 1, "c": 2}, "merges": ["ab c"], "continuing_subword_prefix": "####"}
    yield "merge without its prefix", {**bpe, **merge}
    yield "merge of three", {**bpe, "vocab": {"?": 0, "a": 1}, "merges": ["a a a"]}
    yield "dropout", {**bpe, "vocab": {"?": 0}, "merges": [], "dropout": 0.5}
    unigram = {"type": "Unigram", "unk_id": 0}
    yield "long token", {**unigram, "vocab": [["?", 0.0], ["a" * 3_000_000, -1.0]]}
    yield "token of 129 characters", {**unigram, "vocab": [["?", 0.0], ["a" * 129, -1.0]]}
    yield "token that is empty", {**unigram, "vocab": [["?", 0.0], ["", -1.0]]}
    yield "no unknown token", {**unigram, "vocab": [["?", 0.0]], "unk_id": None}
    yield "unknown token out of range", {**unigram, "vocab": [["?", 0.0]], "unk_id": 7}
    yield "no tokens", {**unigram, "vocab": []}
    yield "score that is text", {**unigram, "vocab": [["?", "0"]]}
    words = {"type": "WordPiece", "unk_token": "?", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    yield "long words", {**words, "vocab": {"?": 0}, "max_input_chars_per_word": 10**9}
    yield "words of 201 characters", {**words, "vocab": {"?": 0}, "max_input_chars_per_word": 201}
    yield "a long prefix", {**words, "vocab": {"?": 0}, "continuing_subword_prefix": "#" * 17}
    yield "unknown token that is none", {**words, "vocab": {"a": 0}}
    for number in (2**32 - 1, 2**40, -1, 1.5, True, "1", None):
        yield f"id {number!r}", {"type": "WordLevel", "vocab": {"?": 0, "dog": number}, "unk_token": "?"}
    yield "id twice", {"type": "WordLevel", "vocab": {"?": 0, "dog": 0}, "unk_token": "?"}
    yield "type that is not known", {"type": "Evil", "vocab": {"?": 0}}
    yield "field that is not known", {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?", "file": "/etc/passwd"}
    yield "no model", None


def _parts() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, raw in {
        "of one byte": b"\0",
        "of four gigabytes": struct.pack("<I", 2**32 - 1),
        "of none": struct.pack("<I", 0),
        "that leads out": struct.pack("<II", 4, 1000 << 10),
        "of a text that is not UTF-8": charsmap({"A": "a"}) + b"\xff",
        "of a long text": charsmap({"A": "a" * 1000}),
    }.items():
        yield f"table {name}", {"normalizer": precompiled(raw)}
    yield "table that is not base64", {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "?"}}
    yield "table that is missing", {"normalizer": {"type": "Precompiled", "precompiled_charsmap": None}}
    for pattern in PATTERNS:
        yield f"split by {pattern[:30]}", {"pre_tokenizer": split(pattern)}
        yield f"replace {pattern[:30]}", {"normalizer": replace({"Regex": pattern}, "")}
    yield "replace nothing", {"normalizer": replace({"String": ""}, "x")}
    yield "double 16 times", {"normalizer": _chain([replace({"String": "a"}, "aa")] * 15)}
    yield "grow by a long text", {"normalizer": replace({"String": "a"}, "a" * 100_000)}
    yield "grow by turns", {"normalizer": _chain([replace({"String": " "}, "\ufdfa"), {"type": "NFKC"}] * 7)}
    before, apart = {"type": "Prepend", "prepend": "a" * 8}, _added(" ") | {"normalized": False}
    yield "texts that are put before each part", {"normalizer": _chain([before] * 2), "added_tokens": [apart]}
    yield "a long text before each part", {"normalizer": {"type": "Prepend", "prepend": "a" * 9}}
    yield "growth before each part", {"normalizer": _chain([before] + [{"type": "NFKC"}] * 2), "added_tokens": [apart]}
    for kind in ("NFD", "NFKC", "Lowercase", "ByteLevel"):
        yield f"nothing before {kind}", {"normalizer": _chain([{"type": "Prepend", "prepend": ""}, {"type": kind}])}
    yield "replaced by 17 characters", {"normalizer": replace({"String": "a"}, "b" * 17)}
    underscores = {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": True}
    spaces = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False}
    pieces = [underscores, {"type": "FixedLength", "length": 1}] * 4 + [spaces] * 4
    yield "pieces of pieces", {"pre_tokenizer": {"type": "Sequence", "pretokenizers": pieces}}
    yield "bytes of bytes", {"normalizer": _chain([{"type": "ByteLevel"}] * 15)}
    yield "nested deeply", {"normalizer": _nested(25)}
    yield "nested too deeply for JSON", {"normalizer": _nested(5000)}
    yield "many parts", {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}] * 10_000}}
    yield "pieces of no length", {"pre_tokenizer": {"type": "FixedLength", "length": 0}}
    yield "pieces of a negative length", {"pre_tokenizer": {"type": "FixedLength", "length": -1}}
    yield "template without its text", {"post_processor": template([_B])}
    yield "template with its text twice", {"post_processor": template([_A, _A])}
    yield "mark that is not explained", {"post_processor": template([_MARK, _A])}
    yield "marks of two lengths", {"post_processor": template([_MARK, _A], [1, 1, 1], ["a"])}
    yield "millions of marks", {"post_processor": template([_MARK] * 2000 + [_A], [1] * 2000)}
    yield "seventeen marks", {"post_processor": template([_MARK, _A], [1] * 17)}
    yield "nine marks twice", {"post_processor": template([_MARK, _MARK, _A], [1] * 9)}
    ends = {"type": "BertProcessing", "sep": ["a", 2], "cls": ["a", 2]}
    yield "ends of ends", {"post_processor": {"type": "Sequence", "processors": [ends] * 9}}
    yield "a mark far away", {"post_processor": template([_MARK, _A], [2**32 - 1])}
    yield "templates of templates", {"post_processor": {"type": "Sequence", "processors": [template([_A])] * 5}}
    yield "added tokens of 20 MB", {"added_tokens": [_added(f"{i}" * 250, 3 + i) for i in range(16_000)]}
    grown = {"normalizer": _chain([replace({"String": "a"}, "\ufdfa" * 16), {"type": "NFKC"}])}
    yield "added tokens that grow", {**grown, "added_tokens": [_added(f"{i}{'a' * 990}", 3 + i) for i in range(100)]}
    yield "an added token far away", {"added_tokens": [_added("x", 2**32 - 1)]}
    yield "an added token without fields", {"added_tokens": [{"id": 3, "content": "x"}]}
    for part in ("normalizer", "pre_tokenizer", "post_processor"):
        for value in (
            {"type": "Evil"},
            {"type": None},
            [],
            "x",
            5,
            {"type": "Sequence"},
            {"type": "ByteLevel", "x": 1},
        ):
            yield f"{part} {value!r}", {part: value}
    yield "a part that is not known", {"run": "evil"}


def hostile_tokenizers() -> Iterator[tuple[str, str]]:
    """Tokenizer files that must be refused."""
    for name, parts in _parts():
        yield name, _dumped(tokenizer(**parts))
    for name, model in _models():
        yield f"model: {name}", _dumped(tokenizer(model=model))
    for text in ("", "{", "[]", "null", "{}", '{"version": NaN}', '{"model": {}, "model": {}}', '"\\ud800"'):
        yield f"text {text!r}", text


def mutated_tokenizers(rng: random.Random, n: int = 300) -> Iterator[tuple[str, str]]:
    """Tokenizer files with small faults anywhere: each must be refused, or must encode any text."""
    table = charsmap({"A": "a", "é": "e", "ﬁ": "fi", "𝐀": "A", "\t": " "})
    places = [i for i in range(0, len(table), 4) if any(table[i : i + 4])]
    for i in range(n):
        raw = bytearray(table)
        for _ in range(rng.randint(1, 3)):
            raw[rng.choice(places) + rng.randint(0, 3) - len(raw)] = rng.choice([0, 1, 0x80, 0xFF, rng.randint(0, 255)])
        del raw[len(raw) - rng.choice([0, 0, 0, 1, 4, 1000]) :]
        yield f"mutated table {i}", _dumped(tokenizer(normalizer=precompiled(bytes(raw))))
    whole = _dumped(tokenizer(normalizer=precompiled(table), post_processor=template([_MARK, _A], [1])))
    for i in range(n):
        at = rng.randrange(len(whole))
        some = rng.choice(["", "0", "-", '"', "[]", "{}", "null", "9" * 30, "\\u0000", whole[: rng.randint(0, 40)]])
        yield f"mutated text {i}", whole[:at] + some + whole[at + rng.randint(0, 3) :]


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value)
    except RecursionError:  # too deeply nested for Python's writer
        return '{"version": "1.0", "normalizer": ' + '{"type": "Sequence", "normalizers": [' * 5000
