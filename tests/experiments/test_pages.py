"""Pages of results are what their commands write, and say of each table where it was measured."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = {
    "aggregated_labels": "experiments/aggregated_labels",
    "benchmarks": "benchmarks",
    "disentanglement": "experiments/disentanglement",
    "interpolated_trees": "experiments/interpolated_trees",
    "prime": "experiments/prime",
    "softmax_trees": "experiments/softmax_tree",
}
MADE = {"commit": "abc1234", "date": "2030-01-02", "machine": "two cores"}


def said(folder, code):
    """What Python prints in a folder of the experiments."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("page", COMMANDS)
def test_a_page_is_what_its_command_writes(page):
    text = said(COMMANDS[page], "import page; print(page.text(), end='')")
    assert text == (ROOT / f"docs/results/{page}.md").read_text("utf-8")


def test_the_index_counts_the_tables_of_all_pages():
    text = said("experiments", "from common.page import index; print(index(), end='')")
    assert text == (ROOT / "docs/results/index.md").read_text("utf-8")
    assert {*re.findall(r"\]\((\w+)\.md\)", text)} == {*COMMANDS, "attacks"}


@pytest.mark.parametrize("page", COMMANDS)
def test_every_table_has_a_place_and_says_where_it_was_measured(page):
    folder = ROOT / COMMANDS[page]
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


def test_a_table_of_a_new_run_takes_the_place_of_one_without_a_record(folder):
    code = f"""
from pathlib import Path
from common import page
page.ROOT = Path({str(folder.parent)!r})
template = Path({str(folder)!r}) / "page.md"
print(page.filled(template))
page.keep(template.parent / "out", ["speed-all", "no-such"], template.parent / "kept")
print(page.filled(template))
"""
    before, after = said("experiments", code).split("# Speed")[1:]
    assert "*No record kept: in the documents since `0123456` (2029-12-31).*\n\n| a |" in before
    assert "Tables without a record: 1" in before
    assert "*Recorded at `abc1234` (2030-01-02) on two cores.*\n\n| b |" in after
    assert "Tables with a record: 1. *Recorded at `abc1234` (2030-01-02) on two cores.*" in after
    assert sorted(file.name for file in (folder / "kept").iterdir()) == ["speed-all.md", "speed.json"]


def test_a_run_that_finds_the_same_again_was_not_made_again(tmp_path):
    code = f"""
from pathlib import Path
from common import parts
out = Path({str(tmp_path)!r})
for commit, found in (("first", 1), ("second", 1), ("third", 2)):
    parts.made_now = lambda: commit
    parts.keep(out, "part", "set", {{"P@1": found}}, ["set"])
    print((out / "made.json").read_text())
"""
    assert re.findall(r"first|second|third", said("experiments", code)) == ["first", "first", "third"]
