"""Options that several commands share."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from labelwood.errors import InputError, ParameterError

Assign = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="A parameter of the model as key=value; may be given several times."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object at the end of standard output.")]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Number of threads; all cores by default.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")]
NoVerify = Annotated[bool, typer.Option("--no-verify", help="Skip the checks of a model you trust.")]


def report(facts: dict[str, Any], as_json: bool, title: str | None = None) -> None:
    """Prints facts for people, or as one JSON object."""
    if as_json:
        sys.stdout.write(json.dumps(facts, ensure_ascii=False) + "\n")
        return
    if title:
        sys.stdout.write(title + "\n")
    width = max((len(name) for name in facts), default=0)
    for name, value in facts.items():
        sys.stdout.write(f"  {name:<{width}}  {_value_text(value)}\n")


def left_out(names: list[str], as_json: bool) -> dict[str, Any]:
    """The fields that a file could not hold, as an entry of the report; no entry if there are none."""
    return {"left_out": names if as_json else ", ".join(name or '""' for name in names)} if names else {}


def _value_text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def settings(config: Path | None, assignments: list[str], option: str = "--set") -> dict[str, Any]:
    """Parameters from a TOML file, overridden by ``key=value`` assignments; ``part.key`` sets a key of a table."""
    values: dict[str, Any] = {} if config is None else _toml(config)
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key:
            raise ParameterError(f"{option} {assignment!r} is not of the form key=value")
        table = values
        *parts, name = key.split(".")
        for part in parts:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise ParameterError(f"{option} {assignment!r}: {part!r} is a value and not a table")
        table[name] = _value(text)
    return values


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as e:
        raise InputError(f"cannot be read ({e.strerror}); check the name", path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise InputError(f"is not TOML ({e}); write lines like key = value", path) from None


def _value(text: str) -> Any:
    """The TOML value of a text (a number, true, a list), or the text itself if it is not TOML."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
