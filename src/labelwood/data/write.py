"""Writes datasets: all files appear together, replace nothing unless told to, and drop nothing without saying so."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from labelwood.data.carrying import lost_fields, without_fields
from labelwood.data.catalogue import LABEL_FILE_NAMES
from labelwood.data.dataset import Dataset
from labelwood.data.label_files import filter_path, write_filters
from labelwood.data.publishing import check_main_name, check_no_twin, check_output, written_together
from labelwood.data.reading import Format, TableFormat
from labelwood.data.source import beside_path, plain_name
from labelwood.errors import LabelwoodError, ParameterError

_BY_LINE = frozenset({"xc", "xc-split", "xc-json", "pecos"})  # formats whose labels are columns of a matrix

_FORMAT_OF_SUFFIX = {
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".json": "xc-json",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".fasttext": "fasttext",
    ".npz": "arrays",
    ".txt": "xc",
}
_PARTS = ("texts", "sparse", "dense", "ids", "label_features", "label_texts")


def write(
    data: Dataset,
    path: str | PathLike[str],
    *,
    format: str | None = None,
    values: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    drop: Iterable[str] = (),
) -> list[Path]:
    """Writes a dataset and returns the files that were written.

    The name of the file determines the format unless `format` does; .gz, .xz, .bz2 and .zst compress. `values` are
    further columns with a number for each label of each row: sparse matrices with the entries of Y. Only jsonl, csv and
    parquet can hold them.

    It is an error if a file exists already, unless `overwrite` is true. It is also an error if the format cannot hold a
    part of the dataset ("ids", "filters", …) or a field of its rows, unless `drop` names it.

    Example:
        >>> import tempfile, labelwood as lw
        >>> path = tempfile.mkdtemp() + "/pets.jsonl.gz"
        >>> _ = lw.write(lw.Dataset.from_texts(["a dog"], [["animal"]]), path)
        >>> lw.read(path).Y.toarray().tolist()
        [[1.0]]
    """
    target = Path(path)
    name = known_format(target, format)
    check_targets(target, name, overwrite=overwrite)
    dropped = {drop} if isinstance(drop, str) else set(drop)
    lost = [part for part in left_out(data, target, format=name, values=values) if part not in dropped]
    if "filters" in lost:
        raise LabelwoodError(
            f"{target}: filters are looked for only beside a file whose name has the word train or test, like "
            'test.jsonl; name the file so, or leave them out with drop=["filters"]'
        )
    if lost:
        shown = f"{', '.join(lost[:10])}{', …' * (len(lost) > 10)}"
        raise LabelwoodError(
            f"the format {name} cannot hold {shown} as the data has it: write another format (jsonl holds most), or "
            f"leave it out with drop={lost[:10]!r}"
        )
    return write_supported(data, target, name, values=values, overwrite=overwrite)


def write_supported(
    data: Dataset, target: Path, name: str, *, values: Mapping[str, Any] | None = None, overwrite: bool = False
) -> list[Path]:
    """Writes what the format can hold, and drops the rest (see `left_out`).

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "rows.fasttext"
        >>> [file.name for file in write_supported(Dataset(texts=["a dog"], ids=["x"]), path, "fasttext")]
        ['rows.fasttext']
    """
    from labelwood.data.formats import FORMATS

    _check_values(data)
    data = _supported_data(data, target, name, values)
    with written_together(target, overwrite=overwrite) as written:
        if values:
            table_format(target, name).write(data, target, values)
        else:
            FORMATS[name].write(data, target)
        write_filters(data, target, by_line=name in _BY_LINE)
    return written


def left_out(
    data: Dataset, path: Path, *, format: str | None = None, values: Mapping[str, Any] | None = None
) -> list[str]:
    """The names of the parts of a dataset, and of the fields of its rows, that a file of this name cannot hold.

    Example:
        >>> left_out(Dataset(texts=["a dog"], ids=["x"]), Path("rows.fasttext"))
        ['ids']
    """
    from labelwood.data.formats import FORMATS

    name = known_format(path, format)
    kind: Format = table_format(path, name) if values else FORMATS[name]
    if not any(part in kind.HOLDS and getattr(data, part) is not None for part in ("texts", "sparse", "dense")):
        return []  # the format can hold none of the rows, and its writer raises the error
    lost = [part for part in _PARTS if getattr(data, part) is not None and part not in kind.HOLDS]
    if data.filters is not None and filter_path(path) is None:
        lost.append("filters")
    if data.Y is not None and "weights" not in kind.HOLDS and (data.Y.data != 1).any():
        lost.append("weights")
    if data.texts is not None and not kind.HOLDS & {"line_breaks", "sparse", "dense"} and _has_line_breaks(data.texts):
        lost.append("line_breaks")
    return list(dict.fromkeys([*lost, *lost_fields(data, kind.FIELDS, {*kind.RESERVED, *(values or ())})]))


def _supported_data(data: Dataset, path: Path, name: str, values: Mapping[str, Any] | None) -> Dataset:
    """The dataset without the parts and fields that the format cannot hold."""
    from labelwood.data.formats import FORMATS, TABLES

    kind = FORMATS[name]
    data = without_fields(data, lost_fields(data, kind.FIELDS, {*kind.RESERVED, *(values or ())}))
    if data.filters is not None and filter_path(path) is None:
        data = replace(data, filters=None)
    if data.Y is not None and not values:
        keeps_order = name in TABLES or name == "xc-json"
        data = replace(data, Y=_labels_to_write(data.Y, "weights" in kind.HOLDS, keeps_order=keeps_order))
    return data


def _labels_to_write(Y: Any, weights: bool, *, keeps_order: bool) -> Any:
    """Y without stored zeros, which are not labels; each label of a row occurs once unless the format keeps order."""
    is_unchanged = (Y.data == 1).all() and (keeps_order or Y.has_canonical_format)
    if is_unchanged:
        return Y
    Y = Y.copy()
    are_ones = bool((Y.data == 1).all())
    Y.eliminate_zeros()
    if not keeps_order:
        Y.sum_duplicates()
    if are_ones or not weights:
        Y.data[:] = 1
    return Y


def _has_line_breaks(texts: Any) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts, r"[\r\n]")).as_py())


def check_targets(path: Path, name: str, *, overwrite: bool, inputs: Iterable[Path] = ()) -> None:
    """Raises if one of the files that a dataset of this format needs exists already.

    Files shared with other data of the folder are checked later, because they may stay unchanged.

    Example:
        >>> check_targets(Path("/nowhere/rows.jsonl"), "jsonl", overwrite=False)
        Traceback (most recent call last):
        ...
        labelwood.errors.InputError: /nowhere/rows.jsonl: cannot be written: there is no such folder; make it first
    """
    check_main_name(path)
    for file in targets(path, name):
        check_output(file, overwrite=overwrite)
        check_no_twin(file, *inputs)


def targets(path: Path, name: str) -> list[Path]:
    """The files that a dataset of this format needs, without those that it may share with other data.

    Example:
        >>> [file.name for file in targets(Path("trn_X_Xf.txt"), "xc-split")]
        ['trn_X_Xf.txt', 'trn_X_Y.txt']
    """
    from labelwood.data.formats import COMPANIONS

    return [path, *(COMPANIONS[name](path) if name in COMPANIONS else ())]


def files_around(path: Path) -> list[Path]:
    """The existing files that a reader of `path` may read too: its labels, their descriptions and the filter.

    Example:
        >>> files_around(Path("/nowhere/test.jsonl"))
        []
    """
    from labelwood.data.read import split_of_name

    split = split_of_name(plain_name(path))
    names = [*LABEL_FILE_NAMES, "lbl.json", "lbl_X_Xf.txt"]
    if split is not None:
        names += [f"filter_labels_{split}.txt", f"filter_{split}.txt"]
    with contextlib.suppress(ParameterError):  # without a known format there are no companions
        names += [plain_name(file) for file in targets(path, format_of_name(path))[1:]]
    around = (beside_path(path, name) for name in names)
    return [file for file in around if file is not None]


def _check_values(data: Dataset) -> None:
    if data.sparse is not None and not np.isfinite(data.sparse.data).all():
        raise LabelwoodError("the features hold NaN or infinity, which no reader accepts; replace those values first")
    if data.labels is not None and pc.any(pc.equal(data.labels.to_arrow(), "")).as_py():
        raise LabelwoodError("a label has an empty name, which no reader accepts; give it a name")


def known_format(path: Path, name: str | None = None) -> str:
    """The name of the format: the given one, or the one that the file's name determines."""
    from labelwood.data.formats import FORMATS

    name = name or format_of_name(path)
    if name not in FORMATS:
        raise ParameterError(f"there is no format {name!r}; there are: {', '.join(FORMATS)}")
    return name


def format_of_name(path: Path) -> str:
    """The format that the name of a file determines.

    Example:
        >>> format_of_name(Path("train.csv.gz")), format_of_name(Path("trn_X_Xf.txt"))
        ('csv', 'xc-split')
    """
    name = plain_name(path)
    if "_X_Xf" in name:
        return "xc-split"
    if name.endswith("texts.txt"):
        return "attentionxml"
    if name.startswith("X.") and name.endswith(".npz"):
        return "pecos"
    found = _FORMAT_OF_SUFFIX.get(Path(name).suffix)
    if found is None:
        raise ParameterError(f"the name {path.name!r} does not determine the format; name it with --to or format=")
    return found


def table_format(path: Path, name: str | None = None) -> TableFormat:
    """The format of a file, which must be able to hold numbers beside labels.

    Example:
        >>> table_format(Path("rows.parquet")).NAME
        'parquet'
    """
    from labelwood.data.formats import TABLES

    name = name or format_of_name(path)
    if name not in TABLES:
        raise ParameterError(
            f"the format {name} cannot hold numbers beside labels; name the file *.jsonl, *.csv or *.parquet"
        )
    return TABLES[name]
