"""Tests that need torch say so: where deep tests are left out, torch is hidden and their files are not opened."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.conftest import pytest_ignore_collect

ROOT = Path(__file__).parents[1]
LEAN = ROOT / "tests" / "lean"
TRY = """
import importlib.util, subprocess, sys
try:
    import {name}
    print("imported")
except ModuleNotFoundError as error:
    print(error.name, importlib.util.find_spec("{name}"))
"""


def hidden():
    """The packages that are hidden from the fast tests."""
    found = re.search(r"^HIDDEN = \{(.*)\}$", (LEAN / "sitecustomize.py").read_text("utf-8"), re.MULTILINE)
    return set(re.findall(r'"(\w+)"', found[1]))


def test_all_that_the_deep_extras_install_is_hidden():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    wanted = [line for name in ("deep", "onnx", "test-deep") for line in extras[name]]
    assert {re.match(r"\w+", line)[0] for line in wanted} - {"labelwood"} <= hidden()


@pytest.mark.parametrize("name", sorted(hidden()))
def test_a_hidden_package_is_as_if_it_were_not_installed(name):
    done = subprocess.run(
        [sys.executable, "-c", TRY.format(name=name)],
        env={**os.environ, "PYTHONPATH": str(LEAN)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [name, "None"]


@pytest.mark.parametrize(
    ("mark", "chosen", "is_left_out"),
    [
        ("pytestmark = pytest.mark.deep", "not deep and not slow", True),
        ("pytestmark = [pytest.mark.deep, pytest.mark.slow]", "not deep", True),
        ("pytestmark = pytest.mark.deep", "deep or slow", False),
        ("pytestmark = pytest.mark.deep", "", False),
        ("pytestmark = pytest.mark.slow", "not deep and not slow", False),
        ("", "not deep", False),
    ],
)
def test_a_file_of_deep_tests_is_opened_only_where_they_run(mark, chosen, is_left_out, tmp_path):
    file = tmp_path / "test_it.py"
    file.write_text(f"import pytest\nimport torch\n\n{mark}\n")
    config = SimpleNamespace(option=SimpleNamespace(markexpr=chosen))
    assert bool(pytest_ignore_collect(file, config)) is is_left_out
