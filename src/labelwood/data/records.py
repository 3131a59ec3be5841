"""Turns Arrow tables of records (a row or a group each) into datasets and back, for JSON lines, CSV and Parquet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from labelwood.data.dataset import Dataset, Groups, ones
from labelwood.data.distinct import distinct
from labelwood.data.fields import Fields, original_ids
from labelwood.data.groups import merge_groups
from labelwood.data.label_ids import LabelError
from labelwood.data.reading import Columns, Reading
from labelwood.data.source import Source
from labelwood.errors import LabelwoodError
from labelwood.labels.index import LabelIndex


class RowError(Exception):
    """A row of a table, counted from zero, cannot be used. Readers turn this into an `InputError`."""

    def __init__(self, row: int, message: str) -> None:
        self.row = row
        self.message = message
        super().__init__(message)


def to_dataset(table: Any, reading: Reading) -> Dataset:
    """The rows of a table. Records with a column `columns.rows` are groups; `columns.group` names a row's group."""
    columns = reading.columns
    grouped = columns.rows in table.column_names
    if columns.rows != Columns.rows and not grouped:
        raise RowError(0, _no_column_error((columns.rows,), table.column_names, "the rows of a group"))
    if reading.grouped not in (None, grouped):
        kinds = ("row", "group") if reading.grouped else ("group", "row")
        raise RowError(0, f"is a {kinds[0]}, but records before it are {kinds[1]}s; write all records in the same way")
    reading.grouped = grouped
    if grouped and columns.group is not None:
        fix = f"leave out {columns.group!r}, the column of groups"
        raise RowError(0, f"is a group itself, with its rows in {columns.rows!r}; {fix}")
    if grouped:
        return _groups(table, reading)
    Y = _label_matrix(table, reading)
    rows = Dataset(
        texts=_texts(table, columns.text, required=columns.dense is None),
        dense=None if columns.dense is None else _dense(table, columns.dense, reading),
        Y=Y,
        labels=reading.index if Y is not None else None,
        ids=_ids(table, columns.id),
    )
    return rows if columns.group is None else _group_by_column(rows, table, columns.group, reading.index)


def to_table(
    data: Dataset, values: Mapping[str, Any] | None = None, fields: Callable[[Fields], Any] | None = None
) -> Any:
    """A dataset as a table with columns ``id``, ``text`` and ``labels``, or ``id``, ``rows`` and ``labels`` for groups.

    `values` are further columns with a number for each label of a row: sparse matrices with the entries of `data.Y`.
    `fields` turns the other fields of rows into columns.
    """
    if data.texts is None:
        raise LabelwoodError("the data has no texts, which this format needs; write it as xc, pecos or svmlight")
    columns: dict[str, Any] = {}
    if data.ids is not None:
        columns["id"] = original_ids(data.ids, data.fields)
    columns["text"] = data.texts
    more = _field_columns(data.fields, fields)
    Y = data.Y
    if data.groups is not None:
        columns |= more
        rows = pa.StructArray.from_arrays(list(columns.values()), names=list(columns))
        more = _field_columns(data.groups.fields, fields)
        ids = data.groups.ids
        columns = {} if ids is None else {"id": original_ids(ids, data.groups.fields)}
        columns["rows"] = _grouped_rows(data.groups, rows)
        Y = data.groups.Y
    if Y is not None and data.labels is not None:
        # A label of a group is written as often as it was given.
        times = Y.data.astype(np.int64)
        names = data.labels.to_arrow().take(pa.array(np.repeat(Y.indices, times)))
        ends = np.concatenate([[0], np.cumsum(times)])[Y.indptr]
        columns["labels"] = pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), names)
    for name, matrix in (values or {}).items():
        columns[name] = pa.LargeListArray.from_arrays(pa.array(matrix.indptr, pa.int64()), pa.array(matrix.data))
    return pa.table(columns | more)


def _field_columns(fields: Fields | None, make: Callable[[Fields], Any] | None) -> dict[str, Any]:
    if fields is None or make is None:
        return {}
    table = make(fields).combine_chunks()
    return {
        name: table[name].chunk(0) if table[name].num_chunks else pa.array([], table[name].type)
        for name in table.column_names
    }


def _grouped_rows(groups: Groups, rows: Any) -> Any:
    if (np.diff(groups.of_row) < 0).any():
        raise LabelwoodError("the rows of a group do not lie together; sort the rows by group first")
    ends = np.searchsorted(groups.of_row, np.arange(groups.Y.shape[0] + 1))
    return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), rows)


def _groups(table: Any, reading: Reading) -> Dataset:
    columns = reading.columns
    rows = _column(table, columns.rows)
    if not _is_list(rows.type):
        raise RowError(0, f"the column {columns.rows!r} is not a list of rows; write a group's rows as a list")
    if (row := _first_true(pc.is_null(rows))) is not None:
        raise RowError(row, f"has no {columns.rows!r}, but other records are groups; write all records in the same way")
    sizes = pc.list_value_length(rows).to_numpy(zero_copy_only=False)
    inner = pc.list_flatten(rows)
    of_row = np.repeat(np.arange(len(table)), sizes)
    try:
        if pa.types.is_struct(inner.type):
            if (row := _first_true(pc.is_null(inner))) is not None:
                raise RowError(row, "a row of the group is null; remove it")
            members = pa.Table.from_batches([pa.RecordBatch.from_struct_array(inner)])
            texts, ids = _texts(members, columns.text, required=True), _ids(members, columns.id)
        else:
            texts, ids = _strings(inner, "the group's row"), None
    except RowError as e:
        raise RowError(int(of_row[e.row]) if len(of_row) else 0, e.message) from None
    Y = _label_matrix(table, reading)
    return Dataset(
        texts=texts,
        ids=ids,
        labels=reading.index,
        groups=Groups(of_row=of_row, Y=_no_labels(len(table)) if Y is None else Y, ids=_ids(table, columns.id)),
    )


def _group_by_column(rows: Dataset, table: Any, name: str, index: LabelIndex) -> Dataset:
    """The rows in groups: all rows with the same value in the column `name` share their labels."""
    if name not in table.column_names:
        raise RowError(0, _no_column_error((name,), table.column_names, "the group"))
    names = _ids(table, name)
    if names is None:
        kind = _column(table, name).type
        raise RowError(0, f"the groups in column {name!r} are {kind} values; write names or whole numbers")
    if (row := _first_true(pc.equal(names, ""))) is not None:
        raise RowError(row, f"has no group: {name!r} is missing or empty; give every row one")
    Y = _no_labels(len(rows)) if rows.Y is None else rows.Y
    groups = merge_groups(Groups(of_row=np.arange(len(rows)), Y=Y, ids=names))
    return rows.with_parts(Y=None, labels=index, groups=groups)


def _no_labels(n_rows: int) -> Any:
    return ones(np.zeros(n_rows + 1, np.int64), np.empty(0, np.int32), 0)


def _column(table: Any, name: str) -> Any:
    column = table.column(name)
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return _decode_strings(whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole)


def _decode_strings(values: Any) -> Any:
    """Decodes dictionaries, and converts every kind of string to `large_string`."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return values.cast(pa.large_string()) if _is_string(values.type) else values


def _is_string(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _texts(table: Any, names: tuple[str, ...], required: bool) -> Any:
    present = [name for name in names if name in table.column_names]
    if not present:
        if required:
            raise RowError(0, _no_column_error(names, table.column_names))
        return None
    parts = [_as_strings(_column(table, name), f"column {name!r}") for name in present]
    absent = np.logical_and.reduce([pc.is_null(part).to_numpy(zero_copy_only=False) for part in parts])
    if absent.any():
        what = " and ".join(map(repr, present))
        raise RowError(int(absent.argmax()), f"has no text: {what} is missing or null; give every row one")
    return parts[0] if len(parts) == 1 else reduce(_join_texts, (pc.fill_null(part, "") for part in parts))


def _join_texts(left: Any, right: Any) -> Any:
    """Joins texts with a space, but adds no space to an empty text."""
    both = pc.and_(pc.not_equal(left, ""), pc.not_equal(right, ""))
    space, nothing = (pa.scalar(text, pa.large_string()) for text in (" ", ""))
    return pc.binary_join_element_wise(left, pc.if_else(both, space, nothing), right, nothing)


def _no_column_error(wanted: tuple[str, ...], there: list[str], what: str = "the text") -> str:
    names = " or ".join(map(repr, wanted))
    return f"there is no column {names} (there are: {_name_list(there)}); name the one that holds {what}"


def _name_list(names: list[str]) -> str:
    """Names for an error message, shortened: there may be many, long or unprintable ones."""
    shown = [repr(name)[1:-1][:40] for name in names[:10]]
    return ", ".join(shown + ["…"] * (len(names) > 10)) or "none"


def check_columns(source: Source, there: list[str], columns: Columns, line: int | None = None) -> list[str]:
    """The wanted columns that a file has; raises unless it has every column that the caller named."""
    usual = Columns()
    pairs = [
        (columns.dense, None),
        (columns.labels, usual.labels),
        (columns.id, usual.id),
        (columns.rows, usual.rows),
        (columns.group, None),
    ]
    named = [name for name, default in pairs if name is not None and name != default]
    if columns.rows not in there and (columns.dense is None or columns.text != usual.text):
        named += columns.text
    for name in named:
        if name not in there:
            raise source.error(f"has no column {name!r} (it has: {_name_list(there)}); name a column that it has", line)
    wanted = [name for name in columns.wanted if name in there]
    for name in wanted:
        if there.count(name) > 1:
            raise source.error(f"has the column {name!r} twice; give every column its own name", line)
    return wanted


def _strings(values: Any, what: str) -> Any:
    strings = _as_strings(values, what)
    if (row := _first_true(pc.is_null(strings))) is not None:
        raise RowError(row, f"{what} is null; write a text")
    return strings


def _as_strings(values: Any, what: str) -> Any:
    values = _decode_strings(values)
    if not (_is_string(values.type) or pa.types.is_null(values.type)):
        groups = ", or name it as the column of a group's rows (--rows-column)" if _is_list(values.type) else ""
        raise RowError(0, f"{what} holds {values.type} values and not texts; write them as strings{groups}")
    return values.cast(pa.large_string())


def _ids(table: Any, name: str) -> Any:
    if name not in table.column_names:
        return None
    values = _column(table, name)
    if not (pa.types.is_integer(values.type) or _is_string(values.type)):
        return None
    return pc.fill_null(values.cast(pa.large_string()), "")


def _dense(table: Any, name: str, reading: Reading) -> NDArray[np.float32]:
    if name not in table.column_names:
        raise RowError(0, _no_column_error((name,), table.column_names, "the dense features"))
    values = _column(table, name)
    if pa.types.is_fixed_size_list(values.type):
        values = values.cast(pa.large_list(values.type.value_type))
    if not _is_list(values.type) or not _is_number(values.type.value_type):
        raise RowError(0, f"column {name!r} holds {values.type} values; write each row's features as a list of numbers")
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    if reading.n_dense is None and len(lengths):
        reading.n_dense = int(lengths[0])
    width = reading.n_dense or 0
    if (wrong := np.flatnonzero(lengths != width)).size:
        row = int(wrong[0])
        raise RowError(row, f"has {lengths[row]} dense features where others have {width}; give every row the same")
    flat = pc.list_flatten(values).to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):
        flat = np.ascontiguousarray(flat, np.float32)
    if (wrong := np.flatnonzero(~np.isfinite(flat))).size:
        raise RowError(int(wrong[0]) // width, "has a dense feature that is not a finite 32-bit number; replace it")
    return flat.reshape(len(lengths), width)


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind))


def _label_matrix(table: Any, reading: Reading) -> Any:
    name = reading.columns.labels
    if name not in table.column_names:
        return None
    column = _column(table, name)
    kind = column.type
    if _is_string(kind):
        column = _split_names(column, reading.columns.label_separator)
    elif pa.types.is_integer(kind):
        offsets = np.concatenate([[0], np.cumsum(np.asarray(pc.is_valid(column)))])
        column = pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), pc.drop_null(column))
    elif pa.types.is_null(kind):
        column = pa.array([[]] * len(column), pa.large_list(pa.large_string()))
    elif not _is_list(kind):
        raise RowError(0, f"the labels are {kind} values; write them as a list, a string or whole numbers")
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    ids = _label_ids(_decode_strings(pc.list_flatten(column)), indptr, reading)
    # Groups keep how often a label was given; single rows only have it or not.
    grouped = bool(reading.grouped) or reading.columns.group is not None
    if (
        reading.keep_unknown and not grouped
    ):  # another field may hold a value for each label, in the order of the labels
        return ones(indptr, ids.astype(np.int32), len(reading.index))
    return _label_counts(indptr, ids, len(reading.index), keep=grouped)


def _split_names(column: Any, separator: str) -> Any:
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
        return _ids_of_numbers(values, row_of, reading)
    if not _is_string(values.type):
        raise RowError(0, f"the labels are {values.type} values; write names or whole numbers")
    if (entry := _first_true(pc.equal(values, ""))) is not None:
        raise RowError(row_of(entry), "has a label without a name; remove it or give its name")
    return _ids_of_names(values, reading)


def _ids_of_names(values: Any, reading: Reading) -> NDArray[np.int64]:
    numbers, names = distinct(values)
    ids = reading.index.add(reading.label_names(names.to_pylist()))
    return np.asarray(ids[numbers])


def _ids_of_numbers(values: Any, row_of: Any, reading: Reading) -> NDArray[np.int64]:
    numbers = values.cast(pa.int64(), safe=False).to_numpy()  # a number too large for int64 becomes negative
    if (wrong := np.flatnonzero(numbers < 0)).size:
        entry = int(wrong[0])
        raise RowError(row_of(entry), f"label {numbers[entry]} is negative; label ids count from 0")
    if reading.label_ids is None:
        return _ids_of_names(values.cast(pa.large_string()), reading)
    try:
        return reading.label_ids.lines(numbers)
    except LabelError as e:
        raise RowError(row_of(e.entry), e.message) from None


def _label_counts(indptr: NDArray[np.int64], ids: NDArray[np.int64], n_labels: int, keep: bool) -> Any:
    matrix = ones(indptr, ids.astype(np.int32), n_labels)
    matrix.sum_duplicates()
    if not keep:
        matrix.data[:] = 1
    return matrix


def _first_true(mask: Any) -> int | None:
    place = pc.index(mask, True).as_py()
    return None if place is None or place < 0 else int(place)
