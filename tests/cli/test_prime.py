"""A dual encoder is trained, evaluated and used from the command line like every other model."""

from __future__ import annotations

import json

import pytest

import labelwood as lw
from labelwood.dual_encoder import settings as module

SETTINGS = """
model = "prime"
[settings.encoder]
checkpoint = "tiny:16"
[settings.batches]
size = 4
random_epochs = 1
[settings.training]
epochs = 40
learning_rate = 0.02
warm_up = 1.0
"""


@pytest.fixture
def settings(tmp_path):
    path = tmp_path / "prime.toml"
    path.write_text(SETTINGS)
    return path


@pytest.fixture
def prime(labelwood, pets, settings, tmp_path):
    result = labelwood("train", pets, "-o", tmp_path / "prime", "--config", settings, "--json")
    assert result.status == 0, result.err
    assert result.json["features"] == 16
    return tmp_path / "prime"


@pytest.mark.deep
def test_a_saved_dual_encoder_is_evaluated_described_and_used(labelwood, prime, pets):
    assert labelwood("evaluate", prime, pets, "--ks", "1", "--json").json["P@1"] == 100.0
    rows = [json.loads(line) for line in labelwood("predict", prime, pets, "-k", 2).out.splitlines()]
    assert {label["label"] for label in rows[0]["labels"]} == {"animal", "pet"}
    facts = labelwood("info", prime, "--json").json
    assert facts["parts"]["model"]["kind"] == "prime"
    assert lw.load(prime).suggest(["a red rose"], k=1)[0][0][0] == "plant"


@pytest.mark.deep
def test_labels_learn_from_the_texts_in_a_label_file(labelwood, pets, settings, tmp_path):
    labels = tmp_path / "labels.jsonl"
    texts = {"animal": "beast", "pet": "tame", "plant": "green", "tree": "tall wood"}
    labels.write_text("".join(json.dumps({"id": k, "text": v}) + "\n" for k, v in texts.items()))
    arguments = ("train", pets, "-o", tmp_path / "described", "--config", settings, "--label-file", labels)
    assert labelwood(*arguments, "--set", "settings.training.epochs=1").status == 0
    model = lw.load(tmp_path / "described")
    assert model.label_texts_.to_pylist() == list(texts.values())
    assert model.model_.settings.training.epochs == 1


@pytest.mark.deep
def test_a_filter_keeps_pairs_from_being_answers(labelwood, prime, model, pets, tmp_path):
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("0 0\n0 1\n2 2\n")  # animal, pet; plant
    for any_model in (prime, model):
        result = labelwood("predict", any_model, pets, "-k", 2, "--filter-file", pairs)
        assert result.status == 0, result.err
        names = [[label["label"] for label in json.loads(line)["labels"]] for line in result.out.splitlines()]
        assert not {"animal", "pet"} & set(names[0])
        assert "plant" not in names[2]
        assert len(names) == 4
        assert names[1][0] in ("animal", "pet")


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--set", "settings.loss.margn=1", "loss.margn is not a setting"),
        ("--set", "vectorizer.ngrams=[1, 2]", "remove the table vectorizer"),
        ("--set", "backend=tpu", "backend"),
        ("--preset", "accurate", "--preset is for the model tree"),
    ],
)
def test_bad_usage_is_one_line(labelwood, pets, settings, tmp_path, *, option, value, sentence):
    result = labelwood("train", pets, "-o", tmp_path / "bad", "--config", settings, option, value)
    assert result.status == 2
    assert sentence in result.err
    assert result.err.count("\n") == 1
    assert not (tmp_path / "bad").exists()


def test_labels_without_names_and_a_missing_extra_are_one_line(labelwood, settings, pets, tmp_path, monkeypatch):
    numbered = tmp_path / "numbered.jsonl"
    numbered.write_text('{"text": "a dog", "labels": ["17"]}\n')
    assert "name a label file" in labelwood("train", numbered, "-o", tmp_path / "bad", "--config", settings).err
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    result = labelwood("train", pets, "-o", tmp_path / "bad", "--config", settings)
    assert result.status == 2
    assert "pip install 'labelwood[deep]'" in result.err
