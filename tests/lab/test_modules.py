"""`lab` is a package like any other: its modules find each other, and no file changes where Python looks for them."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARIES_OF_RIVALS = {"faiss", "fasttext", "libmultilabel", "napkinxc", "omikuji", "pecos"}
OF_TORCH = ("lab.benchmarks.dual_encoder_latency", "lab.benchmarks.label_search", "lab.experiments.prime")
FILES = sorted(file.relative_to(ROOT).with_suffix("") for file in (ROOT / "lab").rglob("*.py"))


def named(path):
    """A module by its name, with the marker of what it needs."""
    module = ".".join(path.parts).removesuffix(".__init__")
    return pytest.param(module, marks=[pytest.mark.deep] if module.startswith(OF_TORCH) else [])


@pytest.mark.parametrize("module", [named(file) for file in FILES])
def test_a_module_finds_all_that_it_imports(module):
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        assert error.name in LIBRARIES_OF_RIVALS, error  # these have environments of their own


@pytest.mark.parametrize("module", [named(file) for file in FILES])
def test_functions_find_what_they_import_of_this_project(module):
    tree = ast.parse(Path(find_spec(module).origin).read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.startswith(("lab.", "labelwood")):
            for name in node.names:
                exec(f"from {node.module} import {name.name}", {})


def test_no_file_changes_where_python_looks_for_modules():
    change = re.compile(r"sys\.path(\.(append|insert|extend)|\[.*\] =| \+?= )")
    files = [file for folder in ("src", "lab", "attack", "tests") for file in (ROOT / folder).rglob("*.py")]
    assert [file for file in files if file != Path(__file__) and change.search(file.read_text("utf-8"))] == []
