"""labelwood tradeoff: measure how λ of interpolated trees changes precision and latency, and recommend a λ."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli import options
from labelwood.cli.reading import DataOptions, about, read_labelled_rows, with_data_options
from labelwood.errors import InputError, LabelwoodError, ParameterError

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset
    from labelwood.text import TextVectorizer

NAME = "tradeoff"
_REFUSED_SETTINGS = {
    "lam": "give --lams",
    "seed": "give --seeds",
    "tree": "the command is only for interpolated trees",
    "n_threads": "each training uses one, and --jobs trainings run at a time",
    "verbose": "progress is shown on a terminal",
    "model": "the command is only for trees",
}


@with_data_options(split="train")
def run(
    reading: DataOptions,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Labelled rows in any format that convert --help lists.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the report; runs in it are reused.")],
    lams: Annotated[
        str | None, typer.Option(help="λ's from 0 to 2, such as 0,0.5,1; by default eleven, most of them near 2.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of trainings for each λ.")] = 3,
    held_out: Annotated[float, typer.Option(help="Share of the rows to measure on.")] = 0.2,
    split_seed: Annotated[int, typer.Option(min=0, help="Which rows are held out.")] = 0,
    valid: Annotated[
        Path | None, typer.Option(help="Measure on these rows instead of held-out ones; a folder's test split.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Trainings at a time; one for each core by default.")] = None,
    budget_ms: Annotated[
        float | None, typer.Option(help="Also recommend the most precise λ whose median latency is within this.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Train the recommended λ (within the budget) on all of DATA and save it here.")
    ] = None,
    no_plots: Annotated[bool, typer.Option("--no-plots", help="Draw no plots; needs no matplotlib.")] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Empty the report's folder first.")] = False,
    config: Annotated[Path | None, typer.Option(help="TOML file: tables params and vectorizer.")] = None,
    assign: options.Assign = None,
    json: options.Json = False,
) -> None:
    """Train interpolated trees for a range of λ, measure each on held-out rows, draw the trade-off, recommend a λ.

    Leaves hold up to 100 labels, or a 64th of the labels if that is less, unless --set max_leaf=… says otherwise.
    The report is REPORT/report.html, tradeoff.json and tradeoff.csv. A second run does only what is missing.
    """
    from labelwood.tuning import default_max_leaf
    from labelwood.tuning.report import check_plots, write_report
    from labelwood.tuning.sweep import sweep

    grid = _grid(lams)
    given, vectorizer = _settings(options.settings(config, assign or []))
    _check_options(output, save, held_out, budget_ms)
    if not no_plots:
        check_plots()
    rows = read_labelled_rows(data, reading)
    train, held = _split(rows, data, held_out, split_seed, valid, reading)
    params = {"max_leaf": default_max_leaf(rows.n_labels), **given}
    with about(data):
        summary = sweep(
            *_matrices(train, held, vectorizer),
            output,
            lams=grid,
            seeds=seeds,
            variants={"interpolated": params},
            filters=held.filters,
            jobs=jobs,
            budget_ms=budget_ms,
            restart=restart,
            progress=True,
        )
    files = write_report(output, summary, plots=not no_plots)
    if save is not None:
        with about(data):
            _save_recommended(save, rows, params, vectorizer, summary["recommended"])
    _print_summary(summary, output, files, save, json)


def _grid(text: str | None) -> list[float] | None:
    if text is None:
        return None
    from labelwood.tuning.grid import check_lams

    try:
        return check_lams(float(word) for word in text.split(","))
    except ValueError:
        raise ParameterError(f"--lams {text!r} is not a list of numbers from 0 to 2, such as 0,0.5,1") from None


def _settings(settings: dict[str, Any]) -> tuple[dict[str, Any], TextVectorizer]:
    """The model's parameters and the vectorizer from --config and --set; raises for settings that the sweep makes."""
    from labelwood.cli.train import build, params_of

    classifier = build("tree", None, settings, None)  # checks them
    given = params_of(type(classifier.model), settings)
    for name, instead in _REFUSED_SETTINGS.items():
        if name in given:
            raise ParameterError(f"--set {name}=… is not for this command: {instead}")
    return {name: value for name, value in given.items() if name != "vectorizer"}, classifier.vectorizer


def _check_options(output: Path, save: Path | None, held_out: float, budget_ms: float | None) -> None:
    """Raises before any work for options that would fail after it."""
    from labelwood.store import check_target
    from labelwood.tuning.folder import check_place

    if not 0 < held_out < 1:
        raise ParameterError(f"--held-out must be between 0 and 1, such as 0.2, not {held_out:g}")
    if budget_ms is not None and not budget_ms > 0:
        raise ParameterError(f"--budget-ms must be more than 0, not {budget_ms:g}")
    check_place(output)
    if save is not None:
        check_target(save)


def _split(
    rows: Dataset, data: Path, share: float, seed: int, valid: Path | None, reading: DataOptions
) -> tuple[Dataset, Dataset]:
    """Splits the data into rows to train on and rows to measure on, with the same labels."""
    import numpy as np

    from labelwood.labels import LabelIndex

    if valid is not None:
        return rows, read_labelled_rows(valid, replace(reading, split="test")).align(rows.labels or LabelIndex())
    count = max(1, round(share * len(rows)))
    if count >= len(rows):
        raise InputError(f"has {len(rows)} row(s), too few to hold some out; give --valid or more rows", data)
    order = np.random.default_rng(seed).permutation(len(rows))
    return rows.take(np.sort(order[count:])), rows.take(np.sort(order[:count]))


def _matrices(train: Dataset, held_out: Dataset, vectorizer: TextVectorizer) -> tuple[Any, Any, Any, Any]:
    """The features, which are made only once, and the labels of both parts."""
    from labelwood.tagger.rows import features_as_learned, features_to_learn_from

    fitted, X = features_to_learn_from(train, vectorizer)
    return X, train.labels_to_learn_from(), features_as_learned(held_out, fitted, X.shape[1]), held_out.Y


def _save_recommended(
    path: Path, rows: Dataset, params: dict[str, Any], vectorizer: TextVectorizer, recommended: dict[str, Any]
) -> None:
    from labelwood.linear.classifier import TreeClassifier
    from labelwood.tagger.classifier import TextClassifier

    lam = recommended.get("budget", recommended["same_precision"])["lam"]
    if lam is None:
        raise LabelwoodError(f"{recommended['budget']['sentence'].rstrip('.')}; nothing is saved: raise --budget-ms")
    model = TreeClassifier(tree="interpolated", lam=lam, **params)
    TextClassifier(model=model, vectorizer=vectorizer).fit_dataset(rows).save(path)


def _print_summary(summary: dict[str, Any], output: Path, files: list[str], save: Path | None, as_json: bool) -> None:
    facts = {"report": str(output), "files": files, "runs": len(summary["runs"]), "trained": summary["trained"]}
    if save is not None:
        facts["model"] = str(save)
    if as_json:
        parts = {name: summary[name] for name in ("data", "recommended", "points")}
        options.report({**facts, **parts}, as_json=True)
        return
    from labelwood.tuning.summary import Point, plain_table

    sys.stdout.write(plain_table([Point.from_plain(point) for point in summary["points"]]) + "\n")
    for found in summary["recommended"].values():
        sys.stdout.write(found["sentence"] + "\n")
    options.report({**facts, "files": ", ".join(files)}, as_json=False)
