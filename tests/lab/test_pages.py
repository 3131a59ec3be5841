"""Pages of results are what their commands write, and say of each table where it was measured."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from lab.experiments.common import page as pages
from lab.experiments.common import parts

ROOT = Path(__file__).parents[2]
MODULES = {
    "aggregated_labels": "lab.experiments.aggregated_labels",
    "benchmarks": "lab.benchmarks",
    "disentanglement": "lab.experiments.disentanglement",
    "interpolated_trees": "lab.experiments.interpolated_trees",
    "prime": "lab.experiments.prime",
    "softmax_trees": "lab.experiments.softmax_tree",
}
MADE = {"commit": "abc1234", "date": "2030-01-02", "machine": "two cores"}


def needs(page):
    """A parameter; the page on dual encoders reads its settings, which torch checks."""
    return pytest.param(page, marks=[pytest.mark.deep] if page == "prime" else [])


@pytest.mark.parametrize("page", [needs(page) for page in MODULES])
def test_a_page_is_what_its_command_writes(page):
    text = import_module(f"{MODULES[page]}.page").text()
    assert text == (ROOT / f"docs/results/{page}.md").read_text("utf-8")


def test_the_index_counts_the_tables_of_all_pages():
    text = pages.index()
    assert text == (ROOT / "docs/results/index.md").read_text("utf-8")
    assert {*re.findall(r"\]\((\w+)\.md\)", text)} == {*MODULES, "attacks"}


@pytest.mark.parametrize("page", MODULES)
def test_every_table_has_a_place_and_says_where_it_was_measured(page):
    folder = ROOT.joinpath(*MODULES[page].split("."))
    places = set(re.findall(r"^<!-- (\S+)\.md -->$", (folder / "page.md").read_text("utf-8"), re.MULTILINE))
    assert {file.stem for file in (folder / "kept").glob("*.md")} <= places
    text = (ROOT / f"docs/results/{page}.md").read_text("utf-8")
    assert len(re.findall(r"^\*(?:Recorded|No record kept)", text, re.MULTILINE)) == len(places)


@pytest.fixture
def folder(tmp_path):
    """A template, and a run with its table, its record and where it was made."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "page.md").write_text("# Speed\n\nHow fast it is:\n\n<!-- speed-all.md -->\n")
    (tmp_path / "kept/speed-all.md").write_text('<!-- [{"since": "0123456", "date": "2029-12-31"}] -->\n\n| a |\n')
    (tmp_path / "out/speed-all.md").write_text("| b |\n")
    (tmp_path / "out/speed.json").write_text('{"b": 1}')
    (tmp_path / "out/other.json").write_text("{}")
    (tmp_path / "out/made.json").write_text(json.dumps({"speed": MADE}))
    return tmp_path


def test_a_table_of_a_new_run_takes_the_place_of_one_without_a_record(folder, monkeypatch):
    monkeypatch.setattr(pages, "ROOT", folder.parent)
    before = pages.filled(folder / "page.md")
    assert "*No record kept: in the documents since `0123456` (2029-12-31).*\n\n| a |" in before
    assert "Tables without a record: 1" in before
    pages.keep(folder / "out", ["speed-all", "no-such"], folder / "kept")
    after = pages.filled(folder / "page.md")
    assert "*Recorded at `abc1234` (2030-01-02) on two cores.*\n\n| b |" in after
    assert "Tables with a record: 1. *Recorded at `abc1234` (2030-01-02) on two cores.*" in after
    assert sorted(file.name for file in (folder / "kept").iterdir()) == ["speed-all.md", "speed.json"]


def test_a_run_that_finds_the_same_again_was_not_made_again(tmp_path, monkeypatch):
    for commit, found, kept in (("first", 1, "first"), ("second", 1, "first"), ("third", 2, "third")):
        monkeypatch.setattr(parts, "made_now", lambda commit=commit: commit)
        parts.keep(tmp_path, "part", "set", {"P@1": found}, ["set"])
        assert json.loads((tmp_path / "made.json").read_text("utf-8")) == {"part": kept}
