"""Every malformed input is answered by one sentence that says where and what, with exit status 2, losing nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.malformed.cases import CASES


@pytest.fixture(scope="module")
def sound_model(tmp_path_factory):
    """A model that is fine."""
    import labelwood as lw

    path = tmp_path_factory.mktemp("sound") / "model"
    lw.TextClassifier().fit(["a dog", "a rose"], [["animal"], ["plant"]]).save(path)
    return path


def prepared(case, folder, model):
    for name, content in case.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return [part.format(model=model) for part in case.command]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_sentence_and_status_2(case, labelwood, tmp_path, monkeypatch, sound_model):
    monkeypatch.chdir(tmp_path)
    result = labelwood(*prepared(case, tmp_path, sound_model))
    assert result.status == 2, result
    assert result.err.count("\n") == 1, result.err
    assert result.err.startswith("labelwood: ")
    for word in case.words:
        assert word in result.err
    assert len(result.err) < 500
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert written == set(case.files), "nothing is written, nothing is lost"
    assert all((tmp_path / name).read_bytes() == content for name, content in case.files.items())


def test_there_are_at_least_sixty_different_cases():
    assert len({case.name for case in CASES}) == len(CASES) >= 60


def test_the_installed_program_answers_the_same(tmp_path, sound_model):
    case = CASES[0]
    program = Path(sys.executable).with_name("labelwood")
    done = subprocess.run(
        [program, *prepared(case, tmp_path, sound_model)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_a_damaged_model_is_noticed(labelwood, tmp_path, sound_model):
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"text": "a dog"}))
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in sound_model.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    assert labelwood("predict", copy, rows).status == 0
    for file in copy.iterdir():
        whole = file.read_bytes()
        for damaged in (whole[:-1], whole[: len(whole) // 2], bytes([whole[0] ^ 1]) + whole[1:]):
            file.write_bytes(damaged)
            result = labelwood("predict", copy, rows)
            assert result.status == 2
            assert result.err.count("\n") == 1
            assert "copy" in result.err
        file.write_bytes(whole)
