"""`make` says in one sentence what a machine lacks."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("PYTHON=no-such-python", "Python 3.11 or newer and found no 'no-such-python'"),
        ("PYTHON=false", "Python 3.11 or newer and 'false' is older"),
        ("CXX=no-such-compiler", "C++20 compiler and 'no-such-compiler' is none"),
        ("CXX=false", "C++20 compiler and 'false' is none"),
    ],
)
def test_what_is_missing_is_named_with_the_fix(setting, words, tmp_path):
    done = subprocess.run(
        ["make", "--no-print-directory", "demo", f"PYTHON={sys.executable}", f"VENV={tmp_path}/venv", setting],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    sentences = done.stdout.splitlines()
    assert len(sentences) == 1
    assert words in sentences[0]
    assert "install" in sentences[0]
