"""What every format gets to read from, and what every format must provide."""

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
    """The columns of a record: which of them hold the text, the labels and so on.

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
        """The names of all columns to read, each once."""
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
    """The state of reading one file: its source, its columns, and the labels seen so far."""

    source: Source
    columns: Columns = field(default_factory=Columns)
    split: str = "train"  # for files that hold several
    index: LabelIndex = field(default_factory=LabelIndex)
    label_texts: Any = None  # Arrow array for the first labels of `index`, if the label file has texts
    catalogue: Source | None = None  # the file that describes the labels
    catalogue_given: bool = False  # whether the caller named it, instead of it being found beside the data
    label_numbers: LabelNumbers | None = None  # what whole numbers among labels mean, if the caller said so
    label_ids: LabelIds | None = None  # the labels of the label file
    has_numbers: bool = False  # whether labels are columns of a matrix, here and in the filter
    grouped: bool | None = None  # whether records are groups of rows; the first record decides
    n_dense: int | None = None  # dense features per row; the first row decides
    repeated: tuple[str, ...] = ()  # names that several columns share; these columns are not read
    keep_unknown: bool = False  # whether to keep fields that a dataset has no part for, and the order of labels

    def describe_labels(self, catalogue: Catalogue, *, given: bool = False) -> None:
        """Starts the label index with the labels of a label file, which the caller may have `given`."""
        self.index, self.label_texts, self.catalogue, self.catalogue_given = (*catalogue[:3], given)
        names = catalogue.labels.to_arrow()
        self.label_ids = LabelIds(names, catalogue.ids, str(catalogue.source), self.label_numbers, given=given)

    def label_names(self, names: list[str]) -> list[str]:
        """The names of labels, some of which may be ids of the label file."""
        if self.label_ids is None:
            return names
        try:
            return self.label_ids.names(names)
        except LabelError as e:
            raise self.source.error(e.message) from None


class Format(Protocol):
    """What each module in `labelwood.data.formats` provides."""

    NAME: str
    HOLDS: frozenset[str]  # the parts of a dataset that it can hold
    FIELDS: str | None  # how it holds other fields of rows: as "json", as typed "columns", as "text", or not at all
    RESERVED: frozenset[str]  # field names that the format uses itself

    def detect(self, source: Source) -> bool:
        """Whether the file looks like this format."""

    def pieces(self, reading: Reading) -> Iterator[Dataset]:
        """Yields the rows in pieces that fit into memory; all pieces share `reading.index`."""

    def write(self, data: Dataset, path: Path) -> None:
        """Writes the dataset, with `path` as its main file."""


class TableFormat(Format, Protocol):
    """A format of records, which can hold a number for each label of each row."""

    def write(self, data: Dataset, path: Path, values: Mapping[str, Any] | None = None) -> None:
        """Writes the dataset; `values` are sparse matrices with a number for each label of each row."""
