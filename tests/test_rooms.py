"""Rooms import from the rooms above them only; docs/reference/architecture.md has their order."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "labelwood"


def order() -> list[str]:
    page = (ROOT / "docs" / "reference" / "architecture.md").read_text("utf-8")
    table = page.split("| room | what it holds |")[1].split("\n\n")[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


def imports(tree: ast.AST) -> list[tuple[int, str]]:
    """Line and room of each import of Labelwood's own, but for those that only type checkers see."""
    found: list[tuple[int, str]] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module == "labelwood":
            names = [f"labelwood.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found += [(node.lineno, name.split(".")[1]) for name in names if name.startswith("labelwood.")]
        found += imports(node)
    return found


def room_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def test_every_room_has_its_place():
    rooms = {room_of(file) for file in SOURCE.rglob("*.py")} - {"__init__"}
    assert set(order()) == rooms
    assert len(order()) == len(set(order()))


def test_rooms_import_from_rooms_above_them():
    place = {room: number for number, room in enumerate(order())}
    backwards = [
        f"{file.relative_to(ROOT)}, line {line}: {room_of(file)} imports {room}"
        for file in sorted(SOURCE.rglob("*.py"))
        if room_of(file) != "__init__"
        for line, room in imports(ast.parse(file.read_text("utf-8")))
        if room in place and place[room] > place[room_of(file)]
    ]
    assert backwards == []


def test_an_import_inside_a_function_is_seen():
    program = "def f():\n    if True:\n        from labelwood.cli import main\n"
    assert imports(ast.parse(program)) == [(3, "cli")]
    assert imports(ast.parse("from labelwood import cli, trees")) == [(1, "cli"), (1, "trees")]
