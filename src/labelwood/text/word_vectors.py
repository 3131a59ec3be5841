"""Vectors of words that others have trained, from the text files of fastText, GloVe and word2vec."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from labelwood.errors import InputError, ParameterError

if TYPE_CHECKING:
    from labelwood.data.source import Source

_HEADER = re.compile(rb"(\d{1,18}) (\d{1,18})")


def word_vectors(path: str | PathLike[str], terms: Iterable[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Reads the vectors of `terms` from a file that holds those of many more words, compressed or not.

    The file has a word and its values a line, separated by single spaces or tabs; its first line may be the number of
    words and of values, as fastText writes it. Where a line has more fields than that, the word holds spaces, as a few
    of GloVe's do. If a word comes twice, the first counts. The file is read piece by piece, and only values of
    wanted words are parsed; of the other lines the word and the number of values are checked.

    Args:
        path: the file, such as ``cc.en.300.vec.gz`` or ``glove.6B.300d.txt``.
        terms: the words, written as in the file: a vectorizer's ``get_feature_names_out()``, say.

    Returns:
        An array with a row for each term, zeros where the file does not have it, and for each term whether it has.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.vec"
        >>> _ = path.write_text("3 2\\nthe 0.5 1 \\noak 1 -2 \\nelm 0 3 \\n")
        >>> vectors, found = word_vectors(path, ["elm", "yew", "oak"])
        >>> vectors.tolist(), found.tolist()
        ([[0.0, 3.0], [0.0, 0.0], [1.0, -2.0]], [True, False, True])
    """
    from labelwood.data.source import Source  # not above: it brings Arrow, which texts do without

    source = Source(path)
    places = _places(terms)
    found = np.zeros(sum(map(len, places.values())), np.bool_)
    vectors: NDArray[np.float32] | None = None
    for number, word, values in _entries(source):
        if vectors is None:
            vectors = np.zeros((len(found), values.count(b" ") + 1), np.float32)
        if (rows := places.pop(word, None)) is not None:
            vectors[rows] = _numbers(source, number, values)
            found[rows] = True
    if vectors is None:
        raise source.error("holds no vectors; write a word and its values a line, such as: oak 0.5 -1.25")
    return vectors, found


def _places(terms: Iterable[str]) -> dict[bytes, list[int]]:
    """The rows of each different term."""
    if isinstance(terms, str):
        raise ParameterError("terms is a single string: put it into a list")
    places: dict[bytes, list[int]] = {}
    for row, term in enumerate(terms):
        if not isinstance(term, str):
            raise ParameterError(f"term {row} is of type {type(term).__name__}: give every term as a str")
        # Half a surrogate pair is in no file; it must not stop those that are.
        places.setdefault(term.encode(errors="surrogatepass"), []).append(row)
    return places


def _entries(source: Source) -> Iterator[tuple[int, bytes, bytes]]:
    """Each line's number, word and values; all have the same number of values."""
    lines = _lines(source)
    first = next(lines, None)
    if first is None:
        raise source.error("is empty; write a word and its values a line, such as: oak 0.5 -1.25")
    header = _HEADER.fullmatch(first[1])
    if header is None:
        width, told = first[1].count(b" "), f"line {first[0]} has"
        lines = chain([first], lines)
    else:
        width, told = int(header[2]), "the header says"
    if width == 0:
        raise source.error("there are no values; write the word and then its values, such as: oak 0.5 -1.25", first[0])
    n_words = 0
    for number, line in lines:
        n_words += 1
        n_values = line.count(b" ")
        end = line.find(b" ") if n_values == width else _word_end(line, width)
        if end <= 0:
            problem = f"has {n_values} values where {told} {width}" if end < 0 else "has no word before its values"
            raise source.error(f"{problem}; mend or remove the line, and separate fields by single spaces", number)
        yield number, _checked(source, number, line[:end]), line[end + 1 :]
    if header is not None and n_words != int(header[1]):
        raise source.error(
            f"the header says {int(header[1])} words and {n_words} follow; fetch the file again or mend the header",
            first[0],
        )


def _lines(source: Source) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers, fields separated by spaces; empty ones are left out."""
    for data, first_line in source.blocks():
        for number, line in enumerate(data.replace(b"\t", b" ").split(b"\n"), first_line):
            if stripped := line.rstrip(b" \r"):
                yield number, stripped


def _word_end(line: bytes, width: int) -> int:
    """Where the word of a line with another number of fields ends; −1 if it has too few or too many values."""
    word, *values = line.rsplit(b" ", width)
    extra = word.rpartition(b" ")[2]
    if len(values) < width or not extra:
        return -1
    try:
        float(extra)
    except ValueError:
        return len(word)
    return -1


def _checked(source: Source, number: int, word: bytes) -> bytes:
    if not word.isascii():
        try:
            word.decode()
        except UnicodeDecodeError:
            raise source.error("is not UTF-8 text; convert the file to UTF-8 or remove the line", number) from None
    return word


def _numbers(source: Source, number: int, values: bytes) -> NDArray[np.float32]:
    fields = values.split(b" ")
    try:
        with np.errstate(over="ignore"):
            vector = np.array([float(field) for field in fields], np.float32)
    except ValueError:
        raise _bad_value(source, number, fields) from None
    # Python would read 1_000 as a number; nobody else does.
    if b"_" in values or not np.isfinite(vector).all():
        raise _bad_value(source, number, fields)
    return vector


def _bad_value(source: Source, number: int, fields: list[bytes]) -> InputError:
    bad = next(field for field in fields if not _is_finite(field))
    shown = bad[:40].decode(errors="replace")
    return source.error(f"the value {shown!r} is not a finite 32-bit number; mend or remove the line", number)


def _is_finite(field: bytes) -> bool:
    try:
        with np.errstate(over="ignore"):
            return b"_" not in field and bool(np.isfinite(np.float32(float(field))))
    except ValueError:
        return False
