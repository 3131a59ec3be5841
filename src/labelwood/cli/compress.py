"""labelwood compress: make a model smaller."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options
from labelwood.cli.loading import load_classifier
from labelwood.cli.reading import is_same_file
from labelwood.errors import ParameterError

NAME = "compress"


def run(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a softmax tree trained from texts.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to save the small model in.")],
    features: Annotated[int | None, typer.Option(min=1, help="Number of most important terms to keep.")] = None,
    part: Annotated[int, typer.Option(min=1, help="How many numbers of an embedding become one byte.")] = 2,
    threads: options.Threads = None,
    no_verify: options.NoVerify = False,
    json: options.Json = False,
) -> None:
    """Make a softmax tree smaller: drop unimportant terms, and store codes instead of numbers."""
    from labelwood.store import check_target

    check_target(output)
    if is_same_file(output, model):
        raise ParameterError(f"{output} is the model to compress and would be lost; name another folder")
    large = load_classifier(model, threads, None, verify=not no_verify)
    small = large.compressed(max_features=features, part=part)
    small.save(output)
    sizes = [_bytes(folder) for folder in (model, output)]
    facts = {"output": str(output), **small.describe(), "bytes_before": sizes[0], "bytes": sizes[1]}
    options.report(facts, json, title="Compressed")


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
