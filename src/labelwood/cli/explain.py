"""labelwood explain: show where a label is in the tree, and how its copies differ."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelwood.cli import options
from labelwood.cli.loading import load_classifier
from labelwood.errors import ParameterError

if TYPE_CHECKING:
    from labelwood.explaining.explanation import LabelExplanation
    from labelwood.tagger.classifier import TextClassifier

NAME = "explain"
_PICTURES = (".svg", ".html", ".htm")


def run(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a tree model trained from texts.")],
    label: Annotated[
        str | None, typer.Option(help="The label to explain; without it, the most interesting labels are listed.")
    ] = None,
    words: Annotated[int, typer.Option(min=1, help="Words of each kind to show.")] = 8,
    siblings: Annotated[int, typer.Option(min=1, help="Labels of the same leaf to show.")] = 6,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write a picture (*.svg) or a page to send (*.html).")
    ] = None,
    overwrite: options.Overwrite = False,
    no_verify: options.NoVerify = False,
    json: options.Json = False,
) -> None:
    """Show where a label is: its copies, the words and labels of their clusters, and how the copies differ.

    Without --label, list the labels whose copies differ most.
    """
    from labelwood.explaining import explain_label

    _check_output_option(output, label, overwrite)
    classifier = load_classifier(model, None, None, verify=not no_verify)
    if label is None:
        _print_ranking(classifier, json)
    else:
        explained = explain_label(classifier, label, words=words, siblings=siblings)
        if output is not None:
            _write_drawing(explained, output, overwrite)
        _print_explanation(explained, output, json)


def _check_output_option(output: Path | None, label: str | None, overwrite: bool) -> None:
    if output is None:
        return
    if label is None:
        raise ParameterError("-o draws one label: name it with --label")
    if output.suffix.lower() not in _PICTURES:
        raise ParameterError(f"-o {str(output)!r} is neither a picture nor a page: end its name with .svg or .html")
    from labelwood.data.publishing import check_output

    check_output(output, overwrite=overwrite)


def _write_drawing(explained: LabelExplanation, output: Path, overwrite: bool) -> None:
    from labelwood.data.publishing import text_output
    from labelwood.explaining import draw_explanation, explanation_page

    draw = draw_explanation if output.suffix.lower() == ".svg" else explanation_page
    with text_output(output, overwrite=overwrite) as out:
        out.write(draw(explained))


def _print_explanation(explained: LabelExplanation, output: Path | None, json: bool) -> None:
    from labelwood.explaining import explanation_text

    if json:
        drawn = {} if output is None else {"output": str(output)}
        options.report({**explained.plain(), **drawn}, as_json=True)
    else:
        sys.stdout.write(explanation_text(explained, blocks=_has_blocks()))


def _print_ranking(classifier: TextClassifier, json: bool) -> None:
    from labelwood.explaining import most_divided, ranking_text

    found = most_divided(classifier)
    if json:
        options.report({"labels": [{**asdict(divided), "score": divided.score} for divided in found]}, as_json=True)
    elif found:
        sys.stdout.write(ranking_text(found) + "\nlabelwood explain MODEL --label NAME shows one of them.\n")
    else:
        sys.stdout.write("Every label is in one leaf: train with --set copies=2 to allow several.\n")


def _has_blocks() -> bool:
    """Whether the terminal can show block characters."""
    try:
        "█".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
