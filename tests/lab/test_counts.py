"""What is counted in a source is what stands there."""

from __future__ import annotations

import pytest

from lab.counts import figures

ONE = """
from typing import Any

KINDS = {"tree": "package.trees:Tree", "oak": "package.trees:Oak"}
OTHERS = {"tree": "a: b", "number": 3}

class Tree:
    def fit(self, X: Any, Y: Any, *, weights: float = 1.0) -> None: ...

class Oak(Tree):
    def fit(self, X: int, Y: int, *, weights: float = 1.0) -> None: ...

class Elm:
    def fit(self, texts: list[Any], *more: Any, k=5) -> None: ...
"""
RUN = "".join(f"x{number} = {number}\n" for number in range(7))


@pytest.fixture
def root(tmp_path):
    """A checkout of a small package."""
    for name, text in {"src/one.py": ONE, "src/two.py": RUN, "src/three.py": f"# a comment\n{RUN}\ny = 1\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "native").mkdir()
    (tmp_path / "native" / "long.cpp").write_text("int x;\n" * 401)
    return tmp_path


def test_registries_are_dictionaries_with_places_of_classes(root):
    assert figures(root)["registries of kinds"] == ["src/one.py: KINDS"]


def test_signatures_are_told_apart_by_names_and_defaults(root):
    assert figures(root)["forms of fit"] == {
        "(self, X, Y, *, weights=1.0)": ["Tree", "Oak"],
        "(self, texts, *more, k=5)": ["Elm"],
    }


def test_lines_are_counted_and_long_files_named(root):
    found = figures(root)
    assert found["lines in the wheel"] == ONE.count("\n") + 7 + 10
    assert (found["native lines"], found["files over 400 lines"]) == (401, 1)
    assert next(iter(found["largest files"].items())) == ("native/long.cpp", 401)


def test_lines_that_stand_in_two_places_are_counted_in_both(root):
    assert figures(root)["repeated lines"]["Python"] == {"runs": 2, "lines": 14}


def test_parameters_that_are_any_are_those_of_no_other_type(root):
    assert figures(root)["parameters that are Any"] == {"any": 3, "of": 8, "percent": 37.5}
