"""labelwood explain: a label's copies on the terminal, as JSON, as a picture and as a page."""

from __future__ import annotations

import io
import json
import sys

import pytest

import labelwood as lw
from labelwood.trees import LabelTree

MEANINGS = {
    "fruit": ["juicy orchard", "sweet orchard", "juicy harvest", "sweet harvest"],
    "computer": ["fast chip", "bright screen", "fast network", "bright chip"],
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    texts, labels = [], []
    for meaning, phrases in MEANINGS.items():
        for number, phrase in enumerate(phrases * 10):
            name = f"{meaning} {number % 2}"
            texts.append(f"{phrase} {name}")
            labels.append([name, "apple"] if number % 4 == 3 else [name])
    path = tmp_path_factory.mktemp("explain") / "model"
    leaves = LabelTree.from_nested([[0, 1, 2], [3, 4]])  # fruit and apple, computers
    tree = lw.TreeClassifier(copies=2, tree=leaves, beam=1)
    lw.TextClassifier(model=tree).fit(texts, labels).save(path)
    return path


def test_a_label_is_explained_on_the_terminal(labelwood, model):
    result = labelwood("explain", model, "--label", "apple", "--words", 3)
    assert result.status == 0
    assert result.out.startswith("apple  lies in 2 leaves · 20 training rows\n")
    assert "copy 2: leaf " in result.out
    assert "words that lead here" in result.out
    assert max(map(len, result.out.splitlines())) <= 100


def test_json_is_one_complete_object(labelwood, model, tmp_path):
    picture = tmp_path / "apple.svg"
    result = labelwood("explain", model, "--label", "apple", "--siblings", 2, "--json", "-o", picture)
    found = json.loads(result.out)
    assert (found["label"], found["n_copies"], found["output"]) == ("apple", 2, str(picture))
    assert {"cluster_words", "words", "separating_words", "siblings", "characteristic"} <= set(found["trees"][0][0])
    assert len(found["trees"][0][0]["characteristic"]) <= 2


def test_pictures_and_pages_are_written(labelwood, model, tmp_path):
    for name, start in (("apple.svg", "<svg"), ("apple.html", "<!DOCTYPE html>")):
        assert labelwood("explain", model, "--label", "apple", "-o", tmp_path / name).status == 0
        assert (tmp_path / name).read_text("utf-8").startswith(start)


def test_without_a_label_the_most_interesting_labels_are_listed(labelwood, model):
    result = labelwood("explain", model)
    assert result.out.splitlines()[1].startswith("apple ")
    listed = labelwood("explain", model, "--json").json["labels"]
    assert listed[0]["label"] == "apple"
    assert 0 < listed[0]["score"] <= listed[0]["distance"] <= 1


def test_without_copies_there_is_nothing_to_list(labelwood, pets, tmp_path):
    assert labelwood("train", pets, "-o", tmp_path / "plain").status == 0
    assert "--set copies=2" in labelwood("explain", tmp_path / "plain").out
    assert labelwood("explain", tmp_path / "plain", "--json").json == {"labels": []}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--label", "appel"], "no label named 'appel'; did you mean 'apple'?"),
        (["-o", "x.svg"], "name it with --label"),
        (["--label", "apple", "-o", "x.png"], "end its name with .svg or .html"),
    ],
)
def test_bad_usage_is_one_sentence(labelwood, model, arguments, sentence):
    result = labelwood("explain", model, *arguments)
    assert result.status == 2
    assert result.out == ""
    assert sentence in result.err
    assert result.err.count("\n") == 1


def test_models_without_names_or_weights_of_words_say_so(labelwood, model, tmp_path):
    lw.TreeClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 1]]).save(tmp_path / "bare")
    result = labelwood("explain", tmp_path / "bare", "--label", "0")
    assert (result.status, "has no label names" in result.err) == (2, True)
    lw.TextClassifier(model="centroid").fit(["a dog"], [["animal"]]).save(tmp_path / "centroid")
    result = labelwood("explain", tmp_path / "centroid", "--label", "animal")
    assert (result.status, "train one with --model tree" in result.err) == (2, True)


def test_bars_are_plain_where_the_terminal_has_no_blocks(labelwood, model, monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")
    monkeypatch.setattr(sys, "stdout", out)
    labelwood("explain", model, "--label", "apple")
    out.flush()
    assert b"####" in out.buffer.getvalue()
