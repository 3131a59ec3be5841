"""Damaged and odd folders: each is a `ModelError` of one line that names the place, and never a crash."""

import os
import random

import pytest
from tests.store.store_samples import contents, file_of, manifest_of, refused, reseal, survives, swap

from labelwood import store
from labelwood.errors import ModelError
from labelwood.store import migrate


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("kind", ["manifest", "arrays", "names"])
def test_a_file_cut_short_anywhere_is_refused(model, kind, verify):
    path = model / "manifest.json" if kind == "manifest" else file_of(model, kind)
    whole = path.read_bytes()
    for size in [*range(0, len(whole), 7), len(whole) - 1]:
        path.write_bytes(whole[:size])
        refused(model, verify, path.name)
    path.write_bytes(whole + b"\0")
    refused(model, verify, path.name)


@pytest.mark.parametrize("kind", ["manifest", "arrays", "names"])
def test_a_flipped_bit_anywhere_is_refused(model, kind):
    path = model / "manifest.json" if kind == "manifest" else file_of(model, kind)
    whole = path.read_bytes()
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << place % 8)]) + whole[place + 1 :])
        refused(model, True, path.name)
        survives(model, verify=False)


@pytest.mark.slow
@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("kind", ["arrays", "names"])
def test_random_damage_with_right_hashes_never_crashes(model, kind, verify):
    chance = random.Random(3)
    original, first = contents(model), file_of(model, kind).name
    whole = original[first]
    for _ in range(250):
        data = bytearray(whole)
        for _ in range(chance.choice([1, 1, 2, 8])):
            data[chance.randrange(len(data))] = chance.choice([0, 1, 127, 128, 255, chance.randrange(256)])
        swapped = swap(model, first, bytes(data))
        survives(model, verify)
        (model / swapped).unlink()
        for name, content in original.items():
            (model / name).write_bytes(content)


@pytest.mark.parametrize("kind", ["manifest", "arrays", "names"])
@pytest.mark.parametrize("how", ["link", "dangling link", "pipe", "folder", "missing"])
def test_a_file_that_is_not_a_plain_file_is_refused(model, kind, how):
    path = model / "manifest.json" if kind == "manifest" else file_of(model, kind)
    aside = path.rename(model.parent / "aside")
    if how == "link":
        path.symlink_to(aside)
    elif how == "dangling link":
        path.symlink_to(model.parent / "nothing")
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "folder":
        path.mkdir()
    refused(model, True, path.name)
    refused(model, False, path.name)


def test_a_newer_format_asks_for_an_upgrade(model):
    raw = manifest_of(model)
    reseal(model, raw | {"format_version": 2, "novelty": 1})
    refused(model, told="upgrade Labelwood")
    assert store.is_model(model)


def test_a_path_without_a_model_is_an_error_of_one_sentence(tmp_path):
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "none", told="does not exist")
    refused(tmp_path / "file", told="is a file")
    refused(tmp_path, told="no manifest.json")
    with pytest.raises(ModelError, match="cannot be opened"):
        store.read("a\0b")
    with pytest.raises(ModelError, match="does not exist"):
        store.describe(tmp_path / "none")


def test_an_older_format_is_brought_to_the_current_one(model, monkeypatch):
    raw = manifest_of(model)
    raw["format_version"], raw["root"] = 0, raw.pop("model")
    reseal(model, raw)
    refused(model, told="format version is 0")

    def from_0(old):
        return {key: value for key, value in old.items() if key != "root"} | {"model": old["root"]}

    monkeypatch.setitem(migrate.MIGRATIONS, 0, from_0)
    assert store.read(model).params == {"k": 5}
    assert store.describe(model)["format_version"] == 1
    reseal(model, {key: value for key, value in raw.items() if key != "root"})
    refused(model, told="from format version 0")


def test_other_files_in_the_folder_do_not_matter(model):
    (model / "README.md").write_text("about this model")
    store.read(model)
