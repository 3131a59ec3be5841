"""PECOS's pairs of scipy matrices: ``X.trn.npz`` beside ``Y.trn.npz`` (or Y in the folder above), label names in
``output-items.txt``."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.data.formats.sparse_lines import numbered_labels
from labelwood.data.reading import Reading
from labelwood.data.source import Source
from labelwood.errors import LabelwoodError

NAME = "pecos"


def detect(source: Source) -> bool:
    """Whether the name begins with ``X.`` and ends with ``.npz``."""
    return source.name.startswith("X.") and source.name.endswith(".npz")


def pieces(reading: Reading) -> Iterator[Dataset]:
    """All rows at once."""
    source = reading.source
    X = load_matrix(source)
    beside = _labels_of(source)
    if beside is None:
        yield Dataset(sparse=X)
        return
    Y = load_matrix(beside)
    if Y.shape[0] != X.shape[0]:
        raise beside.error(f"has {Y.shape[0]} rows where {source} has {X.shape[0]}; they must belong together")
    numbered_labels(reading, Y.shape[1])
    Y.data[:] = 1
    yield Dataset(sparse=X, Y=Y, labels=reading.index)


def write(data: Dataset, path: Path) -> None:
    """Writes features to `path` and labels to the file with Y for X in its name."""
    from labelwood.data.write import binary_output

    if data.sparse is None or not path.name.startswith("X."):
        raise LabelwoodError("pecos needs sparse features and a file named like X.trn.npz")
    matrices = {path: data.sparse}
    if data.Y is not None:
        matrices[path.with_name("Y" + path.name[1:])] = data.Y
    for file, matrix in matrices.items():
        with binary_output(file) as out:
            sparse.save_npz(out, sparse.csr_matrix(matrix), compressed=False)


def load_matrix(source: Source) -> Any:
    """A scipy matrix from an npz file, with every index checked; values become float32."""
    try:
        matrix = sparse.load_npz(io.BytesIO(source.read())).tocsr()
        matrix.check_format(full_check=True)
        matrix.sum_duplicates()
    except (ValueError, KeyError, OSError, EOFError, TypeError, IndexError, zipfile.BadZipFile, zlib.error) as e:
        reason = str(e).split("\n", maxsplit=1)[0][:200]
        raise source.error(f"is not a sound sparse matrix ({reason}); save it again with scipy.sparse.save_npz") from None
    if matrix.dtype.kind not in "fiub" or not np.isfinite(matrix.data).all():
        raise source.error("holds values that are not finite numbers; replace them")
    return sparse.csr_array(matrix.astype(np.float32))


def _labels_of(source: Source) -> Source | None:
    name = "Y" + source.name[1:]
    return source.sibling(name, f"../{name}")
