"""Pages of results are what their commands write, and say of each table where it was measured."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from lab.experiments.common import page, parts

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
COMMANDS = {
    "aggregated_labels": "lab.experiments.aggregated_labels.page",
    "benchmarks": "lab.benchmarks.page",
    "disentanglement": "lab.experiments.disentanglement.page",
    "interpolated_trees": "lab.experiments.interpolated_trees.page",
    "prime": "lab.experiments.prime.page",
    "softmax_trees": "lab.experiments.softmax_tree.page",
}
OF_TORCH = {"prime": [pytest.mark.deep]}
MADE = {"commit": "abc1234", "date": "2030-01-02", "machine": "two cores"}


@pytest.mark.parametrize("name", [pytest.param(name, marks=OF_TORCH.get(name, [])) for name in COMMANDS])
def test_a_page_is_what_its_command_writes(name):
    text = import_module(COMMANDS[name]).text()
    assert text == (RESULTS / f"{name}.md").read_text("utf-8")
    assert f"\n\n`python -m {COMMANDS[name]}` wrote this page.\n" in text


def test_the_index_counts_the_tables_of_all_pages():
    text = page.index()
    assert text == (RESULTS / "index.md").read_text("utf-8")
    assert {*re.findall(r"\]\((\w+)\.md\)", text)} == {*COMMANDS, "attacks"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_table_has_a_place_and_says_where_it_was_measured(name):
    folder = ROOT.joinpath(*COMMANDS[name].split(".")[:-1])
    places = set(re.findall(r"^<!-- (\S+)\.md -->$", (folder / "page.md").read_text("utf-8"), re.MULTILINE))
    assert {file.stem for file in (folder / "kept").glob("*.md")} <= places
    text = (RESULTS / f"{name}.md").read_text("utf-8")
    assert len(re.findall(r"^\*(?:Recorded|No record kept)", text, re.MULTILINE)) == len(places)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A template, and a run with its table, its record and where it was made."""
    monkeypatch.setattr(page, "ROOT", tmp_path.parent)
    (tmp_path / "kept").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "page.md").write_text("# Speed\n\nHow fast it is:\n\n<!-- speed-all.md -->\n")
    (tmp_path / "kept/speed-all.md").write_text('<!-- [{"since": "0123456", "date": "2029-12-31"}] -->\n\n| a |\n')
    (tmp_path / "out/speed-all.md").write_text("| b |\n")
    (tmp_path / "out/speed.json").write_text('{"b": 1}')
    (tmp_path / "out/other.json").write_text("{}")
    (tmp_path / "out/made.json").write_text(json.dumps({"speed": MADE}))
    return tmp_path


def test_a_table_of_a_new_run_takes_the_place_of_one_without_a_record(folder):
    before = page.filled(folder / "page.md")
    page.keep(folder / "out", ["speed-all", "no-such"], folder / "kept")
    after = page.filled(folder / "page.md")
    assert "*No record kept: in the documents since `0123456` (2029-12-31).*\n\n| a |" in before
    assert "Tables without a record: 1" in before
    assert "*Recorded at `abc1234` (2030-01-02) on two cores.*\n\n| b |" in after
    assert "Tables with a record: 1. *Recorded at `abc1234` (2030-01-02) on two cores.*" in after
    assert sorted(file.name for file in (folder / "kept").iterdir()) == ["speed-all.md", "speed.json"]


def test_a_run_that_finds_the_same_again_was_not_made_again(tmp_path, monkeypatch):
    seen = []
    for commit, found in (("first", 1), ("second", 1), ("third", 2)):
        monkeypatch.setattr(parts, "made_now", lambda commit=commit: commit)
        parts.keep(tmp_path, "part", "set", {"P@1": found}, ["set"])
        seen.append(json.loads((tmp_path / "made.json").read_text("utf-8"))["part"])
    assert seen == ["first", "first", "third"]
