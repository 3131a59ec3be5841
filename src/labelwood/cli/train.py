"""labelwood train: learn a model from data and save it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from labelwood.cli import options
from labelwood.cli.grouped import GroupOptions, assignment_options, read_groups
from labelwood.cli.reading import about, read_labelled_rows, with_data_options
from labelwood.errors import ParameterError

NAME = "train"


@with_data_options(split="train", kind=GroupOptions)
def run(
    reading: GroupOptions,
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="A file or folder in any format that convert --help lists."),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to save the model in.")],
    model: Annotated[
        str | None,
        typer.Option(
            help="Name of the model: tree (the default), softmax-tree, one-vs-rest, centroid, prime (a dual encoder) "
            "or fused (tree and prime)."
        ),
    ] = None,
    preset: Annotated[str | None, typer.Option(help="Settings of the tree: default, accurate or thorough.")] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="TOML file: model = …, tables params and vectorizer, tables tree and prime for the members of fused, "
            "and table eagle with --grouped."
        ),
    ] = None,
    grouped: Annotated[
        bool,
        typer.Option("--grouped", help="Learn from groups of rows: assign labels to rows first, like impute."),
    ] = False,
    eagle: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="With --grouped, a parameter of Eagle as key=value; may be given several times."
        ),
    ] = None,
    baseline: Annotated[
        bool, typer.Option("--baseline", help="With --grouped, give every row all labels of its group.")
    ] = False,
    choose: Annotated[
        bool, typer.Option("--choose", help="With --grouped, choose Eagle's parameters on held-out groups.")
    ] = False,
    assign: options.Assign = None,
    threads: options.Threads = None,
    json: options.Json = False,
) -> None:
    """Train a model from labelled DATA and save it."""
    from labelwood.store import check_target

    check_target(output)
    settings = options.settings(config, assign or [])
    given = table("eagle", settings.pop("eagle", {})) | options.settings(None, eagle or [], option="--eagle")
    if not grouped and (baseline or choose or given):
        raise ParameterError("--baseline, --choose, --eagle and the table eagle are for groups of rows; add --grouped")
    how = assignment_options(given, threads, baseline=baseline, choose=choose) if grouped else None
    classifier = build(model, preset, settings, threads)
    started = time.perf_counter()
    rows = read_labelled_rows(data, reading) if how is None else read_groups(data, reading)
    read_seconds = time.perf_counter() - started
    with about(data):
        classifier.fit_dataset(rows) if how is None else classifier.fit_grouped_dataset(rows, **how)
    classifier.save(output)
    seconds = {"read_seconds": read_seconds, "train_seconds": time.perf_counter() - started - read_seconds}
    facts = {"output": str(output), **classifier.describe(), **{name: round(s, 3) for name, s in seconds.items()}}
    if rows.label_file is not None:
        facts["label_file"] = rows.label_file
    if classifier.imputed_ is not None:
        facts |= classifier.imputed_.describe()
    options.report(facts, json, title="Trained")


def build(model: str | None, preset: str | None, settings: dict[str, Any], threads: int | None) -> Any:
    """An unfitted `TextClassifier` from a model's name, a preset and settings, which override the preset."""
    from labelwood.contract.checks import check_params
    from labelwood.contract.kinds import model_class
    from labelwood.tagger.classifier import TextClassifier

    settings = dict(settings)
    named = settings.pop("model", "tree")
    if not isinstance(named, str):
        raise ParameterError("model must be a name, such as tree")
    cls: Any = model_class(model or named)
    if cls.kind == "fused":
        settings["members"] = _members(preset, settings, threads)
        preset = None
    if cls.takes == "texts" and "vectorizer" in settings:
        raise ParameterError(f"the model {cls.kind} reads texts by itself; remove the table vectorizer")
    vectorizer = vectorizer_of(settings.pop("vectorizer", {}))
    params = params_of(cls, settings)
    if preset is not None:
        params = {**_preset_of(cls, preset), **params}
    check_params(cls, params)
    return TextClassifier(model=cls(**params), vectorizer=vectorizer, n_threads=threads)


def params_of(cls: type, settings: dict[str, Any]) -> dict[str, Any]:
    """A model's parameters: the table params, and what stands at the top level, as --set key=value does."""
    from labelwood.contract.bundles import one_by_one

    inner = table("params", settings.get("params", {}))
    outer = {name: value for name, value in settings.items() if name != "params"}
    return one_by_one(cls, inner, tables=True) | one_by_one(cls, outer, tables=True)


def _members(preset: str | None, settings: dict[str, Any], threads: int | None) -> list[Any]:
    """A tree and a dual encoder to fuse; removes their tables from the settings."""
    tree, prime = (table(name, settings.pop(name, {})) for name in ("tree", "prime"))
    words = {name: settings.pop(name) for name in ("vectorizer",) if name in settings}
    encoder = build("prime", None, {"params": prime}, threads).model
    return [build("tree", preset, {"params": tree, **words}, threads), encoder]


def vectorizer_of(wanted: Any) -> Any:
    """A vectorizer from a table of parameters, or joined vectorizers from a list of tables."""
    from labelwood.contract.checks import check_params
    from labelwood.text import JoinedVectorizer, TextVectorizer

    if isinstance(wanted, list) and wanted:
        return JoinedVectorizer(parts=[vectorizer_of(table("vectorizer", part)) for part in wanted])
    params = table("vectorizer", wanted)
    check_params(TextVectorizer, params)
    return TextVectorizer(**params)


def table(name: str, value: Any) -> dict[str, Any]:
    """The value of a setting, which must be a table."""
    if not isinstance(value, dict):
        raise ParameterError(f"{name} must be a table of parameters")
    return value


def _preset_of(cls: Any, name: str) -> dict[str, Any]:
    from labelwood.linear.classifier import TreeClassifier, preset

    if cls is not TreeClassifier:
        raise ParameterError("--preset is for the model tree: leave it out, or train --model tree")
    return preset(name)
