"""Dense arrays in one npz file: ``x_train``, ``y_train``, ``x_test``, ``y_test``; y holds one label id a row."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.data.dataset import Dataset, ones
from labelwood.data.formats.sparse_lines import numbered_labels
from labelwood.data.reading import Reading
from labelwood.data.source import Source
from labelwood.errors import LabelwoodError

NAME = "arrays"


def detect(source: Source) -> bool:
    """Whether it is an npz file."""
    return source.name.endswith(".npz") and source.head.startswith(b"PK")


def pieces(reading: Reading) -> Iterator[Dataset]:
    """The rows of one split, each flattened to a vector."""
    source, split = reading.source, reading.split
    arrays = _load(source)
    if f"x_{split}" not in arrays:
        raise source.error(f"has no array x_{split} (it has: {', '.join(arrays)}); name the split that it has")
    X = _finite(source, f"x_{split}", arrays[f"x_{split}"])
    X = np.ascontiguousarray(X.reshape(len(X), -1), np.float32)
    y = arrays.get(f"y_{split}")
    if y is None:
        yield Dataset(dense=X)
        return
    if y.ndim != 1 or len(y) != len(X) or y.dtype.kind not in "iu" or (y.size and y.min() < 0):
        raise source.error(f"y_{split} is not one whole number from 0 for each of the {len(X)} rows of x_{split}")
    highest = max(int(a.max()) for name, a in arrays.items() if name.startswith("y_") and a.size)
    numbered_labels(reading, highest + 1)
    Y = ones(np.arange(len(y) + 1), y.astype(np.int32), highest + 1)
    yield Dataset(dense=X, Y=Y, labels=reading.index)


def write(data: Dataset, path: Path) -> None:
    """Writes dense rows as ``x_train`` and their one label as ``y_train``."""
    from labelwood.data.write import binary_output

    if data.dense is None or (data.Y is not None and (np.diff(data.Y.indptr) != 1).any()):
        raise LabelwoodError("arrays needs dense features and exactly one label a row")
    arrays: dict[str, Any] = {"x_train": data.dense}
    if data.Y is not None:
        arrays["y_train"] = data.Y.indices.astype(np.int64)
    with binary_output(path) as out:
        np.savez_compressed(out, **arrays)


def _load(source: Source) -> dict[str, NDArray[Any]]:
    try:
        with np.load(io.BytesIO(source.read()), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as e:
        raise source.error(f"is not a sound npz file ({e}); save it again with numpy.savez") from None


def _finite(source: Source, name: str, array: NDArray[Any]) -> NDArray[Any]:
    if array.ndim < 2 or array.dtype.kind not in "fiub" or not np.isfinite(array).all():
        raise source.error(f"{name} is not an array of finite numbers with one row a sample; save it so")
    return array
