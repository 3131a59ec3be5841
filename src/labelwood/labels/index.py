"""Label names and their ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from labelwood.errors import LabelwoodError

_CACHE_SIZE = 1 << 16  # names kept as Python strings


class LabelIndex(Sequence[str]):
    """The names of labels; the id of a name is its position. Names are only appended, so an id never changes.

    Names are kept in an Arrow array, which can be mapped from a file: ten million names cost nothing until the first
    lookup by name, which builds a dictionary.

    Example:
        >>> labels = LabelIndex(["animal", "plant"])
        >>> labels.add(["plant", "stone"]).tolist()
        [1, 2]
        >>> labels[2], labels.ids(["stone", "cloud"]).tolist()
        ('stone', [2, -1])
    """

    def __init__(self, names: Iterable[str] | Any = ()) -> None:
        if isinstance(names, (pa.Array, pa.ChunkedArray)):
            whole = names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names
            self._stored = whole.cast(pa.large_string())
        else:
            self._stored = _strings(names)
        self._added: list[str] = []
        self._id_of: dict[str, int] | None = None
        self._cache: dict[int, str] = {}
        if self._stored.null_count:
            raise LabelwoodError("a label name is missing: every label needs a name")

    @classmethod
    def numbered(cls, n_labels: int) -> LabelIndex:
        """Labels named after their ids, for data without names.

        Example:
            >>> list(LabelIndex.numbered(3))
            ['0', '1', '2']
        """
        return cls(pa.array(np.arange(n_labels)).cast(pa.large_string()))

    def __len__(self) -> int:
        return len(self._stored) + len(self._added)

    @overload
    def __getitem__(self, label: int) -> str: ...
    @overload
    def __getitem__(self, label: slice) -> list[str]: ...
    def __getitem__(self, label: int | slice) -> str | list[str]:
        if isinstance(label, slice):
            names: list[str] = self.to_arrow()[label].to_pylist()
            return names
        name = self._cache.get(label)
        return self._read_name(label) if name is None else name

    def _read_name(self, label: int) -> str:
        """Reads a name and caches it: the same names are often asked for again, and reading from Arrow is slow."""
        if label < 0 or label >= len(self):
            raise IndexError(f"label {label} of {len(self)}")
        if len(self._cache) >= _CACHE_SIZE:
            self._cache = {}
        stored = len(self._stored)
        name = str(self._stored[label].as_py()) if label < stored else self._added[label - stored]
        self._cache[label] = name
        return name

    def __iter__(self) -> Iterator[str]:
        yield from self._stored.to_pylist()
        yield from self._added

    def __contains__(self, name: object) -> bool:
        return name in self._ids_by_name()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelIndex) and bool(self.to_arrow().equals(other.to_arrow()))

    __hash__ = None  # type: ignore[assignment]  # the index can grow, so it has no fixed hash

    def __repr__(self) -> str:
        shown = ", ".join(repr(name) for name in self[:3])
        return f"LabelIndex([{shown}{', …' if len(self) > 3 else ''}], {len(self)} labels)"

    def to_arrow(self) -> Any:
        """All names as one Arrow `large_string` array."""
        if self._added:
            self._stored = pa.concat_arrays([self._stored, pa.array(self._added, pa.large_string())])
            self._added = []
        return self._stored

    def ids(self, names: Iterable[str]) -> NDArray[np.int64]:
        """The ids of names; −1 for a name that is not in the index."""
        id_of = self._ids_by_name()
        return np.fromiter((id_of.get(name, -1) for name in names), np.int64)

    def add(self, names: Iterable[str]) -> NDArray[np.int64]:
        """The ids of names; a name that is not in the index yet gets the next id."""
        id_of = self._ids_by_name()
        ids = []
        for name in names:
            label = id_of.get(name)
            if label is None:
                if not isinstance(name, str) or not name:
                    raise LabelwoodError(f"the label name {name!r} is empty or not a string: every label needs a name")
                label = id_of[name] = len(id_of)
                self._added.append(name)
            ids.append(label)
        return np.array(ids, np.int64)

    def _ids_by_name(self) -> dict[str, int]:
        if self._id_of is None:
            id_of = {name: label for label, name in enumerate(self)}
            if len(id_of) < len(self):
                raise LabelwoodError("two labels have the same name: give every label a name of its own")
            if "" in id_of:
                raise LabelwoodError("a label name is empty: every label needs a name")
            self._id_of = id_of
        return self._id_of


def _strings(names: Iterable[str]) -> Any:
    try:
        return pa.array(list(names), pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError) as e:
        raise LabelwoodError(f"label names must be strings ({e})") from None
