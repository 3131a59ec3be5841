"""labelwood impute: assign the labels of groups to their rows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from labelwood.cli import options
from labelwood.cli.grouped import GroupOptions, assignment_options, read_groups
from labelwood.cli.reading import about, check_not_read, with_data_options
from labelwood.cli.train import table, vectorizer_of

NAME = "impute"


@with_data_options(split="train", kind=GroupOptions)
def run(
    reading: GroupOptions,
    data: Annotated[Path, typer.Argument(metavar="GROUPED", help="Groups of rows: JSON lines, Parquet or CSV.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write: *.jsonl, *.parquet or *.csv.")],
    baseline: Annotated[bool, typer.Option("--baseline", help="Give every row all labels of its group.")] = False,
    choose: Annotated[bool, typer.Option("--choose", help="Choose parameters on held-out groups.")] = False,
    config: Annotated[Path | None, typer.Option(help="TOML file with tables eagle and vectorizer.")] = None,
    assign: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A parameter of Eagle, or vectorizer.…, as key=value; may be given several times.",
        ),
    ] = None,
    threads: options.Threads = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Assign the labels of groups to the rows that fit them, with a confidence for each label.

    For example, the tags of a page are assigned to its paragraphs. The output is single rows with labels, to train on.
    """
    from labelwood.data.groups import check_groups, fields_of_both, rows_with_labels
    from labelwood.data.write import check_targets, left_out, table_format, write_supported
    from labelwood.groups.imputing import impute
    from labelwood.tagger.rows import features_to_learn_from

    name = table_format(output).NAME
    check_targets(output, name, overwrite=overwrite)
    check_not_read([output], [*reading.files(data), config])
    settings = options.settings(config, assign or [])
    vectorizer = vectorizer_of(settings.pop("vectorizer", {}))
    if threads is not None:
        vectorizer.set_params(n_threads=threads)
    how = assignment_options(
        table("eagle", settings.pop("eagle", {})) | settings, threads, baseline=baseline, choose=choose
    )
    rows = read_groups(data, reading, keep_unknown=True)
    groups = check_groups(rows)
    with about(data), _steps("making features", "assigning labels", "writing") as begin:
        begin()
        _, X = features_to_learn_from(rows, vectorizer)
        begin()
        imputed = impute(X, groups.of_row, groups.Y, **how)
        begin()
        single = rows_with_labels(rows, imputed.Y)
        lost = left_out(single, output, format=name, values=imputed.values) + fields_of_both(rows)
        write_supported(single, output, name, values=imputed.values, overwrite=overwrite)
    facts = {"output": str(output), "groups": groups.Y.shape[0], "rows": len(rows), "labels": rows.n_labels}
    options.report(facts | imputed.describe() | options.left_out(lost, json), json, title="Imputed")


@contextlib.contextmanager
def _steps(*names: str) -> Iterator[Callable[[], Any]]:
    """Yields a function that shows the next step on a terminal."""
    from tqdm import tqdm

    left = iter(names)
    with tqdm(total=len(names), bar_format="{desc} ({n_fmt} of {total_fmt})", disable=None, leave=False) as bar:

        def begin() -> None:
            bar.set_description_str(next(left), refresh=False)
            bar.update()
            bar.refresh()

        yield begin
