"""AttentionXML's files: ``train_texts.txt`` (or ``train_raw_texts.txt``) with one text per line, and
``train_labels.txt`` with the labels of that text, separated by spaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from labelwood.data.catalogue import decode_lines
from labelwood.data.dataset import Dataset, from_names
from labelwood.data.label_files import write_label_texts
from labelwood.data.publishing import text_output
from labelwood.data.reading import Reading
from labelwood.data.source import Source, plain_name
from labelwood.errors import LabelwoodError

NAME = "attentionxml"
HOLDS = frozenset({"texts", "label_texts"})
FIELDS: str | None = None
RESERVED = frozenset[str]()
_TEXTS = re.compile(r"(?P<split>.+?)_(raw_)?texts\.txt")


def detect(source: Source) -> bool:
    """Whether the name is one of AttentionXML's names for texts."""
    return _TEXTS.fullmatch(source.name) is not None


def pieces(reading: Reading) -> Iterator[Dataset]:
    """Yields all rows at once; an empty line is a row without text or without labels."""
    source = reading.source
    named = _TEXTS.fullmatch(source.name)
    beside = source.sibling(f"{named['split']}_labels.txt") if named else None
    texts = pa.array(decode_lines(source), pa.large_string())
    if beside is None:
        yield Dataset(texts=texts)
        return
    lines = decode_lines(beside)
    if len(lines) != len(texts):
        raise beside.error(f"has {len(lines)} lines where {source} has {len(texts)}; they must belong together")
    Y = from_names((reading.label_names(line.split()) for line in lines), reading.index)
    yield Dataset(texts=texts, Y=Y, labels=reading.index)


def write(data: Dataset, path: Path) -> None:
    """Writes texts to `path`, with spaces for line breaks, and labels beside it."""
    named = _TEXTS.fullmatch(plain_name(path))
    if data.texts is None or data.Y is None or data.labels is None or named is None:
        raise LabelwoodError("attentionxml needs texts, labels and a file named like train_texts.txt")
    names = list(data.labels)
    spaced = next((name for name in names if name.split() != [name]), None)
    if spaced is not None:
        raise LabelwoodError(
            f"the label {spaced!r} holds a space, which separates labels in attentionxml; write jsonl instead"
        )
    write_label_texts(data, path)
    (labels,) = companions(path)
    with text_output(labels) as out:
        ends = data.Y.indptr.tolist()
        for start, end in pairwise(ends):
            out.write(" ".join(names[j] for j in data.Y.indices[start:end]) + "\n")
    with text_output(path) as out:
        out.writelines(re.sub(r"[\r\n]+", " ", text.as_py()) + "\n" for text in data.texts)


def companions(path: Path) -> list[Path]:
    """The file of the labels, with the compression of the texts."""
    named = _TEXTS.fullmatch(plain_name(path))
    suffix = path.name.removeprefix(plain_name(path))
    return [] if named is None else [path.with_name(f"{named['split']}_labels.txt{suffix}")]
