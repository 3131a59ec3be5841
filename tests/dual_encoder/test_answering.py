"""Queries are encoded as in training, one or many at a time, and ONNX Runtime gives the same vectors as torch."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest
import torch
from tests.dual_encoder.samples import changed, texts_and_labels, write_checkpoint

import labelwood as lw
from labelwood.dual_encoder.answering import onnx_graph
from labelwood.dual_encoder.answering import queries as answering
from labelwood.dual_encoder.answering.queries import QueryEncoder
from labelwood.dual_encoder.data.tokens import Tokens
from labelwood.dual_encoder.model.embedding import embed_texts
from labelwood.dual_encoder.model.encoder import TinyEncoder, unit
from labelwood.dual_encoder.model.pretrained import load_encoder
from labelwood.dual_encoder.model.tokenizer import SubwordTokenizer
from labelwood.dual_encoder.settings import EncoderSettings
from labelwood.errors import LabelwoodError, ParameterError

pytestmark = pytest.mark.deep

TEXTS = ["", "q1 word2", "q3", *(f"word{i} q{i} " * (i % 7) for i in range(20))]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    torch.manual_seed(0)
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint"))


def encoder_of(checkpoint, pooling="mean"):
    """An encoder whose weights, including those of norms, are so large that each of them matters."""
    encoder = load_encoder(EncoderSettings(checkpoint=checkpoint, pooling=pooling))
    with torch.random.fork_rng():
        torch.manual_seed(1)
        for weights in encoder.parameters():
            weights.data += 0.3 * torch.randn_like(weights)
    return encoder


def expected(encoder, texts):
    return unit(embed_texts(encoder, Tokens.of(texts, encoder.tokenizer, max_tokens=16), device="cpu")).numpy()


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize(("backend", "least"), [("torch", 0.99999), ("onnx", 0.99999), ("onnx-int8", 0.98)])
def test_every_backend_gives_the_vectors_of_the_encoder(checkpoint, pooling, backend, least):
    encoder = encoder_of(checkpoint, pooling)
    found = QueryEncoder(encoder, max_tokens=16, backend=backend, n_threads=1)(TEXTS)
    assert found.dtype == np.float32
    assert (found * expected(encoder, TEXTS)).sum(axis=1).min() > least


@pytest.mark.parametrize("backend", ["onnx", "onnx-int8"])
def test_vectors_do_not_depend_on_other_texts_or_on_threads(checkpoint, backend):
    encoder = encoder_of(checkpoint)
    one, two = (QueryEncoder(encoder, max_tokens=16, backend=backend, n_threads=n) for n in (1, 2))
    together = one(TEXTS)
    assert np.array_equal(two(TEXTS), together)
    assert np.array_equal(np.concatenate([two([text]) for text in TEXTS]), together)


def test_few_texts_or_none_get_the_same_vectors_as_many(checkpoint):
    encode = QueryEncoder(encoder_of(checkpoint), max_tokens=16, n_threads=1)
    assert np.allclose(np.concatenate([encode(TEXTS[:3]), encode(TEXTS[3:])]), encode(TEXTS), atol=1e-6)
    assert encode([]).shape == (0, 8)


def test_distilbert_has_a_graph_too(tmp_path, checkpoint):
    from transformers import DistilBertConfig, DistilBertModel

    encoder = encoder_of(checkpoint)
    sizes = {"dim": 8, "hidden_dim": 16, "n_layers": 2, "n_heads": 2, "max_position_embeddings": 32}
    torch.manual_seed(2)
    encoder.model = DistilBertModel(DistilBertConfig(vocab_size=encoder.tokenizer.n_tokens, **sizes)).eval()
    found = QueryEncoder(encoder, max_tokens=16, backend="onnx", n_threads=1)(TEXTS)
    assert (found * expected(encoder, TEXTS)).sum(axis=1).min() > 0.99999


def test_a_text_without_tokens_gets_the_same_vector_from_the_graph(checkpoint):
    encoder = encoder_of(checkpoint)
    rules = json.loads(encoder.tokenizer.text)
    encoder.tokenizer = SubwordTokenizer(json.dumps({**rules, "post_processor": None}), pad_id=0)
    assert encoder.tokenizer.encode([""], 8) == [[]]
    by_torch, by_onnx = (
        QueryEncoder(encoder, max_tokens=16, backend=b, n_threads=1)(["", "q1"]) for b in ("torch", "onnx")
    )
    assert np.allclose(by_onnx, by_torch, atol=1e-5)
    assert not by_onnx[0].any()


def test_an_encoder_that_the_graph_does_not_support_is_refused(checkpoint, monkeypatch):
    with pytest.raises(LabelwoodError, match="kinds bert, distilbert"):
        QueryEncoder(TinyEncoder(), max_tokens=8, backend="onnx")
    encoder = encoder_of(checkpoint)
    encoder.model.config.hidden_act = "relu"
    with pytest.raises(LabelwoodError, match="activation 'relu'"):
        QueryEncoder(encoder, max_tokens=8, backend="onnx")
    encoder.model.config.hidden_act = "gelu"
    encoder.model.config.num_attention_heads = 4
    with pytest.raises(LabelwoodError, match="other vectors than this encoder"):
        QueryEncoder(encoder, max_tokens=8, backend="onnx")


def test_int8_weights_do_not_overflow_on_processors_that_add_in_16_bits():
    codes, scales = onnx_graph._as_int8(np.array([[1.0, -3.0, 0.0], [0.1, 2.0, 0.0]], np.float32))
    assert int(np.abs(codes).max()) * 255 * 2 < 2**15
    assert np.allclose(codes * scales, [[1.0, -3.0, 0.0], [0.1, 2.0, 0.0]], atol=0.03)


def test_bad_parameters_are_one_clear_sentence(checkpoint, monkeypatch):
    with pytest.raises(ParameterError, match="backend is 'tpu': give one of torch, onnx, onnx-int8"):
        QueryEncoder(TinyEncoder(), max_tokens=8, backend="tpu")
    with pytest.raises(ParameterError, match="computes on a CPU"):
        QueryEncoder(TinyEncoder(), max_tokens=8, backend="onnx", device="cuda")
    found = importlib.util.find_spec
    monkeypatch.setattr(answering, "find_spec", lambda name: None if name == "onnxruntime" else found(name))
    with pytest.raises(LabelwoodError, match=r"needs onnxruntime.*pip install 'labelwood\[onnx\]'"):
        QueryEncoder(encoder_of(checkpoint), max_tokens=8, backend="onnx")


@pytest.fixture(scope="module")
def model(checkpoint):
    settings = changed(encoder={"checkpoint": checkpoint}, training={"epochs": 1})
    return lw.PrimeClassifier(settings=settings, n_threads=1).fit(*texts_and_labels())


def test_a_classifier_gives_similar_answers_after_its_backend_has_changed(model):
    texts = texts_and_labels()[0]
    by_torch = model.predict_topk(texts, 24)
    before = model._query_encoder()
    by_onnx = model.set_params(backend="onnx").predict_topk(texts, 24)
    assert model._query_encoder() is not before
    model.set_params(backend="torch")
    assert np.allclose(by_torch.scores, by_onnx.scores, atol=1e-5)


def test_filtered_pairs_are_replaced_by_the_next_best_labels(model):
    texts = texts_and_labels()[0][:3]
    best = model.predict_topk(texts, 5)
    pairs = [(0, best.ids[0, 0]), (0, best.ids[0, 2]), (2, best.ids[2, 1])]
    kept = model.predict_topk(texts, 3, filters=pairs)
    assert kept.ids.tolist() == [
        [best.ids[0, 1], best.ids[0, 3], best.ids[0, 4]],
        best.ids[1, :3].tolist(),
        [best.ids[2, 0], best.ids[2, 2], best.ids[2, 3]],
    ]
