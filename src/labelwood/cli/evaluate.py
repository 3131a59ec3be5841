"""labelwood evaluate: measure a model on labelled rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from labelwood.cli import options
from labelwood.cli.reading import DataOptions, about, read_labelled_rows, with_data_options
from labelwood.errors import ParameterError

NAME = "evaluate"


@with_data_options(split="test")
def run(
    reading: DataOptions,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A saved model.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Labelled rows in any format.")],
    ks: Annotated[str, typer.Option(help="The numbers of predictions to evaluate.")] = "1,3,5,10",
    propensity: Annotated[str, typer.Option(help="Propensity family: default, wikipedia or amazon.")] = "default",
    filter_file: Annotated[Path | None, typer.Option(help='Pairs "row label" to drop from predictions.')] = None,
    assign: options.Assign = None,
    threads: options.Threads = None,
    no_verify: options.NoVerify = False,
    json: options.Json = False,
) -> None:
    """Evaluate MODEL on labelled DATA: metrics in percent."""
    from labelwood.cli.loading import load_classifier

    wanted = _ks(ks)
    classifier = load_classifier(model, threads, assign, verify=not no_verify)
    rows = read_labelled_rows(data, reading, filter_file=filter_file)
    with about(data):
        metrics = classifier.evaluate(rows, ks=wanted, inv_propensity=classifier.inverse_propensities(propensity))
    metrics = {name: round(value, 4) for name, value in metrics.items()}
    facts = {"rows": len(rows), **unseen_labels(classifier, rows)}
    if rows.filters is not None:  # a filter beside the data is used even if the user did not name it
        facts["filtered_pairs"] = len(rows.filters)
    if json:
        options.report({**metrics, **facts}, as_json=True)
    else:
        sys.stdout.write(table(metrics, wanted))
        options.report(facts, as_json=False)


def table(metrics: dict[str, float], ks: tuple[int, ...]) -> str:
    """A text table with a metric per row and a k per column."""
    names = list(dict.fromkeys(key.partition("@")[0] for key in metrics))
    lines = [f"  {'percent':<10}" + "".join(f"{'@' + str(k):>8}" for k in ks)]
    lines += [f"  {name:<10}" + "".join(f"{metrics[f'{name}@{k}']:8.2f}" for k in ks) for name in names]
    return "\n".join(lines) + "\n"


def unseen_labels(classifier: Any, rows: Any) -> dict[str, int]:
    """The number of the rows' labels that no training row had, and of their occurrences; a model must miss them."""
    import numpy as np

    aligned = rows.align(classifier.labels_).Y
    frequencies = np.zeros(aligned.shape[1], np.int64)
    frequencies[: len(classifier.frequencies_)] = classifier.frequencies_[: aligned.shape[1]]
    missed = aligned.indices[frequencies[aligned.indices] == 0]
    return {"unseen_labels": int(np.unique(missed).size), "unseen_occurrences": int(missed.size)}


def _ks(text: str) -> tuple[int, ...]:
    try:
        ks = tuple(sorted({int(word) for word in text.split(",")}))
    except ValueError:
        ks = (0,)
    if ks[0] < 1:
        raise ParameterError(f"--ks {text!r} is not a list of whole numbers from 1, such as 1,3,5")
    return ks
