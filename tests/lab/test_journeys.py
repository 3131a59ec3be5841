"""The tracer counts what it says, and the same each time."""

from __future__ import annotations

import linecache
import sys
from importlib import import_module

import pytest

from lab import journeys
from lab.journeys import Trace, traced, traces

PACKAGE = {
    "one.py": """
        from package import two
        def first():
            return [second(number) for number in range(3)]
        def second(number):
            return two.check_params(number)
    """,
    "two.py": """
        def check_params(number):
            return third(number)
        def third(number):
            return check_all(number) if number else 0
        def check_all(number):
            return 1
    """,
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A small package instead of Labelwood."""
    folder = tmp_path / "package"
    folder.mkdir()
    for name, text in {"__init__.py": "", **PACKAGE}.items():
        (folder / name).write_text(text.replace("\n        ", "\n").strip() + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(journeys, "SOURCE", str(folder))
    linecache.clearcache()
    yield import_module("package.one")
    for name in ("package", "package.one", "package.two"):
        del sys.modules[name]


def test_files_functions_and_changes_of_file_are_counted(package):
    trace = traced(package.first)
    found = trace.figures()
    assert (found["files"], found["functions"]) == (2, 5)
    assert found["calls"] == 1 + 3 + 3 + 3 + 2
    assert found["changes"] == 1 + 2 + 2  # into two.py three times, and back twice
    assert found["checks: parameters"] == 3
    assert trace.functions() == {"one.py": ["first", "second"], "two.py": ["check_params", "third", "check_all"]}


def test_only_the_second_call_of_a_function_may_be_counted(package):
    trace = Trace("second")
    with trace.on():
        package.first()
    assert [name.split(":")[0] for _, name in trace.calls] == ["second", "check_params", "third", "check_all"]


@pytest.mark.parametrize("journey", ["train four rows", "suggest, list"])
def test_a_journey_is_the_same_each_time(journey):
    first, second = (traces([journey])[journey].figures() for _ in range(2))
    assert first == second
    assert 1 < first["files"] < first["functions"]
