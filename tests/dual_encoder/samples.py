"""Small data and a small checkpoint for tests of dual encoders."""

from __future__ import annotations

import numpy as np
from scipy import sparse

QUICK = {
    "encoder": {"checkpoint": "tiny:32", "max_tokens": 8},
    "prototypes": {"free_vectors": 32, "feedforward": 64},
    "batches": {"size": 32, "random_epochs": 1, "refresh_every": 2, "cluster_size": 8, "double_at": []},
    "training": {"epochs": 4, "learning_rate": 0.01, "warm_up": 4.0, "precision": "fp32"},
}


def changed(**tables):
    """QUICK with some values replaced."""
    return {**QUICK, **{name: {**QUICK.get(name, {}), **values} for name, values in tables.items()}}


def texts_and_labels(n=96, n_labels=24, seed=0):
    """Texts of three words, one of which names the label; every fourth text has a second label."""
    rng = np.random.default_rng(seed)
    first = np.arange(n) % n_labels
    texts = [f"q{label} word{rng.integers(50)} word{rng.integers(50)}" for label in first]
    Y = np.zeros((n, n_labels), np.float32)
    Y[np.arange(n), first] = 1
    second = rng.integers(n_labels, size=n // 4)
    Y[np.arange(0, n, 4), second] = 1
    for row, label in zip(range(0, n, 4), second, strict=True):
        texts[row] += f" q{label}"
    return texts, sparse.csr_array(Y), [f"label{i} name{i}" for i in range(n_labels)]


def write_checkpoint(folder, **others):
    """A BERT with two layers and eight dimensions, with a tokenizer, as it would come from a hub."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *(f"{kind}{i}" for kind in ("q", "word", "label") for i in range(60))]
    rules = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    rules.normalizer = normalizers.Lowercase()
    rules.pre_tokenizer = pre_tokenizers.Whitespace()
    rules.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(tokenizer_object=rules, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(folder)
    sizes = {
        "vocab_size": len(words),
        "hidden_size": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "max_position_embeddings": 32,
    }
    config = BertConfig(**(sizes | others))
    BertModel(config).save_pretrained(folder)
    return str(folder)
