"""Groups of rows: merged by name, made from callers' arguments, and turned back into single rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from labelwood.arrays.rows import as_csr
from labelwood.data.dataset import Dataset, Groups, compressed_rows, from_names
from labelwood.data.distinct import distinct
from labelwood.data.fields import add_group_fields
from labelwood.data.texts import as_strings
from labelwood.errors import LabelwoodError
from labelwood.labels.given import is_matrix, name_lists
from labelwood.labels.index import LabelIndex


def merge_groups(groups: Groups) -> Groups:
    """The same rows, with all groups of one name merged into one.

    A merged group has every label that one of its parts has, with the largest of their counts: a table may repeat a
    page's tags in each of its rows, or hold them in the first row only.

    Example:
        >>> Y = from_names([["a"], ["a", "b"], []], LabelIndex())
        >>> one = merge_groups(Groups(np.arange(3), Y, as_strings(["page", "page", "other"], "ids")))
        >>> one.of_row.tolist(), one.ids.to_pylist(), one.Y.toarray().tolist()
        ([0, 0, 1], ['page', 'other'], [[1.0, 1.0], [0.0, 0.0]])
    """
    number, names = distinct(groups.ids)
    of_row = number.astype(np.int64)[groups.of_row]
    return Groups(of_row, _merge_rows(groups.Y, number.astype(np.int64), len(names)), names)


def _merge_rows(Y: Any, number: Any, n_groups: int) -> Any:
    """Merges the rows that have the same number; each column keeps its largest entry."""
    of_entry = np.repeat(number, np.diff(Y.indptr))
    order = np.lexsort((Y.data, Y.indices, of_entry))
    rows, labels = of_entry[order], Y.indices[order]
    last = np.ones(len(order), bool)
    last[:-1] = (rows[1:] != rows[:-1]) | (labels[1:] != labels[:-1])
    ends = np.searchsorted(rows[last], np.arange(n_groups + 1))
    return compressed_rows(ends, labels[last], Y.data[order][last], Y.shape[1])


def grouped_labels(groups: Any, group_labels: Any) -> tuple[Any, Any, LabelIndex]:
    """The group of each row, groups × labels with counts, and the labels' names, from the arguments of a caller.

    Either `group_labels` maps the name of a group to the names of its labels, and `groups` names the group of each row.
    Or `group_labels` is a list of label names per group, or a matrix, and `groups` holds group numbers as for `Eagle`.

    Example:
        >>> of_row, counts, labels = grouped_labels(["home", "news", "home"], {"news": ["a", "a"], "home": ["b"]})
        >>> of_row.tolist(), counts.toarray().tolist(), list(labels)
        ([1, 0, 1], [[2.0, 0.0], [0.0, 1.0]], ['a', 'b'])
    """
    if is_matrix(group_labels):
        counts = as_csr(group_labels, "group_labels")
        return groups, counts, LabelIndex.numbered(counts.shape[1])
    index = LabelIndex()
    if not isinstance(group_labels, Mapping):
        return groups, from_names(name_lists(group_labels, "group"), index, count=True), index
    numbers = {name: number for number, name in enumerate(group_labels)}
    of_row = np.array([numbers.get(name, -1) for name in groups], np.int64)
    if (of_row < 0).any():
        row = int(of_row.argmin())
        raise LabelwoodError(
            f"row {row} is in the group {groups[row]!r}, which group_labels does not have: give its labels there"
        )
    return of_row, from_names(name_lists(group_labels.values(), "group"), index, count=True), index


def check_groups(data: Dataset) -> Groups:
    """The groups of a dataset; raises unless every group that has labels also has rows to assign them to.

    Example:
        >>> check_groups(Dataset.from_texts(["a dog"], [["animal"]]))
        Traceback (most recent call last):
        ...
        labelwood.errors.LabelwoodError: the rows are in no groups: give each row's group
    """
    groups = data.groups
    if groups is None:
        raise LabelwoodError("the rows are in no groups: give each row's group")
    sizes = np.bincount(groups.of_row, minlength=groups.Y.shape[0])
    empty = np.flatnonzero((sizes == 0) & (np.diff(groups.Y.indptr) > 0))
    if len(empty):
        number = int(empty[0])
        name = "" if groups.ids is None else f" ({groups.ids[number].as_py()[:40]!r})"
        raise LabelwoodError(f"group {number + 1}{name} has labels but no rows; leave it out or give it rows")
    Y = groups.Y
    return replace(groups, Y=compressed_rows(Y.indptr, Y.indices, Y.data, data.n_labels))


def rows_with_labels(data: Dataset, Y: Any) -> Dataset:
    """The rows of groups as single rows with their own labels, named after the group: ``page#0``, ``page#1``, …

    If a row has an id, it stands after the ``#`` instead of a number. Groups without ids are numbered from zero.

    Example:
        >>> labels = LabelIndex()
        >>> groups = Groups(np.array([0, 0]), from_names([["animal"]], labels))
        >>> rows_with_labels(Dataset(texts=["a dog", "one"], labels=labels, groups=groups), [[1], [0]]).ids.to_pylist()
        ['0#0', '0#1']
    """
    groups = check_groups(data)
    order = np.argsort(groups.of_row, kind="stable")
    sizes = np.bincount(groups.of_row, minlength=groups.Y.shape[0])
    place = np.empty(len(data), np.int64)
    place[order] = np.arange(len(data)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    own = _names_or_numbers(data.ids, place)
    names = _names_or_numbers(groups.ids, np.arange(len(sizes)))
    ids = [f"{names[group]}#{row}" for group, row in zip(groups.of_row.tolist(), own, strict=True)]
    fields = add_group_fields(data.fields, groups.fields, groups.of_row)
    return replace(data, Y=Y, ids=as_strings(ids, "ids"), groups=None, fields=fields)


def fields_of_both(data: Dataset) -> list[str]:
    """The names of fields that both groups and their rows have; single rows keep only the row's field.

    Example:
        >>> fields_of_both(Dataset(texts=["a dog"]))
        []
    """
    if data.groups is None or data.groups.fields is None or data.fields is None:
        return []
    of_rows = set(data.fields.names())
    return [name for name in data.groups.fields.names() if name in of_rows]


def _names_or_numbers(ids: Any, numbers: Any) -> list[str]:
    given = [""] * len(numbers) if ids is None else ids.to_pylist()
    return [name or str(number) for name, number in zip(given, numbers.tolist(), strict=True)]
