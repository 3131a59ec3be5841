"""What contributors are told is there: paths, targets of make, names in files."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
FOLDERS = "attack|docs|lab|native|src|tests"
# A name, and the file that it is in, as the guide says.
NAMES = [
    ("_arrays", "src/labelwood/contract/feature_model.py"),
    ("_restore", "src/labelwood/contract/feature_model.py"),
    ("_topk", "src/labelwood/contract/model.py"),
    ("_fit", "src/labelwood/contract/model.py"),
    ("KINDS", "src/labelwood/contract/kinds.py"),
    ("OVER_FEATURES", "tests/contract/conftest.py"),
    ("CASES", "tests/contract/conftest.py"),
    ("CANNOT", "tests/contract/conftest.py"),
    ("CASES", "tests/contract/test_real_size.py"),
    ("make_loss", "src/labelwood/dual_encoder/training/losses/__init__.py"),
    ("kind", "src/labelwood/dual_encoder/settings.py"),
    ("KINDS", "tests/dual_encoder/test_losses.py"),
    ("FORMATS", "src/labelwood/data/formats/__init__.py"),
    *((name, "src/labelwood/data/reading.py") for name in ("NAME", "HOLDS", "FIELDS", "RESERVED", "detect", "pieces")),
    ("NAME", "src/labelwood/cli/info.py"),
]


def targets():
    """Of each target that `make help` lists, its line."""
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    return dict(line.split(maxsplit=1) for line in done.stdout.splitlines())


def test_every_path_is_there():
    paths = set(re.findall(rf"(?<![\w.])((?:{FOLDERS})/[\w./-]+)", GUIDE))
    assert len(paths) > 20
    assert [path for path in paths if "NAME" not in path and not (ROOT / path).exists()] == []


@pytest.mark.parametrize(("name", "file"), NAMES)
def test_every_name_is_in_its_file(name, file):
    assert f"`{name}`" in GUIDE or f".{name}`" in GUIDE
    assert re.search(rf"^(    )?(def )?{name}\b", (ROOT / file).read_text("utf-8"), re.MULTILINE)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_every_target_that_is_mentioned_is_listed_by_help():
    pages = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "lab").rglob("*.md"),
    ]
    mentioned = {
        name for page in pages for name in re.findall(r"(?:`|^)make ([a-z][\w-]*)", page.read_text("utf-8"), re.M)
    }
    assert {"test", "demo", "test-fast"} <= mentioned <= {*targets()}


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_help_lists_every_target():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split()
    own = {name for name in phony if name not in {"FORCE", "$(LAB)"}}
    assert own <= {*targets()}
    assert len([name for name in targets() if name.startswith("experiment-")]) == 5
