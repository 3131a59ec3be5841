"""labelwood train: learn a model from data and save it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from labelwood.cli import options
from labelwood.cli.reading import DataOptions, about, read_labelled_rows, with_data_options
from labelwood.errors import ParameterError

NAME = "train"


@with_data_options(split="train")
def run(
    reading: DataOptions,
    data: Annotated[Path, typer.Argument(help="A file or folder in any format (see convert).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to save the model in.")],
    model: Annotated[
        str | None, typer.Option(help="Name of the model: tree, softmax-tree, one-vs-rest or centroid.")
    ] = None,
    preset: Annotated[str | None, typer.Option(help="Settings of the tree: default, accurate or thorough.")] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file: model = …, tables params and vectorizer.")] = None,
    assign: options.Assign = None,
    threads: options.Threads = None,
    json: options.Json = False,
) -> None:
    """Train a model from labelled DATA and save it."""
    from labelwood.store import check_target

    check_target(output)
    classifier = build(model, preset, options.settings(config, assign or []), threads)
    started = time.perf_counter()
    rows = read_labelled_rows(data, reading)
    read_seconds = time.perf_counter() - started
    with about(data):
        classifier.fit_dataset(rows)
    classifier.save(output)
    seconds = {"read_seconds": read_seconds, "train_seconds": time.perf_counter() - started - read_seconds}
    facts = {"output": str(output), **classifier.describe(), **{name: round(s, 3) for name, s in seconds.items()}}
    if rows.label_file is not None:
        facts["label_file"] = rows.label_file
    options.report(facts, json, title="Trained")


def build(model: str | None, preset: str | None, settings: dict[str, Any], threads: int | None) -> Any:
    """An unfitted `TextClassifier` from a model's name, a preset of it and settings, which go before it."""
    from labelwood.features import TextVectorizer
    from labelwood.models import model_class
    from labelwood.models.text import TextClassifier
    from labelwood.settings import check_params

    settings = dict(settings)
    named = settings.pop("model", "tree")
    if not isinstance(named, str):
        raise ParameterError("model must be a name, such as tree")
    cls = model_class(model or named)
    tables = {name: settings.pop(name, {}) for name in ("params", "vectorizer")}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ParameterError(f"{name} must be a table of parameters")
    # What stands at the top level, as --set key=value does, are the model's parameters too.
    tables["params"] |= settings
    if preset is not None:
        tables["params"] = {**_preset_of(cls, preset), **tables["params"]}
    check_params(cls, tables["params"])
    check_params(TextVectorizer, tables["vectorizer"])
    vectorizer = TextVectorizer(**tables["vectorizer"])
    return TextClassifier(model=cls(**tables["params"]), vectorizer=vectorizer, n_threads=threads)


def _preset_of(cls: Any, name: str) -> dict[str, Any]:
    from labelwood.models.tree import TreeClassifier, preset

    if cls is not TreeClassifier:
        raise ParameterError("--preset is for the model tree: leave it out, or train --model tree")
    return preset(name)
