"""Functions shared by the formats with lines of ``index:value`` pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood import _native
from labelwood.arrays.rows import Pattern, from_scipy
from labelwood.arrays.threads import thread_count
from labelwood.data.dataset import Dataset, compressed_rows, ones
from labelwood.data.label_ids import NO_LABEL_FILE_HINT, LabelError
from labelwood.data.publishing import binary_output
from labelwood.data.reading import Reading
from labelwood.data.source import Block, Source
from labelwood.errors import NativeLineError
from labelwood.labels.index import LabelIndex

_MAX_COLUMNS = 2**31 - 1
_COUNT = re.compile(r"-?[0-9]{1,18}")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Header:
    """The counts in the first line of a file; the first is the number of rows."""

    numbers: tuple[int, ...]

    @classmethod
    def of(cls, source: Source, meaning: str) -> Header:
        """Reads the header of a file; `meaning` names its counts."""
        first = source.head.removeprefix(_BOM).split(b"\n", 1)[0].decode("ascii", "replace")
        words = first.split()
        wanted = len(meaning.split())
        if len(words) != wanted or not all(_COUNT.fullmatch(word) for word in words):
            raise source.error(f"the header {first[:40]!r} is not {wanted} counts; write it as: {meaning}", 1)
        numbers = tuple(int(word) for word in words)
        if any(n < 0 for n in numbers):
            raise source.error(f"the header {first[:40]!r} has a negative count; write it as: {meaning}", 1)
        if any(n > _MAX_COLUMNS for n in numbers[1:]):
            raise source.error(f"the header {first[:40]!r} has a count above {_MAX_COLUMNS}; write it as: {meaning}", 1)
        return cls(numbers)

    @property
    def n_rows(self) -> int:
        """The number of rows that must follow."""
        return self.numbers[0]


def assign_label_ids(
    reading: Reading,
    n_labels: int,
    origin: Source | None = None,
    line: int | None = None,
    at_least: bool = False,
) -> int:
    """Puts `n_labels` labels into the index, with the names of the label file or named after their ids.

    `origin` is the file with the number of labels, in `line`. With `at_least`, the number comes from the highest id, so
    there may be more labels. Returns the number of labels.
    """
    origin = origin or reading.source
    reading.has_numbers = not at_least
    check_width(origin, "labels", n_labels, line)
    if reading.catalogue is None:
        if n_labels > len(reading.index):
            reading.index = LabelIndex.numbered(n_labels)
    elif n_labels > len(reading.index) or (n_labels < len(reading.index) and not at_least):
        raise origin.error(
            f"has {n_labels} labels but {reading.catalogue} names {len(reading.index)}; correct the one that is wrong"
            + ("" if reading.catalogue_given else NO_LABEL_FILE_HINT),
            line,
        )
    return len(reading.index)


def check_width(source: Source, what: str, n: int, line: int | None = None) -> None:
    """Raises for more labels or features than a file can use, because each costs memory in every model."""
    if (wrong := source.limits.too_many(what, n, source.stored_size)) is not None:
        raise source.error(wrong, line)


def catalogue_lines(reading: Reading, numbers: NDArray[Any]) -> NDArray[np.int32]:
    """The line numbers of labels in the label file, from the numbers in a format that does not count labels."""
    if reading.label_ids is None:
        return numbers.astype(np.int32, copy=False)
    try:
        return reading.label_ids.lines(numbers.astype(np.int64)).astype(np.int32)
    except LabelError as e:
        raise reading.source.error(e.message) from None


def sparse_pieces(
    reading: Reading, header: Header | None, *, with_labels: bool, svmlight: bool = False
) -> Iterator[Dataset]:
    """Yields blocks of lines as datasets: sparse features and, `with_labels`, Y. Raises if the header is wrong."""
    source = reading.source
    n_features = -1 if header is None else header.numbers[1]
    n_labels = len(reading.index) if header is not None or _numbers_are_lines(reading) else -1
    if header is not None:
        check_width(source, "features", n_features, line=1)
    n_rows = 0
    for block in source.blocks():
        data, first_line = _skip_header(block) if header is not None and block.first_line == 1 else block
        try:
            labels, label_cols, features, feature_cols = _native.read_sparse_text(
                data, with_labels, svmlight, n_labels, n_features, thread_count(None)
            )
        except NativeLineError as e:
            is_found = header is None and reading.catalogue is not None and not reading.catalogue_given
            unless = NO_LABEL_FILE_HINT if is_found and e.message.startswith("label ") else ""
            raise source.error(f"{e.message}{unless}", first_line + e.line) from None
        X = _csr(features, n_features if header is not None else feature_cols)
        if header is None:
            check_width(source, "features", feature_cols)
            ids = catalogue_lines(reading, labels[1])
            assign_label_ids(reading, label_cols if reading.label_ids is None else 0, at_least=True)
        else:
            ids = labels[1]
        Y = ones(labels[0], ids, len(reading.index))
        if header is not None:
            X, Y = _drop_blank_end(X, Y, header.n_rows - n_rows)
        n_rows += X.shape[0]
        if header is None or n_rows <= header.n_rows:
            yield Dataset(sparse=X, Y=Y if with_labels else None, labels=reading.index if with_labels else None)
    if header is not None and n_rows != header.n_rows:
        raise source.error(
            f"the header says {header.n_rows} rows but {n_rows} follow; the file is cut off or the header is wrong",
            1,
        )


def _numbers_are_lines(reading: Reading) -> bool:
    """Whether a label's number can only be a line of the label file, so that an error can name the line at fault."""
    return reading.label_ids is not None and not reading.label_ids.has_other_numbers


def _skip_header(block: Block) -> Block:
    return Block(block.data.partition(b"\n")[2], 2)


def _csr(arrays: Any, n_cols: int) -> Any:
    indptr, indices, values = arrays
    return compressed_rows(indptr, indices, values, n_cols)


def _drop_blank_end(X: Any, Y: Any, n_rows: int) -> tuple[Any, Any]:
    """X and Y without the empty lines at the end that the header does not count."""
    if 0 <= n_rows < X.shape[0] and X.indptr[n_rows] == X.nnz and Y.indptr[n_rows] == Y.nnz:
        return X[:n_rows], Y[:n_rows]
    return X, Y


def whole_matrix(source: Source) -> Any:
    """Reads a whole matrix file with a header ``rows columns``."""
    from labelwood.data.joining import concat

    header = Header.of(source, "rows columns")
    data = concat(sparse_pieces(Reading(source), header, with_labels=False))
    return data.sparse if data.sparse is not None else sparse.csr_array(header.numbers, dtype=np.float32)


def write_lines(path: Path, header: str | None, Y: Any, X: Any, *, shared: bool = False) -> None:
    """Writes rows as text in parallel; without `Y`, features only. A `shared` file may exist with the same content."""
    no_rows = Pattern(np.zeros(1, np.int64), np.empty(0, np.int32), 0)
    with binary_output(path, shared=shared) as out:
        if header is not None:
            out.write(f"{header}\n".encode())
        step = 1 << 16
        for start in range(0, X.shape[0], step):
            part = from_scipy(X[start : start + step])
            labels = no_rows if Y is None else from_scipy(Y[start : start + step])
            out.write(_native.write_sparse_text(labels, part, thread_count(None)))


def with_all_columns(Y: Any, n_labels: int) -> Any:
    """Y with a column for each label that has an id, also for labels that no row has."""
    return sparse.csr_array((Y.data, Y.indices, Y.indptr), shape=(Y.shape[0], n_labels))
