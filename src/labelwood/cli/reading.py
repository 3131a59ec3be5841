"""Reading data for a command, with progress where somebody watches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset


def row_counter(what: str) -> Any:
    """A counter of rows on a terminal; silent elsewhere and for work of less than half a second."""
    from tqdm import tqdm

    return tqdm(desc=what, unit=" rows", unit_scale=True, disable=None, leave=False, delay=0.5)


def read_rows(path: Path, **options: Any) -> Dataset:
    """`labelwood.read` with a counter."""
    from labelwood.data.read import read

    with row_counter("reading") as progress:
        return read(path, on_rows=progress.update, **options)
