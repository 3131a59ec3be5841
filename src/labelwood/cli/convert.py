"""labelwood convert: data from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options
from labelwood.cli.grouped import GroupOptions
from labelwood.cli.reading import check_not_read, is_same_file, read_rows, with_data_options
from labelwood.errors import ParameterError

NAME = "convert"
_OPTION_OF_COLUMN = {  # the option that sets each field of `Columns`
    "text": "--text-column",
    "labels": "--label-column",
    "id": "--id-column",
    "rows": "--rows-column",
    "group": "--group-column",
    "label_separator": "--label-separator",
}


@with_data_options(split="train", kind=GroupOptions)
def run(
    reading: GroupOptions,
    data: Annotated[Path, typer.Argument(metavar="INPUT", help="Data in any format; - for standard input.")],
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="File to write; its name determines format and compression.")
    ],
    to: Annotated[str | None, typer.Option(help="Format to write, if the name does not determine it.")] = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Convert data between formats.

    Formats: xc (rows features labels), xc-split (trn_X_Xf.txt, trn_X_Y.txt), xc-json (trn.json, lbl.json), pecos
    (X.trn.npz, Y.trn.npz), attentionxml (train_texts.txt, train_labels.txt), svmlight, fasttext (lines with
    __label__name), jsonl, csv (and tsv), parquet, arrays (npz with x_train, y_train). Compression by suffix: .gz, .xz,
    .bz2, .zst. Other fields of rows and labels are kept if the format can hold them; left_out lists the rest.
    """
    from labelwood.data.write import check_targets, known_format, left_out, targets, write_supported

    name, (source, *others) = known_format(output, to), reading.files(data)
    check_targets(output, name, overwrite=overwrite, inputs=[source])
    check_not_read([output], others)
    check_not_read(targets(output, name)[1:], [source, *others])
    rows = read_rows(data, reading, keep_unknown=True)
    lost = left_out(rows, output, format=name)
    if is_same_file(output, source):
        _check_onto_itself(output, name, reading, lost)
    files = write_supported(rows, output, name, overwrite=overwrite)
    facts = {"files": ", ".join(map(str, files)), **rows.describe(), **options.left_out(lost, json)}
    options.report(facts, json, title="Converted")


def _check_onto_itself(output: Path, name: str, reading: GroupOptions, lost: list[str]) -> None:
    """Raises if converting a file onto itself would lose anything."""
    from labelwood.data.formats import TABLES
    from labelwood.data.read import detect_format
    from labelwood.data.source import Source

    if name not in TABLES or detect_format(Source(output)) != name:
        raise ParameterError(f"{output} is also the input, and {name} cannot hold all of it; name another file")
    if "," in reading.text_column or reading.group_column is not None:
        raise ParameterError(f"{output} is also the input, and joined columns cannot be split again; name another file")
    if lost:
        raise ParameterError(f"{output} is also the input, and {', '.join(lost)} would be lost; name another file")
    usual = GroupOptions().columns()
    if renamed := [name for name, value in reading.columns().items() if value != usual[name]]:
        given = ", ".join(_OPTION_OF_COLUMN[name] for name in renamed)
        raise ParameterError(
            f"{output} is also the input, and its copy would have the default columns and separator, not those of "
            f"{given}; name another file"
        )
