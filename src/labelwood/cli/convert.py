"""labelwood convert: data from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options
from labelwood.cli.reading import read_rows

NAME = "convert"


def run(
    data: Annotated[Path, typer.Argument(metavar="INPUT", help="Data in any format; - for standard input.")],
    output: Annotated[Path, typer.Argument(help="File to write; its name tells format and compression.")],
    to: Annotated[str | None, typer.Option(help="Format to write, where the name does not tell it.")] = None,
    format: options.Format = None,
    split: options.Split = "train",
    text_column: options.TextColumn = "text",
    label_column: options.LabelColumn = "labels",
    id_column: options.IdColumn = "id",
    label_separator: options.LabelSeparator = ";",
    label_file: options.LabelFile = None,
    json: options.Json = False,
) -> None:
    """Convert data between formats.

    Formats: xc (rows features labels), xc-split (trn_X_Xf.txt, trn_X_Y.txt), xc-json (trn.json, lbl.json), pecos
    (X.trn.npz, Y.trn.npz), attentionxml (train_texts.txt, train_labels.txt), svmlight, jsonl, csv (and tsv), parquet,
    arrays (npz with x_train, y_train). Compression by suffix: .gz, .xz, .bz2, .zst.
    """
    from labelwood.data.write import write

    columns = options.columns(text_column, label_column, id_column, label_separator)
    rows = read_rows(data, format=format, split=split, columns=columns, label_file=label_file)
    files = write(rows, output, format=to)
    options.report({"files": ", ".join(map(str, files)), **rows.describe()}, json, title="Converted")
