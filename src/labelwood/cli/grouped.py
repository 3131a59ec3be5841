"""Shared by commands that learn from groups of rows: reading the groups, and `Eagle` from settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli.reading import DataOptions, about, read_rows
from labelwood.errors import InputError, ParameterError

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset


@dataclass(frozen=True)
class GroupOptions(DataOptions):
    """The options of `DataOptions`, and those for groups of rows."""

    rows_column: Annotated[str, typer.Option(help="Column of a group's rows, if each record is a group.")] = "rows"
    group_column: Annotated[
        str | None, typer.Option(help="Column of a row's group, if each record is a single row.")
    ] = None

    def columns(self) -> dict[str, Any]:
        """The arguments of `Columns`."""
        return super().columns() | {"rows": self.rows_column, "group": self.group_column}


def read_groups(path: Path, options: DataOptions, **more: Any) -> Dataset:
    """Reads groups of rows, which must have labels."""
    from labelwood.data.groups import check_groups

    data = read_rows(path, options, **more)
    if data.groups is None:
        raise InputError(
            "holds single rows and not groups; write the rows of a group as a list in the column 'rows', "
            "or name the column of a row's group with --group-column",
            path,
        )
    if data.groups.Y.nnz == 0:
        raise InputError(
            f"has no labels (no column {options.label_column!r}, or nothing in it); name it with --label-column", path
        )
    with about(path):
        check_groups(data)
    return data


def assignment_options(params: dict[str, Any], threads: int | None, *, baseline: bool, choose: bool) -> dict[str, Any]:
    """How labels of groups are assigned to rows: the options of `impute` and of a tagger's `fit`."""
    from labelwood.contract.checks import check_params
    from labelwood.groups.eagle import Eagle

    if baseline and (params or choose):
        what = repr(next(iter(params))) if params else "--choose"
        raise ParameterError(f"--baseline gives every row all labels of its group, so {what} is useless; leave one out")
    if baseline:
        return {"baseline": True}
    if choose:
        params = {"repeats": "topc"} | params  # the default when parameters are chosen
    params = params if threads is None else params | {"n_threads": threads}
    check_params(Eagle, params)
    return {"eagle": Eagle(**params), "choose": choose}
