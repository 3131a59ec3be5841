"""Tokenizers with vocabularies as large as the largest in use can be read, saved and loaded."""

from __future__ import annotations

import json
from itertools import islice, product

import pytest
from tests.dual_encoder.hostile import tokenizer
from tests.dual_encoder.samples import QUICK, texts_and_labels, write_checkpoint

import labelwood as lw
from labelwood.dual_encoder.model.tokenizer import SubwordTokenizer
from labelwood.errors import LabelwoodError

pytestmark = pytest.mark.deep

_WORDS = {"pre_tokenizer": {"type": "Whitespace"}}


def unigram(n):
    """A Unigram model with as many pieces as XLM-RoBERTa."""
    return {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], *([f"q{i}", -i / 100] for i in range(n))]}


def word_piece(n):
    """A WordPiece model with as many tokens as LaBSE."""
    vocabulary = {"[UNK]": 0} | {f"q{i}": i + 1 for i in range(n)}
    options = {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    return {"type": "WordPiece", "vocab": vocabulary, **options}


def bpe(n):
    """A BPE model with as many merges as Llama and Qwen, written as pairs, like in newer files."""
    letters = ["q", "0", *(chr(0x4E00 + i) for i in range(400))]
    pairs = [list(pair) for pair in islice(product(letters, repeat=2), n)]
    tokens = ["<unk>", *letters, *("".join(pair) for pair in pairs)]
    return {"type": "BPE", "unk_token": "<unk>", "vocab": {token: i for i, token in enumerate(tokens)}, "merges": pairs}


LARGE = {"unigram": lambda: unigram(250_001), "word pieces": lambda: word_piece(501_152), "bpe": lambda: bpe(130_000)}


@pytest.mark.parametrize("name", LARGE)
def test_a_model_with_a_large_vocabulary_is_saved_and_loaded(name, tmp_path):
    text = json.dumps(tokenizer(model=LARGE[name](), **_WORDS))
    words = SubwordTokenizer(text, pad_id=0)
    assert words.encode(["q0 q0"], 8)[0].count(0) == 0, "its tokens are known"
    folder = write_checkpoint(tmp_path / "checkpoint", vocab_size=words.n_tokens)
    (tmp_path / "checkpoint" / "tokenizer.json").write_text(text)
    settings = {**QUICK, "encoder": {"checkpoint": folder, "max_tokens": 8}, "training": {"epochs": 1}}
    texts, Y, labels = texts_and_labels()
    model = lw.PrimeClassifier(settings=settings).fit(texts, Y, labels)
    model.save(tmp_path / "model")
    expected = model.predict_topk(texts[:4], 3)
    assert lw.load(tmp_path / "model").predict_topk(texts[:4], 3).ids.tolist() == expected.ids.tolist()


def test_a_tokenizer_file_with_too_many_values_is_refused():
    with pytest.raises(LabelwoodError, match="values or more and the limit is 4000000"):
        SubwordTokenizer("[" + "0," * 4_000_000 + "0]", pad_id=0)
