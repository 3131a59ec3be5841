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
    path: Annotated[Path, typer.Argument(help="A saved model, or data in any format.")],
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
    lines: dict[str, Any] = {facts["kind"]: _joined(facts)}
    lines |= {f"{name} ({part['kind']})": _joined(part) for name, part in facts["parts"].items()}
    lines["names"] = ", ".join(f"{length:,} {name}" for name, length in facts["names"].items())
    lines["size"] = f"{sum(facts['files'].values()):,} bytes"
    for name, array in facts["arrays"].items():
        lines[name] = f"{array['dtype']} {' × '.join(f'{n:,}' for n in array['shape']) or 'scalar'}"
    lines["written by"] = f"labelwood {facts['labelwood']}, format {facts['format_version']}"
    return lines


def _joined(part: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in {**part["fitted"], **part["params"]}.items())
