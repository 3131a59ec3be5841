"""labelwood info: what a model or a data file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options
from labelwood.cli.reading import read_rows

NAME = "info"


def run(
    path: Annotated[Path, typer.Argument(help="A saved model, or data in any format.")],
    format: options.Format = None,
    split: options.Split = "train",
    text_column: options.TextColumn = "text",
    label_column: options.LabelColumn = "labels",
    id_column: options.IdColumn = "id",
    label_separator: options.LabelSeparator = ";",
    json: options.Json = False,
) -> None:
    """Say what a saved model or a data file holds."""
    from labelwood import store

    if store.is_model(path):
        options.report(store.describe(path), json, title=f"{path}: a model")
        return

    columns = options.columns(text_column, label_column, id_column, label_separator)
    data = read_rows(path, format=format, split=split, columns=columns)
    options.report(data.describe(), json, title=f"{path}: data")
