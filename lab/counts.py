"""What can be counted in the source alone: registries, forms of two methods, large files, repeated lines, `Any`.

Usage: python -m lab.counts [ROOT] [--json]

ROOT is a checkout, this one if none is given; nothing of it is run. What each figure counts stands in the docstring of
the function that counts it.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RUN = 6  # lines that make a repetition
LARGEST = 10
METHODS = ("fit", "predict_topk")
COMMENT = re.compile(r"^\s*(#|//|/\*|\*)")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def figures(root: Path) -> dict[str, Any]:
    """All of them, for one checkout."""
    package = sorted((root / "src").rglob("*.py"))
    native = sorted(file for file in (root / "native").rglob("*") if file.suffix in {".cpp", ".h", ".inc"})
    trees = {file: ast.parse(file.read_text("utf-8")) for file in package}
    lines = {file.relative_to(root).as_posix(): n_lines(file) for file in [*package, *native]}
    largest = sorted(lines.items(), key=lambda item: (-item[1], item[0]))[:LARGEST]
    return {
        "registries of kinds": registries(trees, root),
        **{f"forms of {name}": forms(trees, name) for name in METHODS},
        "files over 400 lines": sum(n > 400 for n in lines.values()),
        "largest files": dict(largest),
        "lines in the wheel": sum(
            n_lines(file) for file in (root / "src").rglob("*") if file.suffix in {".py", ".pyi"}
        ),
        "native lines": sum(n for file, n in lines.items() if file.startswith("native/") and "/tests/" not in file),
        "repeated lines": {
            "Python": repeated(package),
            "native": repeated([file for file in native if "tests" not in file.parts]),
        },
        "parameters that are Any": share_of_any(trees),
    }


def n_lines(file: Path) -> int:
    """Lines, empty ones among them."""
    return file.read_text("utf-8").count("\n")


def registries(trees: dict[Path, ast.Module], root: Path) -> list[str]:
    """Dictionaries of a module's own in which a value is the place of a class, as "package.module:Class"."""
    place = re.compile(r"[\w.]+:[A-Z]\w+")
    found = []
    for file, tree in trees.items():
        for node in (node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)):
            names = node.targets if isinstance(node, ast.Assign) else [node.target]
            if isinstance(node.value, ast.Dict) and any(place.fullmatch(text(each)) for each in node.value.values):
                found.append(f"{file.relative_to(root).as_posix()}: {ast.unparse(names[0])}")
    return found


def text(node: ast.expr) -> str:
    """What a string literal says, and nothing for anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def forms(trees: dict[Path, ast.Module], name: str) -> dict[str, list[str]]:
    """The signatures of the methods of that name, each with the classes that have it; annotations do not count."""
    found: dict[str, list[str]] = defaultdict(list)
    for tree in trees.values():
        for owner in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
            for method in owner.body:
                if isinstance(method, Function) and method.name == name and not is_overload(method):
                    found[signature(method)].append(owner.name)
    return dict(sorted(found.items()))


def is_overload(method: Function) -> bool:
    """Whether it only says a type."""
    return any(ast.unparse(each).endswith("overload") for each in method.decorator_list)


def signature(method: Function) -> str:
    """Names and defaults of the parameters."""
    given = method.args
    parts = [argument.arg for argument in [*given.posonlyargs, *given.args]]
    first = len(parts) - len(given.defaults)
    parts[first:] = [f"{name}={ast.unparse(value)}" for name, value in zip(parts[first:], given.defaults, strict=True)]
    if given.vararg or given.kwonlyargs:
        parts.append(f"*{given.vararg.arg}" if given.vararg else "*")
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        parts.append(argument.arg if default is None else f"{argument.arg}={ast.unparse(default)}")
    return f"({', '.join([*parts, *([f'**{given.kwarg.arg}'] if given.kwarg else [])])})"


def every_argument(function: Function) -> Iterator[ast.arg]:
    """All parameters but `self` and `cls`."""
    given = function.args
    for argument in (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg):
        if argument is not None and argument.arg not in {"self", "cls"}:
            yield argument


def repeated(files: list[Path]) -> dict[str, int]:
    """Runs of six equal lines that stand in more than one place, and how many lines lie in such runs.

    White space at the edges, empty lines, comments and imports are passed over.
    """
    places: dict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    for file in files:
        lines = [line.strip() for line in file.read_text("utf-8").splitlines() if not COMMENT.match(line)]
        lines = [line for line in lines if line and not line.startswith(("import ", "from ", "#include"))]
        for start in range(len(lines) - RUN + 1):
            places[tuple(lines[start : start + RUN])].append((file, start))
    runs = [each for each in places.values() if len(each) > 1]
    covered = {(file, start + offset) for each in runs for file, start in each for offset in range(RUN)}
    return {"runs": len(runs), "lines": len(covered)}


def share_of_any(trees: dict[Path, ast.Module]) -> dict[str, Any]:
    """Parameters of functions that are annotated as `Any` itself, not as a container of it, among those annotated."""
    kinds = Counter(
        ast.unparse(argument.annotation) == "Any"
        for tree in trees.values()
        for function in ast.walk(tree)
        if isinstance(function, Function)
        for argument in every_argument(function)
        if argument.annotation is not None
    )
    return {"any": kinds[True], "of": kinds.total(), "percent": round(100 * kinds[True] / kinds.total(), 1)}


def table(found: dict[str, Any]) -> str:
    """A line a figure; below, what is behind those that are lists."""
    whole = {name: value for name, value in found.items() if not isinstance(value, list | dict)}
    lines = [f"{name}: {value}\n" for name, value in whole.items()]
    for name, value in found.items():
        if name not in whole:
            items = [f"{key}: {each}" for key, each in value.items()] if isinstance(value, dict) else value
            lines += [f"{name} ({len(items)})\n", *(f"    {item}\n" for item in items)]
    return "".join(lines)


def main() -> None:
    """Prints the figures."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("root", type=Path, nargs="?", default=Path(__file__).parents[1])
    arguments.add_argument("--json", action="store_true", help="one object instead of a list")
    options = arguments.parse_args()
    found = figures(options.root.resolve())
    sys.stdout.write(json.dumps(found) + "\n" if options.json else table(found))


if __name__ == "__main__":
    main()
