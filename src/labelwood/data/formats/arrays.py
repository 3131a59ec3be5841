"""Dense arrays in one npz file: ``x_train``, ``y_train``, ``x_test``, ``y_test``; y holds one label id per row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.data.dataset import Dataset, ones
from labelwood.data.formats.npz import archive_errors, as_float32, open_archive
from labelwood.data.formats.sparse_lines import assign_label_ids, catalogue_lines
from labelwood.data.label_files import with_label_numbers, write_label_names
from labelwood.data.publishing import binary_output
from labelwood.data.reading import Reading
from labelwood.data.source import Source
from labelwood.errors import LabelwoodError

NAME = "arrays"
HOLDS = frozenset({"dense", "label_texts"})
FIELDS: str | None = None
RESERVED = frozenset[str]()


def detect(source: Source) -> bool:
    """Whether it is an npz file."""
    return source.name.endswith(".npz") and source.head.startswith(b"PK")


def pieces(reading: Reading) -> Iterator[Dataset]:
    """Yields the rows of one split, each flattened to a vector."""
    source, split = reading.source, reading.split
    with (
        archive_errors(source, "npz file", "numpy.savez"),
        source.seekable() as stream,
        open_archive(source, stream) as file,
    ):
        if f"x_{split}" not in file:
            raise source.error(f"has no array x_{split} (it has: {', '.join(file)}); name a split that it has")
        X = _rows(source, f"x_{split}", file[f"x_{split}"])
        y = file.get(f"y_{split}")
        # The number of labels follows from all splits together.
        highest = [_highest(file[name]) for name in file if name.startswith("y_")]
    if y is None:
        yield Dataset(dense=X)
        return
    if y.ndim != 1 or len(y) != len(X) or y.dtype.kind not in "iu" or (y.size and y.min() < 0):
        raise source.error(
            f"y_{split} is not one whole number from 0 for each of the {len(X)} rows of x_{split}; save it so"
        )
    n_labels = assign_label_ids(reading, max(highest) + 1 if reading.label_ids is None else 0, at_least=True)
    Y = ones(np.arange(len(y) + 1), catalogue_lines(reading, y), n_labels)
    yield Dataset(dense=X, Y=Y, labels=reading.index)


def write(data: Dataset, path: Path) -> None:
    """Writes dense rows as ``x_train`` and the one label of each as ``y_train``."""
    if data.dense is None or (data.Y is not None and (np.diff(data.Y.indptr) != 1).any()):
        raise LabelwoodError("arrays needs dense features and exactly one label per row, which this data does not have")
    arrays: dict[str, Any] = {"x_train": data.dense}
    if data.Y is not None:
        arrays["y_train"] = with_label_numbers(data).indices.astype(np.int64)
    write_label_names(data, path)
    with binary_output(path) as out:
        np.savez_compressed(out, **arrays)


def _rows(source: Source, name: str, array: NDArray[Any]) -> NDArray[np.float32]:
    if array.ndim < 2:
        raise source.error(f"{name} has {array.ndim} dimension(s) and needs one for rows and one for features")
    if len(array) and not array.size:
        raise source.error(f"{name} has rows without features (its shape is {array.shape}); save rows that have some")
    return as_float32(source, name, array).reshape(len(array), math.prod(array.shape[1:]))


def _highest(y: NDArray[Any]) -> int:
    return int(y.max()) if y.dtype.kind in "iu" and y.size else -1
