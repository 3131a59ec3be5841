"""What rows hold beside what is read of them, to be written again: titles, dates, addresses, anything."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from labelwood.data import json_text

_TEXT = "json"  # the only column of a table that holds fields as JSON text
_MAX_COLUMNS = 1000  # that JSON text may become
_ENCODE = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, eq=False)
class Fields:
    """Fields of rows: columns with types, as CSV and Parquet have them, or JSON text, as each line has its own.

    `whole_ids` tells the rows whose id was a number and no text.

    Example:
        >>> fields = Fields.of_json(['"title": "Dogs", "year": 1899', ""])
        >>> fields.names(), fields.columns[0].to_pydict()
        (['title', 'year'], {'title': ['Dogs', None], 'year': [1899, None]})
    """

    table: Any  # Arrow table with a row for each row
    is_json: bool = False
    whole_ids: Any = None  # Arrow boolean array, or None
    repeated: tuple[str, ...] = ()  # names that several columns had, which were not read

    @classmethod
    def of_json(cls, texts: list[str], whole_ids: Any = None) -> Fields:
        """From the inside of each row's object."""
        return cls(pa.table({_TEXT: pa.array(texts, pa.large_string())}), True, whole_ids)

    def __len__(self) -> int:
        return int(self.table.num_rows) if self.whole_ids is None else len(self.whole_ids)

    def take(self, rows: NDArray[np.int64]) -> Fields:
        """The fields of these rows."""
        numbers = pa.array(rows)
        whole = None if self.whole_ids is None else self.whole_ids.take(numbers)
        return replace(self, table=self.table.take(numbers), whole_ids=whole)

    def names(self) -> list[str]:
        """The fields' names, in the order in which they come."""
        if not self.is_json:
            return list(self.table.column_names)
        return list(dict.fromkeys(key for text in self._texts() for key, _ in json_text.members(f"{{{text}}}")))

    def without(self, names: Iterable[str]) -> Fields:
        """The same but for these fields."""
        unwanted = set(names)
        if not unwanted:
            return self
        if not self.is_json:
            kept = [name for name in self.table.column_names if name not in unwanted]
            return replace(self, table=self.table.select(kept), repeated=self._repeated_but(unwanted))
        texts = [
            json_text.joined([pair for pair in json_text.members(f"{{{text}}}") if pair[0] not in unwanted])
            for text in self._texts()
        ]
        return Fields.of_json(texts, self.whole_ids)

    def _repeated_but(self, names: set[str]) -> tuple[str, ...]:
        return tuple(name for name in self.repeated if name not in names)

    @cached_property
    def json_texts(self) -> tuple[list[str], list[str]]:
        """The inside of each row's object, and the names of the fields that JSON cannot hold."""
        if self.is_json:
            return list(self._texts()), []
        plain: list[list[str]] = []  # a column each, with its name before every value
        unfit: list[str] = []
        for name in self.table.column_names:
            values = _json_values(self.table[name])
            if values is None:
                unfit.append(name)
            else:
                key = json_text.quoted(name)
                plain.append([f"{key}: {_ENCODE(value)}" for value in values])
        rows = zip(*plain, strict=True) if plain else iter([()] * len(self))
        return [", ".join(row) for row in rows], unfit

    @cached_property
    def columns(self) -> tuple[Any, list[str]]:
        """A table of all fields that have one kind of value, and the names of the others."""
        if not self.is_json:
            return self.table, []
        found, unfit = {}, []
        columns, surplus = self._by_name()
        for name, values in columns.items():
            column = _one_kind(values)
            if column is None:
                unfit.append(name)
            else:
                found[name] = column
        return pa.table(found) if found else self.table.select([]), unfit + surplus

    @cached_property
    def text_columns(self) -> tuple[Any, list[str]]:
        """The same as texts; lists and objects have none."""
        table, unfit = self.columns[0], list(self.columns[1])
        found = {name: _as_text(table[name]) for name in table.column_names}
        unfit += [name for name, column in found.items() if column is None]
        texts = {name: column for name, column in found.items() if column is not None}
        return pa.table(texts) if texts else table.select([]), unfit

    def whole(self) -> list[bool]:
        """For each row, whether its id is a number."""
        return [False] * len(self) if self.whole_ids is None else list(self.whole_ids.to_pylist())

    def _texts(self) -> Iterable[str]:
        return chain.from_iterable(chunk.to_pylist() for chunk in self.table[_TEXT].chunks)

    def _by_name(self) -> tuple[dict[str, list[Any]], list[str]]:
        """The values of the first fields that come, as many as can be columns, and the names of all others."""
        columns: dict[str, list[Any]] = {}
        surplus: dict[str, None] = {}
        for row, text in enumerate(self._texts()):
            for name, value in json.loads(f"{{{text}}}").items():
                if name not in columns and len(columns) == _MAX_COLUMNS:
                    surplus[name] = None
                else:
                    columns.setdefault(name, [None] * len(self))[row] = value
        return columns, list(surplus)


def concat_fields(parts: list[Fields | None], sizes: list[int]) -> Fields | None:
    """Fields of rows one below the other; rows of parts without any have none.

    Example:
        >>> concat_fields([None, Fields.of_json(['"a": 1'])], [1, 1]).json_texts[0]
        ['', '"a": 1']
    """
    first = next((part for part in parts if part is not None), None)
    if first is None:
        return None
    filled = [
        part if part is not None else _no_fields(size, first.is_json) for part, size in zip(parts, sizes, strict=True)
    ]
    table = pa.concat_tables([part.table for part in filled], promote_options="default")
    whole = None
    if any(part.whole_ids is not None for part in filled):
        whole = pa.concat_arrays([pa.array(part.whole(), pa.bool_()) for part in filled])
    return Fields(table, first.is_json, whole, first.repeated)


def fields_with_those_of_groups(own: Fields | None, groups: Fields | None, of_row: Any) -> Fields | None:
    """The fields of rows and behind them those of their groups that have other names.

    Example:
        >>> rows, page = Fields.of_json(['"a": 1', ""]), Fields.of_json(['"a": 2, "b": 3'])
        >>> fields_with_those_of_groups(rows, page, np.array([0, 0])).json_texts[0]
        ['"a": 1, "b": 3', '"b": 3']
    """
    rest = None if groups is None else groups.without([] if own is None else own.names()).take(np.asarray(of_row))
    if own is None or rest is None:
        found = rest if own is None else own
        return None if found is None else replace(found, whole_ids=None)
    if own.is_json:
        pairs = zip(own.json_texts[0], rest.json_texts[0], strict=True)
        return Fields.of_json([", ".join(filter(None, pair)) for pair in pairs])
    columns = {name: part.table[name] for part in (own, rest) for name in part.table.column_names}
    repeated = tuple(dict.fromkeys([*own.repeated, *rest.repeated]))
    return Fields(pa.table(columns) if columns else own.table.select([]), repeated=repeated)


def ids_as_they_were(ids: Any, fields: Fields | None) -> Any:
    """Ids as whole numbers where all of them were, and fit.

    Example:
        >>> ids_as_they_were(pa.array(["7"]), Fields.of_json([""], pa.array([True]))).to_pylist()
        [7]
    """
    if ids is None or fields is None or not all(fields.whole()):
        return ids
    try:
        return ids.cast(pa.int64())
    except pa.ArrowException:
        return ids


def _no_fields(size: int, is_json: bool) -> Fields:
    if is_json:
        return Fields.of_json([""] * size)
    return Fields(pa.table({"": pa.nulls(size)}).select([]))


def _json_values(column: Any) -> list[Any] | None:
    """A column's values as JSON has them, dates and times as text; None where it has none of the kind."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        column = _as_text(column)
        return None if column is None else list(column.to_pylist())
    values: list[Any] = column.to_pylist()
    return values if _is_plain(kind) and all(map(_is_finite, values)) else None


def _is_plain(kind: Any) -> bool:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _is_plain(kind.value_type)
    if pa.types.is_struct(kind):
        return all(_is_plain(field.type) for field in kind) and len({field.name for field in kind}) == kind.num_fields
    known = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_null)
    strings = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in (*known, *strings))


def _is_finite(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_finite, value))
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    return not isinstance(value, float) or bool(np.isfinite(value))


def _one_kind(values: list[Any]) -> Any:
    """An Arrow array that gives back these values; None where none does."""
    try:
        column = pa.array(values, from_pandas=False)
        given = column.to_pylist()
    except (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError):
        return None
    return column if _can_be_stored(column.type) and all(map(_same, values, given)) else None


def _can_be_stored(kind: Any) -> bool:
    """Parquet has no objects without fields."""
    if pa.types.is_list(kind):
        return _can_be_stored(kind.value_type)
    if pa.types.is_struct(kind):
        return kind.num_fields > 0 and all(_can_be_stored(field.type) for field in kind)
    return True


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return bool(one == other)


def _as_text(column: Any) -> Any:
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return None
    if pa.types.is_float16(kind):
        column = column.cast(pa.float32())
    try:
        return pc.cast(column, pa.large_string())
    except pa.ArrowException:
        return None
