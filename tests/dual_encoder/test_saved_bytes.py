"""A saved model tells nothing about the machine: the same training gives the same bytes, without paths and speeds."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.dual_encoder.samples import changed, texts_and_labels, write_checkpoint

import labelwood as lw
from labelwood.errors import ParameterError
from labelwood.groups.multi_instance import MultiInstanceClassifier

pytestmark = pytest.mark.deep

SHORT = {"epochs": 1, "held_out": 0.2}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint"))


def of_a_folder(folder):
    encoder = {"checkpoint": str(folder / "minilm"), "max_tokens": 8}
    return lw.PrimeClassifier(settings=changed(encoder=encoder, training=SHORT), checkpoints=folder / "state")


def fused(folder):
    return lw.FusedClassifier(members=[lw.TextClassifier(), of_a_folder(folder)], refit=False)


def tiny(folder):
    return lw.PrimeClassifier(settings=changed(training=SHORT), cache=folder / "cache")


def contents(folder):
    return {file.relative_to(folder): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def check_same_and_without(words, folders):
    first, second = map(contents, folders)
    assert first == second
    whole = b"".join(first.values())
    assert [word for word in words if word.encode() in whole] == []


@pytest.mark.parametrize("make", [tiny, of_a_folder, fused])
def test_the_same_training_gives_the_same_bytes_without_paths_and_speeds(tmp_path, checkpoint, make):
    for name in ("a", "b"):  # the encoder is in another folder each time
        shutil.copytree(checkpoint, tmp_path / name / "minilm")
        make(tmp_path / name).fit(*texts_and_labels()).save(tmp_path / name / "model")
    words = [str(tmp_path), str(Path.home()), "queries_per_second"]
    check_same_and_without(words, [tmp_path / "a" / "model", tmp_path / "b" / "model"])


def test_a_multi_instance_network_gives_the_same_bytes_without_paths(tmp_path):
    rng = np.random.default_rng(0)
    bags, truth = rng.random((10, 4, 6)).astype(np.float32), (rng.random((10, 3)) < 0.5).astype(np.float32)
    for name in ("a", "b"):
        MultiInstanceClassifier(epochs=2).fit(bags, truth).save(tmp_path / name)
    check_same_and_without([str(tmp_path)], [tmp_path / "a", tmp_path / "b"])


def test_a_loaded_model_needs_the_path_of_its_encoder_to_train_again(tmp_path, checkpoint):
    texts, Y, label_texts = texts_and_labels()
    folder = tmp_path / "minilm"
    shutil.copytree(checkpoint, folder)
    of_a_folder(tmp_path).fit(texts, Y, label_texts).save(tmp_path / "model")
    loaded = lw.load(tmp_path / "model")
    assert loaded.settings_.encoder.checkpoint == "…/minilm"
    assert loaded.get_params()["settings"].encoder.checkpoint == "…/minilm"
    assert loaded.add_labels(["label3 name3"]) == [24]
    assert loaded.fit_classifiers(texts, Y.toarray()[:, np.r_[:24, 3]]).classifiers_.shape == (25, 8)
    with pytest.raises(ParameterError, match=r"in a folder 'minilm', and does not say where it was: set encoder\.ch"):
        loaded.fit(texts, Y, label_texts)
    again = loaded.settings.with_changes({"encoder": {"checkpoint": str(folder)}})
    assert loaded.set_params(settings=again).fit(texts, Y, label_texts).n_labels_ == 24


@pytest.mark.parametrize(
    ("name", "kept"),
    [("somebody/minilm", "somebody/minilm"), ("tiny:32", "tiny:32"), ("/home/ann/models/minilm", "…/minilm")],
)
def test_paths_in_older_models_are_dropped_and_names_on_the_hub_are_kept(name, kept):
    state = lw.PrimeClassifier(settings=changed(training=SHORT)).fit(*texts_and_labels()).state()
    state.params["settings"]["encoder"]["checkpoint"] = name
    assert lw.PrimeClassifier.from_state(state).settings_.encoder.checkpoint == kept
