"""Reads data for a command: the options that commands share, and progress on a terminal."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from labelwood.errors import InputError, LabelwoodError, ModelError, ParameterError

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset


@dataclass(frozen=True)
class DataOptions:
    """The options for reading data."""

    format: Annotated[str | None, typer.Option(help="The data's format, if it cannot be detected.")] = None
    split: Annotated[str, typer.Option(help="Which split of a folder to read.")] = "train"
    text_column: Annotated[str, typer.Option(help="Column of the text; several, separated by commas, are joined.")] = (
        "text"
    )
    label_column: Annotated[str, typer.Option(help="Column of the labels.")] = "labels"
    id_column: Annotated[str, typer.Option(help="Column of the row's id.")] = "id"
    label_separator: Annotated[str, typer.Option(help="Separator of several label names in one string.")] = ";"
    label_file: Annotated[Path | None, typer.Option(help="A file that names and describes the labels.")] = None
    no_label_file: Annotated[
        bool, typer.Option("--no-label-file", help="Ignore a labels.jsonl or label_names.txt beside the data.")
    ] = False
    label_numbers: Annotated[
        str | None,
        typer.Option(
            help="What whole numbers among labels mean, if that is not clear: ids or lines of the label file."
        ),
    ] = None
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=SIZE",
            help="Raise a limit for a file that you trust: max_bytes, max_ratio, max_line, max_labels or max_features.",
        ),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """The arguments of `labelwood.read`."""
        from labelwood.data.limits import ReadLimits
        from labelwood.data.reading import Columns

        if self.no_label_file and self.label_file is not None:
            raise ParameterError("--no-label-file and --label-file contradict each other; leave one out")
        return {
            "format": self.format,
            "split": self.split,
            "columns": Columns(**self.columns()),
            "label_file": False if self.no_label_file else self.label_file,
            "label_numbers": self.label_numbers,
            "limits": ReadLimits.of(self.limit or []),
        }

    def files(self, data: Path) -> list[Path]:
        """The files that are read for `data`: first the main file, then the other files of the dataset."""
        from labelwood.data.read import main_file
        from labelwood.data.write import files_around

        main = main_file(data, self.split)
        return [main, *files_around(main), *(() if self.label_file is None else (self.label_file,))]

    def columns(self) -> dict[str, Any]:
        """The arguments of `Columns`."""
        if not self.label_separator:
            raise ParameterError("--label-separator is empty; give at least one character")
        return {
            "text": tuple(self.text_column.split(",")),
            "labels": self.label_column,
            "id": self.id_column,
            "label_separator": self.label_separator,
        }


def with_data_options(
    split: str, kind: type[DataOptions] = DataOptions
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds the options of `DataOptions` (or another `kind`) to a command, which gets them as the argument `reading`."""

    def decorate(run: Callable[..., None]) -> Callable[..., None]:
        own = {name: p for name, p in inspect.signature(run, eval_str=True).parameters.items() if name != "reading"}
        hints = get_type_hints(kind, include_extras=True)
        defaults = {field.name: field.default for field in fields(kind)} | {"split": split}
        shared = {
            name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=hint)
            for name, hint in hints.items()
        }

        @functools.wraps(run)
        def command(**values: Any) -> None:
            run(reading=kind(**{name: values.pop(name) for name in shared}), **values)

        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own.values()] + list(shared.values())
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return decorate


def row_counter(what: str) -> Any:
    """A counter of rows on a terminal; silent elsewhere, and during the first half second."""
    from tqdm import tqdm

    return tqdm(desc=what, unit=" rows", unit_scale=True, disable=None, leave=False, delay=0.5)


def read_rows(path: Path, options: DataOptions, **more: Any) -> Dataset:
    """`labelwood.read` with a counter."""
    from labelwood.data.read import read

    with row_counter("reading") as progress:
        return read(path, on_rows=progress.update, **options.arguments(), **more)


def read_labelled_rows(path: Path, options: DataOptions, **more: Any) -> Dataset:
    """Reads rows, which must have labels."""
    rows = read_rows(path, options, **more)
    if rows.groups is not None:
        raise InputError(
            "holds groups of rows, and labels of single rows are needed; assign them with labelwood impute, or train "
            "with --grouped",
            path,
        )
    if rows.Y is None or rows.Y.nnz == 0:
        column = options.label_column
        raise InputError(f"has no labels (no column {column!r}, or nothing in it); name it with --label-column", path)
    return rows


def is_same_file(path: Path, other: Path) -> bool:
    """Whether two paths lead to one file, for example by links or by letters of another case."""
    try:
        return path.samefile(other)
    except OSError:
        return False


def check_not_read(outputs: Iterable[Path], inputs: Iterable[Path | None]) -> None:
    """Raises if a file to be written is one that the command reads."""
    there = [path for path in inputs if path is not None]
    for output in outputs:
        if any(is_same_file(output, path) for path in there):
            raise ParameterError(f"{output} is also an input; name another file to write")


@contextlib.contextmanager
def about(path: Path) -> Iterator[None]:
    """Adds the name of the data file to errors about its rows."""
    try:
        yield
    except (InputError, ParameterError, ModelError):
        raise
    except LabelwoodError as e:
        raise InputError(str(e), path) from None
