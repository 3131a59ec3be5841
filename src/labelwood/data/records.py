"""Records (one row or one group each) as Arrow tables, turned into datasets. Serves JSON lines, CSV and Parquet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from labelwood.data.dataset import Dataset, Groups, ones
from labelwood.data.reading import Reading
from labelwood.labels.index import LabelIndex


class RowError(Exception):
    """A row (counted from zero within its table) that cannot be used; readers turn it into an `InputError`."""

    def __init__(self, row: int, message: str) -> None:
        self.row = row
        self.message = message
        super().__init__(message)


def to_dataset(table: Any, reading: Reading) -> Dataset:
    """The rows of a table. A column `reading.columns.rows` makes its records groups."""
    columns = reading.columns
    if columns.rows in table.column_names:
        return _groups(table, reading)
    Y = _Y(table, reading)
    return Dataset(
        texts=_texts(table, columns.text, required=columns.dense is None),
        dense=None if columns.dense is None else _dense(_column(table, columns.dense)),
        Y=Y,
        labels=reading.index if Y is not None else None,
        ids=_ids(table, columns.id),
    )


def _groups(table: Any, reading: Reading) -> Dataset:
    columns = reading.columns
    rows = _column(table, columns.rows)
    if not pa.types.is_list(rows.type) and not pa.types.is_large_list(rows.type):
        raise RowError(0, f"the column {columns.rows!r} is not a list of rows; write a group's rows as a list")
    sizes = pc.fill_null(pc.list_value_length(rows), 0).to_numpy(zero_copy_only=False)
    inner = pc.list_flatten(rows)
    of_row = np.repeat(np.arange(len(table)), sizes)
    try:
        if pa.types.is_struct(inner.type):
            members = pa.Table.from_batches([pa.RecordBatch.from_struct_array(inner)])
            texts, ids = _texts(members, columns.text, required=True), _ids(members, columns.id)
        else:
            texts, ids = _strings(inner, "the group's row"), None
    except RowError as e:
        raise RowError(int(of_row[e.row]), e.message) from None
    Y = _Y(table, reading)
    if Y is None:
        Y = ones(np.zeros(len(table) + 1, np.int64), np.empty(0, np.int32), 0)
    return Dataset(
        texts=texts,
        ids=ids,
        labels=reading.index,
        groups=Groups(of_row=of_row, Y=Y, ids=_ids(table, columns.id)),
    )


def _column(table: Any, name: str) -> Any:
    column = table.column(name)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _texts(table: Any, names: tuple[str, ...], required: bool) -> Any:
    present = [name for name in names if name in table.column_names]
    if not present:
        if required:
            raise RowError(0, _missing(names, table.column_names))
        return None
    parts = [_as_strings(_column(table, name), f"column {name!r}") for name in present]
    joined = parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, " ", null_handling="skip")
    empty = pc.and_kleene(*(pc.is_null(p) for p in parts[:2])) if len(parts) > 1 else pc.is_null(parts[0])
    for part in parts[2:]:
        empty = pc.and_kleene(empty, pc.is_null(part))
    if (row := _first_true(empty)) is not None:
        raise RowError(row, f"has no text: {' and '.join(map(repr, present))} is missing or null; give every row one")
    return joined


def _missing(wanted: tuple[str, ...], there: list[str]) -> str:
    names = " or ".join(map(repr, wanted))
    return f"there is no column {names} (there are: {', '.join(there) or 'none'}); name the one that holds the text"


def _strings(values: Any, what: str) -> Any:
    strings = _as_strings(values, what)
    if (row := _first_true(pc.is_null(strings))) is not None:
        raise RowError(row, f"{what} is null; write a text")
    return strings


def _as_strings(values: Any, what: str) -> Any:
    kind = values.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)):
        raise RowError(0, f"{what} holds {kind} values and not texts; write them as strings")
    return values.cast(pa.large_string())


def _ids(table: Any, name: str) -> Any:
    if name not in table.column_names:
        return None
    values = _column(table, name)
    if not (pa.types.is_integer(values.type) or pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return None
    return pc.fill_null(values.cast(pa.large_string()), "")


def _dense(values: Any) -> NDArray[np.float32]:
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    width = int(lengths[0]) if len(lengths) else 0
    if (wrong := np.flatnonzero(lengths != width)).size:
        row = int(wrong[0])
        raise RowError(row, f"has {lengths[row]} dense features where others have {width}; give every row the same")
    flat = pc.list_flatten(values).cast(pa.float32()).to_numpy(zero_copy_only=False)
    if (wrong := np.flatnonzero(~np.isfinite(flat))).size:
        raise RowError(int(wrong[0]) // width, "has a dense feature that is not a finite number; replace it")
    return np.ascontiguousarray(flat, np.float32).reshape(len(lengths), width)


def _Y(table: Any, reading: Reading) -> Any:
    name = reading.columns.labels
    if name not in table.column_names:
        return None
    column = _column(table, name)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = _split(column, reading.columns.label_separator)
    elif pa.types.is_integer(kind):
        column = pc.if_else(pc.is_valid(column), column, None)
        offsets = np.concatenate([[0], np.cumsum(np.asarray(pc.is_valid(column)))])
        column = pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), pc.drop_null(column))
    elif pa.types.is_null(kind):
        column = pa.array([[]] * len(column), pa.large_list(pa.large_string()))
    elif not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise RowError(0, f"the labels are {kind} values; write them as a list, a string or whole numbers")
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    ids = _label_ids(pc.list_flatten(column), indptr, reading)
    # Groups keep how often a label was given; rows have it or not.
    return _counts(indptr, ids, len(reading.index), keep=reading.columns.rows in table.column_names)


def _split(column: Any, separator: str) -> Any:
    lists = pc.split_pattern(pc.fill_null(column.cast(pa.large_string()), ""), separator)
    names = pc.utf8_trim_whitespace(pc.list_flatten(lists))
    kept = pc.not_equal(names, "")
    owner = pc.list_parent_indices(lists).to_numpy()[np.asarray(kept)]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(column)))])
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), names.filter(kept))


def _label_ids(values: Any, indptr: NDArray[np.int64], reading: Reading) -> NDArray[np.int64]:
    def row_of(entry: int) -> int:
        return int(np.searchsorted(indptr, entry, side="right")) - 1

    if (entry := _first_true(pc.is_null(values))) is not None:
        raise RowError(row_of(entry), "has a label that is null; remove it or give its name")
    if pa.types.is_null(values.type) or len(values) == 0:
        return np.empty(0, np.int64)
    if pa.types.is_integer(values.type):
        return _numbered(values, row_of, reading)
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        raise RowError(0, f"the labels are {values.type} values; write names or whole numbers")
    if (entry := _first_true(pc.equal(values, ""))) is not None:
        raise RowError(row_of(entry), "has a label without a name; remove it or give its name")
    return _named(values, reading.index)


def _named(values: Any, index: LabelIndex) -> NDArray[np.int64]:
    encoded = values.dictionary_encode()
    ids = index.add(encoded.dictionary.to_pylist())
    return ids[encoded.indices.to_numpy()]


def _numbered(values: Any, row_of: Any, reading: Reading) -> NDArray[np.int64]:
    numbers = values.cast(pa.int64()).to_numpy()
    if (wrong := np.flatnonzero(numbers < 0)).size:
        entry = int(wrong[0])
        raise RowError(row_of(entry), f"label {numbers[entry]} is negative; label ids count from 0")
    if reading.catalogue is None:
        return _named(values.cast(pa.large_string()), reading.index)
    n_labels = len(reading.index)
    if (wrong := np.flatnonzero(numbers >= n_labels)).size:
        entry = int(wrong[0])
        raise RowError(
            row_of(entry),
            f"label {numbers[entry]} is out of range: {reading.catalogue} describes {n_labels} labels, "
            f"so ids run from 0 to {n_labels - 1}",
        )
    return np.asarray(numbers, np.int64)


def _counts(indptr: NDArray[np.int64], ids: NDArray[np.int64], n_labels: int, keep: bool) -> Any:
    matrix = ones(indptr, ids.astype(np.int32), n_labels)
    matrix.sum_duplicates()
    if not keep:
        matrix.data[:] = 1
    return matrix


def _first_true(mask: Any) -> int | None:
    place = pc.index(mask, True).as_py()
    return None if place is None or place < 0 else int(place)
