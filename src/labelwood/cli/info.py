"""labelwood info: what a model or a data file holds."""

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
    """Say what a saved model or a data file holds."""
    from labelwood import store

    if store.is_model(path):
        facts = store.describe(path)
        options.report(facts if json else _readable(facts), json, title=f"{path}: a model")
        return
    data = read_rows(path, reading)
    options.report(data.describe(), json, title=f"{path}: data")


def _readable(facts: dict[str, Any]) -> dict[str, Any]:
    """A model's facts a line each: what it is made of, how large it is, and its arrays."""
    lines: dict[str, Any] = _described(facts["kind"], facts)
    for name, part in facts["parts"].items():
        lines |= _described(f"{name} ({part['kind']})", part)
    lines["names"] = ", ".join(f"{length:,} {name}" for name, length in facts["names"].items())
    lines["size"] = f"{sum(facts['files'].values()):,} bytes"
    for name, array in facts["arrays"].items():
        lines[name] = f"{array['dtype']} {' × '.join(f'{n:,}' for n in array['shape']) or 'scalar'}"
    lines["written by"] = f"labelwood {facts['labelwood']}, format {facts['format_version']}"
    return lines


def _described(name: str, part: dict[str, Any]) -> dict[str, str]:
    """A part's values in a line; each table of settings has a line of its own, as in a TOML file."""
    # What was learned comes first, and stands where a parameter of the same name said only how to learn it.
    values = {**part["fitted"], **{key: v for key, v in part["params"].items() if key not in part["fitted"]}}
    tables = values.pop("settings", None)
    lines = {name: _joined(values)}
    if isinstance(tables, dict):
        lines |= {f"{name} [{table}]": _joined(value) for table, value in tables.items() if isinstance(value, dict)}
    return lines


def _joined(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_short(value)}" for name, value in values.items())


def _short(value: Any) -> Any:
    """A list of tables, such as the losses of every epoch, by its length; --json has all of it."""
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return f"({len(value)} entries)"
    if isinstance(value, dict):
        return f"({_joined(value)})"
    return f"{value:.6g}" if isinstance(value, float) else value
