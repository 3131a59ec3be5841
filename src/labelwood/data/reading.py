"""What every format's reader is handed, and what it must offer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from labelwood.data.catalogue import Catalogue
from labelwood.data.dataset import Dataset
from labelwood.data.label_ids import LabelError, LabelIds, LabelNumbers
from labelwood.data.source import Source
from labelwood.labels.index import LabelIndex


@dataclass(frozen=True)
class Columns:
    """Which columns of a record hold what.

    Example:
        >>> Columns(text=("title", "abstract"), labels="subjects").id
        'id'
    """

    text: tuple[str, ...] = ("text",)  # several are joined by a space
    labels: str = "labels"
    id: str = "id"
    rows: str = "rows"  # the rows of a group, in grouped records
    group: str | None = None  # the group of a row, in records of single rows
    dense: str | None = None
    label_separator: str = ";"  # between label names that share one string

    @property
    def wanted(self) -> list[str]:
        """All that are read, each once."""
        names = [
            *self.text,
            self.labels,
            self.id,
            self.rows,
            *(name for name in (self.dense, self.group) if name is not None),
        ]
        return list(dict.fromkeys(names))


@dataclass
class Reading:
    """One file being read: where from, which columns, and the labels met so far."""

    source: Source
    columns: Columns = field(default_factory=Columns)
    split: str = "train"  # for files that hold several
    index: LabelIndex = field(default_factory=LabelIndex)
    label_texts: Any = None  # Arrow array for the first labels of `index`, where a catalogue gives them
    catalogue: Source | None = None  # the file that describes the labels
    catalogue_given: bool = False  # whether it was named, and not found beside the data
    label_numbers: LabelNumbers | None = None  # what whole numbers are, where it was said
    label_ids: LabelIds | None = None  # of the catalogue
    has_numbers: bool = False  # whether labels are columns of a matrix by definition, and so are a filter's
    grouped: bool | None = None  # whether records are groups of rows; known from the first
    n_dense: int | None = None  # dense features of a row; known from the first
    repeated: tuple[str, ...] = ()  # names that several columns share, which are not read
    keep_unknown: bool = False  # whether fields that a dataset has no part for are read too, and labels as they stand

    def describe_labels(self, catalogue: Catalogue, *, given: bool = False) -> None:
        """Labels are those of a catalogue, which may be `given` by the caller; others follow its last."""
        self.index, self.label_texts, self.catalogue, self.catalogue_given = (*catalogue[:3], given)
        names = catalogue.labels.to_arrow()
        self.label_ids = LabelIds(names, catalogue.ids, str(catalogue.source), self.label_numbers, given=given)

    def label_names(self, names: list[str]) -> list[str]:
        """The same labels, by name where the catalogue's id was given."""
        if self.label_ids is None:
            return names
        try:
            return self.label_ids.names(names)
        except LabelError as e:
            raise self.source.error(e.message) from None


class Format(Protocol):
    """A module in `labelwood.data.formats`."""

    NAME: str
    HOLDS: frozenset[str]  # the parts of a dataset that it can hold
    FIELDS: str | None  # how it holds other fields of rows: as "json", as "columns" with types, as "text", or not
    RESERVED: frozenset[str]  # names of fields that are its own

    def detect(self, source: Source) -> bool:
        """Whether the file looks like this format."""

    def pieces(self, reading: Reading) -> Iterator[Dataset]:
        """The file's rows in pieces that fit into memory; all share `reading.index`."""

    def write(self, data: Dataset, path: Path) -> None:
        """Writes the dataset; the main file is `path`."""


class TableFormat(Format, Protocol):
    """A format whose records can hold more than the dataset does."""

    def write(self, data: Dataset, path: Path, values: Mapping[str, Any] | None = None) -> None:
        """The same; `values` are sparse matrices that have a number for each label of each row."""
