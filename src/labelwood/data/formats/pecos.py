"""PECOS's pairs of scipy matrices: ``X.trn.npz`` beside ``Y.trn.npz`` (or Y in the folder above), label names in
``output-items.txt``."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.data.formats.npz import archive_errors, as_float32, open_archive
from labelwood.data.formats.sparse_lines import assign_label_ids, check_width, with_all_columns
from labelwood.data.label_files import write_label_names
from labelwood.data.publishing import binary_output
from labelwood.data.reading import Reading
from labelwood.data.source import Source
from labelwood.errors import LabelwoodError

NAME = "pecos"
_ENDS = ("data", "indices", "indptr")
_PARTS = {"csr": _ENDS, "csc": _ENDS, "coo": ("data", "row", "col")}
HOLDS = frozenset({"sparse", "label_texts", "weights"})
FIELDS: str | None = None
RESERVED = frozenset[str]()


def detect(source: Source) -> bool:
    """Whether the name begins with ``X.`` and ends with ``.npz``."""
    return source.name.startswith("X.") and source.name.endswith(".npz")


def pieces(reading: Reading) -> Iterator[Dataset]:
    """Yields all rows at once."""
    source = reading.source
    X = load_matrix(source)
    beside = _labels_of(source)
    if beside is None:
        yield Dataset(sparse=X)
        return
    Y = load_matrix(beside, "labels")
    if Y.shape[0] != X.shape[0]:
        raise beside.error(f"has {Y.shape[0]} rows where {source} has {X.shape[0]}; they must belong together")
    assign_label_ids(reading, Y.shape[1], beside)
    Y.eliminate_zeros()
    Y.data[:] = 1
    yield Dataset(sparse=X, Y=Y, labels=reading.index)


def write(data: Dataset, path: Path) -> None:
    """Writes features to `path`, and labels to the file with Y instead of X in its name."""
    if data.sparse is None or not path.name.startswith("X."):
        raise LabelwoodError("pecos needs sparse features and a file named like X.trn.npz")
    matrices = {path: data.sparse}
    if data.Y is not None:
        matrices[companions(path)[0]] = with_all_columns(data.Y, data.n_labels)
        write_label_names(data, path)
    for file, matrix in matrices.items():
        with binary_output(file) as out:
            sparse.save_npz(out, sparse.csr_matrix(matrix), compressed=False)


def companions(path: Path) -> list[Path]:
    """The file of the labels."""
    return [path.with_name("Y" + path.name[1:])]


def load_matrix(source: Source, columns: str = "features") -> Any:
    """Reads a scipy matrix from an npz file and checks every index before use; values become float32.

    `columns` says what its columns are: "features" or "labels".
    """
    with archive_errors(source, "sparse matrix", "scipy.sparse.save_npz"), source.seekable() as stream:
        with open_archive(source, stream) as file:
            kind, shape = str(file["format"].astype(str)), tuple(file["shape"].tolist())
            parts = {name: file[name] for name in _PARTS.get(kind, ())}
        if kind not in _PARTS:
            raise source.error(f"is a matrix of the format {kind}; save it as csr with scipy.sparse.save_npz")
        if len(shape) != 2 or min(shape) < 0 or any(part.ndim != 1 for part in parts.values()):
            raise ValueError("its arrays do not have the dimensions of a matrix")
        if kind != "csr" and shape[0] > 64 * stream.seek(0, io.SEEK_END):
            raise ValueError(f"it claims {shape[0]} rows")
        check_width(source, columns, shape[1])
        data = as_float32(source, "the matrix", parts.pop("data"))
        if not all(part.dtype.kind in "iu" for part in parts.values()):
            raise ValueError("its indices are not whole numbers")
        rows = _matrix_of_parts(kind, shape, data, parts)
        rows.sum_duplicates()
        as_float32(source, "the matrix", rows.data)
        return sparse.csr_array(rows)


def _matrix_of_parts(kind: str, shape: tuple[int, int], data: Any, parts: dict[str, Any]) -> Any:
    if kind == "coo":  # scipy checks these itself
        return sparse.coo_array((data, (parts["row"], parts["col"])), shape=shape).tocsr()
    make = sparse.csr_array if kind == "csr" else sparse.csc_array
    matrix = make((data, parts["indices"], parts["indptr"]), shape=shape)
    matrix.check_format(full_check=True)  # a wrong index would crash scipy later
    return matrix.tocsr()


def _labels_of(source: Source) -> Source | None:
    name = "Y" + source.name[1:]
    return source.sibling(name, f"../{name}")
