"""Datasets: rows, their labels, and what is known about both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from labelwood.arrays.pairs import as_pairs
from labelwood.arrays.rows import Floats, as_csr, as_matrix
from labelwood.arrays.values import plain_array
from labelwood.data.fields import Fields
from labelwood.data.texts import as_strings
from labelwood.errors import LabelwoodError
from labelwood.labels.index import LabelIndex


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows that share their labels: it is not known which row of a group has which of its labels.

    `of_row` holds the group of each row; `Y` is groups × labels and counts how often each label was given.

    Example:
        >>> groups = Groups(np.array([0, 0, 1]), from_names([["a"], ["b"]], LabelIndex()))
        >>> groups.Y.shape
        (2, 2)
    """

    of_row: NDArray[np.int64]
    Y: Any
    ids: Any = None  # Arrow large_string array, one id per group
    fields: Fields | None = None  # the other fields of each group, kept for writing


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows as texts, sparse features, dense features or several of these, with labels if they are known.

    Example:
        >>> data = Dataset.from_texts(["a dog", "a rose"], [["animal"], ["plant", "garden"]])
        >>> len(data), list(data.labels), data.Y.toarray().tolist()
        (2, ['animal', 'plant', 'garden'], [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    """

    texts: Any = None  # Arrow large_string array
    sparse: Any = None  # scipy csr_array, float32
    dense: Floats | None = None
    Y: Any = None  # scipy csr_array, rows × labels, ones
    labels: LabelIndex | None = None
    label_texts: Any = None  # Arrow large_string array, one text per label; "" for a label without text
    label_features: Any = None  # scipy csr_array, labels × features
    ids: Any = None  # Arrow large_string array, one id per row
    groups: Groups | None = None
    filters: NDArray[np.int64] | None = None  # pairs (row, label) that predictions must not contain
    label_file: str | None = None  # the file that described the labels, if there was one
    fields: Fields | None = None  # the other fields of each row, kept for writing (`read` with `keep_unknown`)
    label_lines: Any = None  # Arrow large_string array: the JSON object that described each label; "" if none did

    def __post_init__(self) -> None:
        self._check_parts(set(vars(self)))

    def _check_parts(self, new: set[str]) -> None:
        """Checks the `new` parts, and that all parts fit together."""
        self._convert_parts(new)
        sizes = {name: _n_rows(getattr(self, name)) for name in ("texts", "sparse", "dense", "Y", "ids")}
        given = {name: size for name, size in sizes.items() if size is not None}
        if len(set(given.values())) > 1:
            parts = ", ".join(f"{name} has {size}" for name, size in given.items())
            raise LabelwoodError(f"the parts of a dataset have different numbers of rows: {parts}")
        if self.filters is not None:
            object.__setattr__(self, "filters", self._filter_pairs())
        if self.Y is not None and (self.labels is None or len(self.labels) < self.Y.shape[1]):
            raise LabelwoodError("a dataset with Y needs a name for each of its labels")

    def _convert_parts(self, new: set[str]) -> None:
        """Turns lists and arrays into the Arrow and scipy types of the parts."""
        for name in ("texts", "ids", "label_texts"):
            if name in new and isinstance(value := getattr(self, name), list | tuple | np.ndarray):
                object.__setattr__(self, name, as_strings(value, name))
        for name in ("sparse", "Y", "label_features"):
            if name in new and (value := getattr(self, name)) is not None:
                # Y keeps the order of a row's labels: another field may hold a value for each label, in this order.
                object.__setattr__(self, name, as_csr(value, name, keep_order=name == "Y"))
        if "Y" in new and self.Y is not None and not self.Y.data.all():
            object.__setattr__(self, "Y", _drop_zeros(self.Y))
        if "dense" in new and self.dense is not None:
            object.__setattr__(self, "dense", as_matrix(self.dense, "dense"))
        if self.labels is not None and not isinstance(self.labels, LabelIndex):
            object.__setattr__(self, "labels", LabelIndex(self.labels))

    def _filter_pairs(self) -> NDArray[np.int64]:
        pairs = as_pairs(self.filters, len(self))
        if len(pairs) and self.labels is not None and pairs[:, 1].max() >= len(self.labels):
            raise LabelwoodError(
                f"filters name label {pairs[:, 1].max()} of {len(self.labels)}: count labels from zero"
            )
        return pairs

    def with_parts(self, *, known_sound: bool = False, **parts: Any) -> Dataset:
        """The same data with some parts replaced. Only the new parts are checked; `known_sound` skips that.

        Example:
            >>> data = Dataset.from_texts(["a dog", "a rose"])
            >>> data.with_parts(ids=["x", "y"]).ids.to_pylist()
            ['x', 'y']
        """
        if unknown := parts.keys() - vars(self).keys():
            raise LabelwoodError(f"a dataset has no part {min(unknown)!r}; it has {', '.join(vars(self))}")
        changed = object.__new__(Dataset)
        for name, value in (vars(self) | parts).items():
            object.__setattr__(changed, name, value)
        changed._check_parts(set() if known_sound else set(parts))
        return changed

    @classmethod
    def from_texts(cls, texts: Iterable[str], labels: Iterable[Iterable[str]] | None = None) -> Dataset:
        """A dataset from Python lists: texts and the names of each text's labels."""
        rows = as_strings(texts, "texts")
        if labels is None:
            return cls(texts=rows)
        index = LabelIndex()
        Y = from_names(labels, index)
        return cls(texts=rows, Y=Y, labels=index)

    def __len__(self) -> int:
        for name in ("texts", "sparse", "dense", "Y", "ids"):
            size = _n_rows(getattr(self, name))
            if size is not None:
                return size
        return 0

    @property
    def X(self) -> Any:  # noqa: N802 (the field's name)
        """The rows in the form that models take: sparse features if there are any, else dense ones, else the texts."""
        for rows in (self.sparse, self.dense, self.texts):
            if rows is not None:
                return rows
        raise LabelwoodError("this dataset has no rows: neither texts nor features")

    @property
    def n_labels(self) -> int:
        """The number of labels that have an id, with those that no row has."""
        return 0 if self.labels is None else len(self.labels)

    def labels_to_learn_from(self) -> Any:
        """Rows × labels with a column for every label that has a name, with those that no row has.

        Example:
            >>> Dataset(Y=[[1]], labels=["a", "b"]).labels_to_learn_from().shape
            (1, 2)
        """
        if self.Y is None or self.Y.nnz == 0:
            raise LabelwoodError("the data has no labels to learn from: name the column that holds them")
        return sparse.csr_array((self.Y.data, self.Y.indices, self.Y.indptr), shape=(len(self), self.n_labels))

    def texts_to_read(self) -> Any:
        """The texts of the rows, for a model that reads texts directly.

        Example:
            >>> Dataset.from_texts(["a dog"]).texts_to_read().to_pylist()
            ['a dog']
        """
        if self.texts is None:
            raise LabelwoodError("the model reads texts and these rows have none: name the text column")
        return self.texts

    def texts_of_labels(self) -> Any:
        """The texts of the labels; their names if there are no texts and the names are not just numbers.

        Example:
            >>> Dataset.from_texts(["a dog"], [["animal"]]).texts_of_labels().to_pylist()
            ['animal']
        """
        if self.label_texts is not None:
            return self.label_texts
        names = (self.labels or LabelIndex()).to_arrow()
        if all(name.isdecimal() for name in names.to_pylist()):
            raise LabelwoodError("the labels have neither texts nor names to learn from: name a label file")
        return names

    def align(self, labels: LabelIndex) -> Dataset:
        """The same data with the label ids of another index, for example a model's. Names it lacks get the next ids.

        Example:
            >>> data = Dataset.from_texts(["a rose"], [["garden", "plant"]])
            >>> data.align(LabelIndex(["animal", "plant"])).Y.toarray().tolist()
            [[0.0, 1.0, 1.0]]
        """
        if self.labels is None or self.labels == labels:
            return self
        joined = LabelIndex(labels.to_arrow())
        new_ids = joined.add(self.labels)
        slots = np.full(len(joined), len(self.labels), np.int64)
        slots[new_ids] = np.arange(len(self.labels))
        filters = self.filters
        if filters is not None:
            filters = np.stack([filters[:, 0], new_ids[filters[:, 1]]], axis=1)
        groups = self.groups
        if groups is not None:
            groups = replace(groups, Y=_with_new_ids(groups.Y, new_ids, len(joined)))
        return self.with_parts(
            Y=None if self.Y is None else _with_new_ids(self.Y, new_ids, len(joined)),
            labels=joined,
            label_texts=_strings_of_slots(self.label_texts, slots),
            label_lines=_strings_of_slots(self.label_lines, slots),
            label_features=None,
            filters=filters,
            groups=groups,
        )

    def take(self, rows: Any) -> Dataset:
        """The rows with these numbers, in this order; each row at most once.

        Example:
            >>> data = Dataset.from_texts(["a dog", "a rose"], [["animal"], ["plant"]])
            >>> data.take([1]).texts.to_pylist(), data.take([1]).Y.toarray().tolist()
            (['a rose'], [[0.0, 1.0]])
        """
        if self.groups is not None:
            raise LabelwoodError("rows in groups cannot be taken one by one: their labels are the group's")
        numbers = plain_array(rows, "rows")
        if numbers.ndim != 1 or (len(numbers) and numbers.dtype.kind not in "iu"):
            raise LabelwoodError("rows must be a list of the numbers of rows")
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(self):
            raise LabelwoodError(f"rows must be numbers from 0 to {len(self) - 1}")
        numbers = numbers.astype(np.int64)
        taken: dict[str, Any] = {
            name: value.take(pa.array(numbers))
            for name in ("texts", "ids")
            if (value := getattr(self, name)) is not None
        }
        for name in ("sparse", "dense", "Y"):
            if (value := getattr(self, name)) is not None:
                taken[name] = value[numbers]
        if self.filters is not None:
            place = np.full(len(self), -1, np.int64)
            place[numbers] = np.arange(len(numbers))
            kept = self.filters[place[self.filters[:, 0]] >= 0]
            taken["filters"] = np.stack([place[kept[:, 0]], kept[:, 1]], axis=1)
        if self.fields is not None:
            taken["fields"] = self.fields.take(numbers)
        return self.with_parts(**taken)

    def describe(self) -> dict[str, Any]:
        """The main counts of the dataset.

        Example:
            >>> Dataset.from_texts(["a rose"], [["plant"]]).describe()
            {'rows': 1, 'texts': True, 'labels': 1, 'labels_used': 1, 'labels_per_row': 1.0, 'rows_without_labels': 0}
        """
        facts: dict[str, Any] = {"rows": len(self)}
        if self.texts is not None:
            facts["texts"] = True
        for kind in ("sparse", "dense"):
            if (matrix := getattr(self, kind)) is not None:
                facts["features"] = int(matrix.shape[1])
                if kind == "sparse":
                    facts["features_per_row"] = round(matrix.nnz / max(1, len(self)), 2)
        if self.Y is not None:
            facts["labels"] = self.n_labels
            facts["labels_used"] = int(np.unique(self.Y.indices).size)
            facts["labels_per_row"] = round(self.Y.nnz / max(1, len(self)), 2)
            facts["rows_without_labels"] = int((np.diff(self.Y.indptr) == 0).sum())
        if self.groups is not None:
            facts["groups"] = int(self.groups.Y.shape[0])
        if self.label_file is not None:
            facts["label_file"] = self.label_file
        if self.filters is not None:
            facts["filtered_pairs"] = len(self.filters)
        return facts


def from_names(rows: Iterable[Iterable[str]], index: LabelIndex, *, count: bool = False) -> Any:
    """A rows × labels matrix of ones from the names of each row's labels; new names are added to `index`.

    With `count`, an entry counts how often the row has the label.

    Example:
        >>> from_names([["a", "b", "a"], []], LabelIndex()).toarray().tolist()
        [[1.0, 1.0], [0.0, 0.0]]
    """
    names: list[str] = []
    ends = [0]
    for row in rows:
        if isinstance(row, str):
            raise LabelwoodError(f"a row's labels are the string {row!r}; give a list of names for each row")
        names.extend(row)
        ends.append(len(names))
    ids = index.add(names)
    Y = ones(np.array(ends, np.int64), ids.astype(np.int32), len(index))
    Y.sum_duplicates()
    if not count:
        Y.data[:] = 1
    return Y


def ones(indptr: NDArray[Any], indices: NDArray[np.int32], n_labels: int) -> Any:
    """A sparse matrix whose entries are all one.

    Example:
        >>> ones(np.array([0, 1]), np.array([1], np.int32), 2).toarray().tolist()
        [[0.0, 1.0]]
    """
    return compressed_rows(indptr, indices, np.ones(len(indices), np.float32), n_labels)


def compressed_rows(indptr: NDArray[Any], indices: NDArray[np.int32], values: Floats, n_cols: int) -> Any:
    """A sparse matrix from its arrays.

    scipy copies both index arrays to the wider of their types, so row pointers become 32-bit where they fit.

    Example:
        >>> compressed_rows(np.array([0, 1]), np.array([1], np.int32), np.ones(1, np.float32), 2).indices.dtype
        dtype('int32')
    """
    if len(indices) < 2**31:
        indptr = indptr.astype(np.int32, copy=False)
    return sparse.csr_array((values, indices, indptr), shape=(len(indptr) - 1, n_cols))


def _drop_zeros(Y: Any) -> Any:
    """Y without stored zeros, because they do not mean labels."""
    kept = Y.copy()
    kept.eliminate_zeros()
    return kept


def _strings_of_slots(strings: Any, slots: NDArray[np.int64]) -> Any:
    """The string of each slot; a slot after the last string gets an empty one."""
    if strings is None:
        return None
    return pa.concat_arrays([strings, pa.array([""], pa.large_string())]).take(pa.array(slots))


def _with_new_ids(Y: Any, new_ids: NDArray[np.int64], n_labels: int) -> Any:
    # Sorting moves the values in place, so the matrix needs a copy of them.
    moved = compressed_rows(Y.indptr, new_ids[Y.indices].astype(np.int32), Y.data.copy(), n_labels)
    moved.sort_indices()
    return moved


def _n_rows(rows: Any) -> int | None:
    if rows is None:
        return None
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)
