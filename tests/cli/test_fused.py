"""A tree and a dual encoder are fused, trained, evaluated and used from the command line as one model."""

from __future__ import annotations

import json

import pytest
from tests.pages import made_pages

import labelwood as lw

SETTINGS = """
model = "fused"
held_out = 0.2
[vectorizer]
ngrams = [1, 2]
[tree]
n_trees = 2
[prime.settings.encoder]
checkpoint = "tiny:16"
[prime.settings.batches]
size = 16
random_epochs = 1
[prime.settings.training]
epochs = 5
learning_rate = 0.02
warm_up = 1.0
"""


@pytest.fixture(scope="module")
def paragraphs(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "paragraphs.jsonl"
    pages = made_pages()
    rows = [{"text": text, "labels": [topic]} for text, topic in zip(pages.texts, pages.topics, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def settings(tmp_path):
    path = tmp_path / "fused.toml"
    path.write_text(SETTINGS)
    return path


@pytest.mark.deep
def test_a_fused_model_is_trained_evaluated_described_and_used(labelwood, paragraphs, settings, tmp_path):
    model = tmp_path / "fused"
    trained = labelwood("train", paragraphs, "-o", model, "--config", settings, "--threads", 1, "--json")
    assert trained.status == 0, trained.err
    assert trained.json["members"] == "tree, prime"

    tree, prime = lw.load(model).model_.members_
    assert (tree.model_.n_trees, list(tree.vectorizer_.ngrams)) == (2, [1, 2])
    assert prime.settings.encoder.checkpoint == "tiny:16"

    assert labelwood("evaluate", model, paragraphs, "--ks", "1", "--json").json["P@1"] > 90
    answer = labelwood("predict", model, paragraphs, "-k", 1, "--set", "prime.backend=torch")
    rows = [json.loads(line) for line in answer.out.splitlines()]
    assert rows[0]["labels"][0]["label"] == made_pages().topics[0]
    described = labelwood("info", model).out
    assert "model/member-1 (prime) [encoder]" in described
    assert "history=(5 entries)" in described


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--set", "tree.n_tree=2", "did you mean 'n_trees'?"),
        ("--set", "prime.setings=x", "did you mean 'settings'?"),
        ("--set", "tree=2", "tree must be a table"),
        ("--set", "n_trees=2", "FusedClassifier has no parameter 'n_trees'"),
        ("--preset", "none", "preset"),
    ],
)
def test_bad_usage_is_one_line(labelwood, paragraphs, tmp_path, *, option, value, sentence):
    result = labelwood("train", paragraphs, "-o", tmp_path / "bad", "--model", "fused", option, value)
    assert result.status == 2
    assert sentence in result.err
    assert result.err.count("\n") == 1


@pytest.mark.deep
def test_only_trees_can_be_explained(labelwood, paragraphs, settings, tmp_path):
    model = tmp_path / "fused"
    assert labelwood("train", paragraphs, "-o", model, "--config", settings).status == 0
    for label in ((), ("--label", "law")):
        result = labelwood("explain", model, *label)
        assert result.status == 2
        assert "train one with --model tree" in result.err
