"""labelwood info: describe a model or a data file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from labelwood.cli import options
from labelwood.cli.reading import DataOptions, read_rows, with_data_options

NAME = "info"


@with_data_options(split="train")
def run(
    reading: DataOptions,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A saved model, or data in any format.")],
    json: options.Json = False,
) -> None:
    """Describe a saved model or a data file."""
    from labelwood import store

    if store.is_model(path):
        facts = store.describe(path)
        options.report(facts if json else _readable(facts), json, title=f"{path}: a model")
        return
    data = read_rows(path, reading)
    options.report(data.describe(), json, title=f"{path}: data")


def _readable(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts of a model, one per line: its parts, its size and its arrays."""
    lines: dict[str, Any] = _part_lines(facts["kind"], facts)
    for name, part in facts["parts"].items():
        lines |= _part_lines(f"{name} ({part['kind']})", part)
    lines["names"] = ", ".join(f"{length:,} {name}" for name, length in facts["names"].items())
    lines["size"] = f"{sum(facts['files'].values()):,} bytes"
    for name, array in facts["arrays"].items():
        lines[name] = f"{array['dtype']} {' × '.join(f'{n:,}' for n in array['shape']) or 'scalar'}"
    lines["written by"] = f"labelwood {facts['labelwood']}, format {facts['format_version']}"
    return lines


def _part_lines(name: str, part: dict[str, Any]) -> dict[str, str]:
    """The values of a part in one line; each table of settings has its own line, as in a TOML file."""
    # Learned values come first, and replace parameters of the same name.
    values = {**part["fitted"], **{key: v for key, v in part["params"].items() if key not in part["fitted"]}}
    tables = values.pop("settings", None)
    lines = {name: _join_values(values)}
    if isinstance(tables, dict):
        lines |= {
            f"{name} [{table}]": _join_values(value) for table, value in tables.items() if isinstance(value, dict)
        }
    return lines


def _join_values(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_short_value(value)}" for name, value in values.items())


def _short_value(value: Any) -> Any:
    """A value for people: a list of tables, such as the losses of all epochs, shows its length; --json shows all."""
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return f"({len(value)} entries)"
    if isinstance(value, dict):
        return f"({_join_values(value)})"
    return f"{value:.6g}" if isinstance(value, float) else value
