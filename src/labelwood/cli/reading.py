"""Reading data for a command, with progress where somebody watches."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwood.errors import InputError, LabelwoodError, ModelError, ParameterError

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset


def row_counter(what: str) -> Any:
    """A counter of rows on a terminal; silent elsewhere and for work of less than half a second."""
    from tqdm import tqdm

    return tqdm(desc=what, unit=" rows", unit_scale=True, disable=None, leave=False, delay=0.5)


@contextlib.contextmanager
def about(path: Path) -> Iterator[None]:
    """Adds the file's name to an error about its rows that does not have it."""
    try:
        yield
    except (InputError, ParameterError, ModelError):
        raise
    except LabelwoodError as e:
        raise InputError(str(e), path) from None


def read_labelled_rows(path: Path, **options: Any) -> Dataset:
    """Rows that must have labels."""
    rows = read_rows(path, **options)
    if rows.groups is not None:
        raise InputError("holds groups of rows; labels of single rows are needed", path)
    if rows.Y is None or rows.Y.nnz == 0:
        column = options["columns"].labels
        raise InputError(f"has no labels (no column {column!r}, or nothing in it); name it with --label-column", path)
    return rows


def read_rows(path: Path, **options: Any) -> Dataset:
    """`labelwood.read` with a counter."""
    from labelwood.data.read import read

    with row_counter("reading") as progress:
        return read(path, on_rows=progress.update, **options)
