"""Models that earlier versions saved load and answer as they did; `make.py` says how they were made."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from tests.golden.make import K, answers

import labelwood as lw
from labelwood.contract.kinds import KINDS

FOLDERS = sorted(Path(__file__).parent.glob("format-*"))
CASES = [(folder, name) for folder in FOLDERS for name in json.loads((folder / "answers.json").read_text("utf-8"))]
OF_TORCH = ("prime", "fused")  # whose vectors torch makes, which rounds otherwise on other processors


def marks_of(case):
    """What a model needs to be asked."""
    return [pytest.mark.deep] if any(word in case[1] for word in OF_TORCH) else []


@pytest.fixture(
    params=[pytest.param(case, marks=marks_of(case)) for case in CASES], ids=lambda case: f"{case[0].name}-{case[1]}"
)
def golden(request):
    """A saved model's folder, what it is asked for and what it answered."""
    folder, name = request.param
    told = json.loads((folder / "answers.json").read_text("utf-8"))[name]
    given = {
        "texts": lambda: json.loads((folder / "texts.json").read_text("utf-8")),
        "sparse": lambda: sparse.load_npz(folder / "sparse.npz"),
        "dense": lambda: np.load(folder / "dense.npy", allow_pickle=False),
    }[told["reads"]]()
    return folder / name, given, told


def same(told, found, *, exact):
    for name in ("all", "two labels"):
        assert found[name]["ids"] == told[name]["ids"]
        if exact:
            assert found[name]["scores"] == told[name]["scores"]
        else:
            of_torch, before = (np.array(answer[name]["scores"], float) for answer in (found, told))
            np.testing.assert_allclose(of_torch, before, rtol=1e-4, atol=1e-6)


def test_a_model_of_an_earlier_version_answers_as_it_did(golden):
    place, given, told = golden
    exact = not any(word in place.name for word in OF_TORCH)
    same(told, answers(lw.load(place), given), exact=exact)
    same(told, answers(lw.load(place, verify=False), given), exact=exact)


def test_a_model_of_an_earlier_version_is_saved_again_with_the_same_arrays(golden, tmp_path):
    place, given, told = golden
    lw.load(place).save(tmp_path / "again")
    again = lw.load(tmp_path / "again")
    same(told, answers(again, given), exact=not any(word in place.name for word in OF_TORCH))
    before, after = (
        sorted(file.name for file in folder.iterdir() if file.suffix != ".json")
        for folder in (place, tmp_path / "again")
    )
    assert before == after  # a name has the hash of what the file holds
    told_before, told_after = (told_of(folder) for folder in (place, tmp_path / "again"))
    assert told_before.items() <= told_after.items()  # later versions may have more parameters


def test_every_kind_of_model_has_a_golden_one():
    kinds = set()
    for folder, name in CASES:
        kinds |= kinds_in(json.loads((folder / name / "manifest.json").read_text("utf-8"))["model"])
    assert kinds >= set(KINDS)


def told_of(folder):
    """What a manifest says about a model and its parts: each value by the place where it stands."""
    values = {}

    def walk(value, place):
        if isinstance(value, dict):
            for name, inner in value.items():
                walk(inner, (*place, name))
        else:
            values[place] = value

    walk(json.loads((folder / "manifest.json").read_text("utf-8"))["model"], ())
    return values


def kinds_in(manifest):
    return {manifest["kind"]}.union(*(kinds_in(part) for part in manifest.get("parts", {}).values()))


def test_answers_are_of_several_labels():
    for folder, name in CASES:
        told = json.loads((folder / "answers.json").read_text("utf-8"))[name]["all"]["ids"]
        assert len({tuple(row) for row in told}) > 1
        assert all(len(row) == K for row in told)
