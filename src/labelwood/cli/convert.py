"""labelwood convert: data from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options
from labelwood.cli.grouped import GroupOptions
from labelwood.cli.reading import read_rows, with_data_options

NAME = "convert"


@with_data_options(split="train", kind=GroupOptions)
def run(
    reading: GroupOptions,
    data: Annotated[Path, typer.Argument(metavar="INPUT", help="Data in any format; - for standard input.")],
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="File to write; its name tells format and compression.")
    ],
    to: Annotated[str | None, typer.Option(help="Format to write, where the name does not tell it.")] = None,
    json: options.Json = False,
) -> None:
    """Convert data between formats.

    Formats: xc (rows features labels), xc-split (trn_X_Xf.txt, trn_X_Y.txt), xc-json (trn.json, lbl.json), pecos
    (X.trn.npz, Y.trn.npz), attentionxml (train_texts.txt, train_labels.txt), svmlight, fasttext (lines with
    __label__name), jsonl, csv (and tsv), parquet, arrays (npz with x_train, y_train). Compression by suffix: .gz, .xz,
    .bz2, .zst.
    """
    from labelwood.data.write import write

    rows = read_rows(data, reading)
    files = write(rows, output, format=to)
    options.report({"files": ", ".join(map(str, files)), **rows.describe()}, json, title="Converted")
