"""The other fields of rows (titles, dates, addresses and so on), kept so that they can be written again."""

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

_TEXT = "json"  # the one column of a table that holds fields as JSON text
_MAX_COLUMNS = 1000  # columns that JSON text may be turned into
_ENCODE = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, eq=False)
class Fields:
    """Fields of rows: typed columns, as in CSV and Parquet, or JSON text, because each JSON line may have other fields.

    `whole_ids` marks the rows whose id was a number and not a text.

    Example:
        >>> fields = Fields.of_json(['"title": "Dogs", "year": 1899', ""])
        >>> fields.names(), fields.columns[0].to_pydict()
        (['title', 'year'], {'title': ['Dogs', None], 'year': [1899, None]})
    """

    table: Any  # Arrow table, one row for each row of the data
    is_json: bool = False
    whole_ids: Any = None  # Arrow boolean array, or None
    repeated: tuple[str, ...] = ()  # names that several columns share; these columns were not read

    @classmethod
    def of_json(cls, texts: list[str], whole_ids: Any = None) -> Fields:
        """Fields from the JSON members of each row, without the braces."""
        return cls(pa.table({_TEXT: pa.array(texts, pa.large_string())}), True, whole_ids)

    def __len__(self) -> int:
        return int(self.table.num_rows) if self.whole_ids is None else len(self.whole_ids)

    def take(self, rows: NDArray[np.int64]) -> Fields:
        """The fields of these rows."""
        numbers = pa.array(rows)
        whole_ids = None if self.whole_ids is None else self.whole_ids.take(numbers)
        return replace(self, table=self.table.take(numbers), whole_ids=whole_ids)

    def names(self) -> list[str]:
        """The names of the fields, in order of first occurrence."""
        if not self.is_json:
            return list(self.table.column_names)
        return list(dict.fromkeys(key for text in self._texts() for key, _ in json_text.members(f"{{{text}}}")))

    def without(self, names: Iterable[str]) -> Fields:
        """The fields without those of these names."""
        unwanted = set(names)
        if not unwanted:
            return self
        if not self.is_json:
            kept = [name for name in self.table.column_names if name not in unwanted]
            return replace(self, table=self.table.select(kept), repeated=self._repeated_without(unwanted))
        texts = [
            json_text.join_members([pair for pair in json_text.members(f"{{{text}}}") if pair[0] not in unwanted])
            for text in self._texts()
        ]
        return Fields.of_json(texts, self.whole_ids)

    def _repeated_without(self, names: set[str]) -> tuple[str, ...]:
        return tuple(name for name in self.repeated if name not in names)

    @cached_property
    def json_texts(self) -> tuple[list[str], list[str]]:
        """The JSON members of each row, without the braces, and the names of the fields that JSON cannot hold."""
        if self.is_json:
            return list(self._texts()), []
        plain: list[list[str]] = []  # a list per column: its name and value for each row
        unfit: list[str] = []
        for name in self.table.column_names:
            values = _json_values(self.table[name])
            if values is None:
                unfit.append(name)
            else:
                key = json_text.quote(name)
                plain.append([f"{key}: {_ENCODE(value)}" for value in values])
        rows = zip(*plain, strict=True) if plain else iter([()] * len(self))
        return [", ".join(row) for row in rows], unfit

    @cached_property
    def columns(self) -> tuple[Any, list[str]]:
        """A table of all fields whose values have one type, and the names of the other fields."""
        if not self.is_json:
            return self.table, []
        found, unfit = {}, []
        columns, surplus = self._values_by_name()
        for name, values in columns.items():
            column = _typed_column(values)
            if column is None:
                unfit.append(name)
            else:
                found[name] = column
        return pa.table(found) if found else self.table.select([]), unfit + surplus

    @cached_property
    def text_columns(self) -> tuple[Any, list[str]]:
        """The same with all values as texts; lists and objects cannot become texts."""
        table, unfit = self.columns[0], list(self.columns[1])
        found = {name: _as_text(table[name]) for name in table.column_names}
        unfit += [name for name, column in found.items() if column is None]
        texts = {name: column for name, column in found.items() if column is not None}
        return pa.table(texts) if texts else table.select([]), unfit

    def has_whole_id(self) -> list[bool]:
        """For each row, whether its id is a number."""
        return [False] * len(self) if self.whole_ids is None else list(self.whole_ids.to_pylist())

    def _texts(self) -> Iterable[str]:
        return chain.from_iterable(chunk.to_pylist() for chunk in self.table[_TEXT].chunks)

    def _values_by_name(self) -> tuple[dict[str, list[Any]], list[str]]:
        """The values of the first `_MAX_COLUMNS` fields, by name, and the names of all others."""
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
    """Concatenates the fields of several parts; a part without fields gets empty ones for its rows.

    Example:
        >>> concat_fields([None, Fields.of_json(['"a": 1'])], [1, 1]).json_texts[0]
        ['', '"a": 1']
    """
    first = next((part for part in parts if part is not None), None)
    if first is None:
        return None
    filled = [
        part if part is not None else _empty_fields(size, first.is_json)
        for part, size in zip(parts, sizes, strict=True)
    ]
    table = pa.concat_tables([part.table for part in filled], promote_options="default")
    whole_ids = None
    if any(part.whole_ids is not None for part in filled):
        whole_ids = pa.concat_arrays([pa.array(part.has_whole_id(), pa.bool_()) for part in filled])
    return Fields(table, first.is_json, whole_ids, first.repeated)


def add_group_fields(own: Fields | None, groups: Fields | None, of_row: Any) -> Fields | None:
    """The fields of rows, followed by the fields of their groups that have other names.

    Example:
        >>> rows, page = Fields.of_json(['"a": 1', ""]), Fields.of_json(['"a": 2, "b": 3'])
        >>> add_group_fields(rows, page, np.array([0, 0])).json_texts[0]
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


def original_ids(ids: Any, fields: Fields | None) -> Any:
    """The ids as whole numbers if all of them were read as such and fit into 64 bits.

    Example:
        >>> original_ids(pa.array(["7"]), Fields.of_json([""], pa.array([True]))).to_pylist()
        [7]
    """
    if ids is None or fields is None or not all(fields.has_whole_id()):
        return ids
    try:
        return ids.cast(pa.int64())
    except pa.ArrowException:
        return ids


def _empty_fields(size: int, is_json: bool) -> Fields:
    if is_json:
        return Fields.of_json([""] * size)
    return Fields(pa.table({"": pa.nulls(size)}).select([]))


def _json_values(column: Any) -> list[Any] | None:
    """The values of a column for JSON, with dates and times as text; None if JSON cannot hold them."""
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


def _typed_column(values: list[Any]) -> Any:
    """An Arrow array that gives back exactly these values; None if there is no such array."""
    try:
        column = pa.array(values, from_pandas=False)
        given = column.to_pylist()
    except (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError):
        return None
    return column if _is_storable(column.type) and all(map(_is_equal, values, given)) else None


def _is_storable(kind: Any) -> bool:
    """Whether Parquet can store the type: it cannot store objects without fields."""
    if pa.types.is_list(kind):
        return _is_storable(kind.value_type)
    if pa.types.is_struct(kind):
        return kind.num_fields > 0 and all(_is_storable(field.type) for field in kind)
    return True


def _is_equal(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_equal(one[key], other[key]) for key in one)
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
