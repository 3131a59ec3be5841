"""labelwood predict: write the best labels of each row as JSON lines, CSV or Parquet."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from labelwood.cli import options
from labelwood.cli.reading import DataOptions, about, check_not_read, read_rows, row_counter, with_data_options

NAME = "predict"


@with_data_options(split="test")
def run(
    reading: DataOptions,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A saved model.")],
    data: Annotated[Path, typer.Argument(metavar="INPUT", help="Rows in any format; - for standard input.")],
    k: Annotated[int, typer.Option("-k", min=1, help="Number of labels per row.")] = 5,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="File to write: *.jsonl, *.csv or *.parquet; .gz and others compress."),
    ] = None,
    min_score: Annotated[float | None, typer.Option(help="Leave out labels that score less.")] = None,
    include: Annotated[Path | None, typer.Option(help="A file of label names: predict only these.")] = None,
    exclude: Annotated[Path | None, typer.Option(help="A file of label names: never predict these.")] = None,
    filter_file: Annotated[
        Path | None,
        typer.Option(help='Pairs "row label" never to predict; labels as in the data\'s label file.'),
    ] = None,
    label_texts: Annotated[
        bool, typer.Option("--label-texts", help="Add the text of each label, if the model has it.")
    ] = False,
    overwrite: options.Overwrite = False,
    assign: options.Assign = None,
    threads: options.Threads = None,
    no_verify: options.NoVerify = False,
    json: options.Json = False,
) -> None:
    """Predict the best labels of each row of INPUT: one JSON object per row, best label first.

    CSV has columns id, labels and scores, the latter two separated by semicolons; Parquet has lists.
    """
    from labelwood.cli.answers import check_answers
    from labelwood.cli.loading import load_classifier

    output = None if str(output) == "-" else output
    if output is not None:
        check_answers(output, label_texts=label_texts, overwrite=overwrite)
        check_not_read([output], [*reading.files(data), include, exclude, filter_file])
    classifier = load_classifier(model, threads, assign, verify=not no_verify)
    limits: dict[str, Any] = {"include": _names(include), "exclude": _names(exclude), "min_score": min_score}
    started, n_rows = time.perf_counter(), 0
    try:
        with (
            _output(output, classifier.labels_, label_texts=label_texts, overwrite=overwrite) as write,
            row_counter("predicting") as progress,
        ):
            for batch in _batches(data, reading, filter_file, classifier):
                with about(data):
                    limits["filters"] = batch.filters
                    top = classifier.predict_topk(batch, min(k, len(classifier.labels_)), **limits)  # no padding
                write(_records(classifier, batch.ids, top, n_rows, label_texts))
                n_rows += len(batch)
                progress.update(len(batch))
    except BrokenPipeError:
        # The reader has closed our output. That is not an error, and Python must not fail when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    if json:
        options.report({"rows": n_rows, "seconds": round(time.perf_counter() - started, 3)}, as_json=True)


def _batches(data: Path, reading: DataOptions, filter_file: Path | None, classifier: Any) -> Iterator[Any]:
    """Yields the rows piece by piece; with a filter all at once, because a filter numbers all rows."""
    from labelwood.data.read import read_batches

    if filter_file is None:
        # Only filters need the labels of rows, so a label file beside the rows is ignored.
        unused = {"label_file": False} if reading.label_file is None else {}
        yield from read_batches(data, **(reading.arguments() | unused))
    else:
        yield read_rows(data, reading, filter_file=filter_file).align(classifier.labels_)


def _names(path: Path | None) -> list[str] | None:
    """The names in a file, one per line."""
    if path is None:
        return None
    from labelwood.data.catalogue import decode_lines
    from labelwood.data.source import Source

    return [name for name in decode_lines(Source(path)) if name]


@contextlib.contextmanager
def _output(path: Path | None, names: Any, **options: bool) -> Iterator[Callable[[Iterator[dict[str, Any]]], None]]:
    from labelwood.cli.answers import answers_to, json_lines

    if path is None:
        yield lambda records: sys.stdout.writelines(f"{line}\n" for line in json_lines(records))
        sys.stdout.flush()
        return
    with answers_to(path, names, **options) as write:
        yield write


def _records(classifier: Any, ids: Any, top: Any, first_row: int, label_texts: bool) -> Iterator[dict[str, Any]]:
    texts = classifier.label_texts_ if label_texts else None
    for i, row in enumerate(top):
        labels = []
        for label, score in row:
            entry: dict[str, Any] = {"label": classifier.labels_[label], "score": float(f"{score:.6g}")}
            if texts is not None:
                entry["text"] = texts[label].as_py()
            labels.append(entry)
        yield {"id": first_row + i if ids is None else ids[i].as_py(), "labels": labels}
