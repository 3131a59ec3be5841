"""Writing datasets: every file appears whole or not at all."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import IO

from labelwood.data.dataset import Dataset
from labelwood.data.source import compressed, plain_name
from labelwood.errors import InputError, ParameterError

_FORMAT_OF_SUFFIX = {
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".json": "xc-json",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".npz": "arrays",
    ".txt": "xc",
}


def write(data: Dataset, path: str | PathLike[str], *, format: str | None = None) -> None:  # noqa: A002
    """Writes a dataset. The format follows from the name unless it is given; .gz, .xz, .bz2 and .zst compress.

    Example:
        >>> import tempfile, labelwood as lw
        >>> path = tempfile.mkdtemp() + "/pets.jsonl.gz"
        >>> lw.write(lw.Dataset.from_texts(["a dog"], [["animal"]]), path)
        >>> lw.read(path).Y.toarray().tolist()
        [[1.0]]
    """
    from labelwood.data.formats import FORMATS

    target = Path(path)
    name = format or format_of_name(target)
    if name not in FORMATS:
        raise ParameterError(f"there is no format {name!r}; there are: {', '.join(FORMATS)}")
    FORMATS[name].write(data, target)


def format_of_name(path: Path) -> str:
    """The format a file's name asks for.

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
        raise ParameterError(f"the name {path.name!r} does not tell the format; name it with --to or format=")
    return found


@contextlib.contextmanager
def binary_output(path: Path) -> Iterator[IO[bytes]]:
    """A stream into a new file beside `path`, compressed as its suffix asks, renamed to it once all is written."""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as e:
        raise InputError(f"cannot be written ({e.strerror}); check the folder and its permissions", path) from None
    try:
        with os.fdopen(handle, "wb") as raw:
            stream = compressed(path, raw)
            yield stream
            if stream is not raw:
                stream.close()
            if not raw.closed:
                raw.flush()
                os.fsync(raw.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def text_output(path: Path) -> Iterator[IO[str]]:
    """The same for UTF-8 text."""
    with binary_output(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="\n", write_through=False)
        yield text
        text.flush()
        text.detach()


def write_label_texts(data: Dataset, path: Path) -> None:
    """Writes ``labels.jsonl`` beside `path` where labels have texts that say more than their names."""
    if data.labels is None or data.label_texts is None:
        return
    with text_output(path.with_name("labels.jsonl")) as out:
        for name, text in zip(data.labels, data.label_texts.to_pylist(), strict=False):
            out.write(json.dumps({"id": name, "text": text}, ensure_ascii=False) + "\n")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
