"""Turns what users pass as texts into what native code reads in place, or says why it cannot."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from labelwood import _native
from labelwood.errors import LabelwoodError

_CAPITAL_SIGMA = "Σ"


class ArrowTexts(NamedTuple):
    """Texts in UTF-8 in one piece of memory: text i is `data[offsets[i]:offsets[i + 1]]`.

    Example:
        >>> import pyarrow as pa
        >>> as_documents(pa.array(["one", "two"])).offsets
        array([0, 3, 6])
    """

    offsets: NDArray[np.int64]
    data: NDArray[np.uint8]

    def tolist(self) -> list[str]:
        """The texts as Python strings."""
        begin = int(self.offsets[0])
        data = self.data[begin : self.offsets[-1]].tobytes()
        ends = (self.offsets - begin).tolist()
        return [data[i:j].decode() for i, j in pairwise(ends)]


Documents: TypeAlias = list[str] | ArrowTexts


def as_documents(texts: Any) -> Documents:
    """Checks texts: an iterable of `str`, a numpy array, or an Arrow string array, which is read in place.

    Example:
        >>> as_documents(["fine", None])
        Traceback (most recent call last):
        ...
        labelwood.errors.LabelwoodError: text 1 is of type NoneType: give every text as a str
    """
    if isinstance(texts, str | bytes):
        raise LabelwoodError("texts is a single string: give a list of texts, such as [text]")
    if type(texts).__module__.partition(".")[0] == "pyarrow":
        return _from_arrow(texts)
    return _from_iterable(texts)


def count_of(documents: Documents) -> int:
    """How many texts there are.

    Example:
        >>> count_of(["one", "two"])
        2
    """
    return len(documents) if isinstance(documents, list) else len(documents.offsets) - 1


def with_lower_sigma(documents: Documents) -> Documents:
    """The same texts, those with a capital sigma in lower case.

    Which small sigma it becomes depends on its neighbours; Python knows the rule. All other characters are
    lowered on their own, which native code does.

    Example:
        >>> with_lower_sigma(["ΟΔΟΣ", "A"])
        ['οδος', 'A']
    """
    if isinstance(documents, ArrowTexts):
        begin, end = documents.offsets[[0, -1]]  # a slice of a long array has few of its parent's bytes
        if not _native.mentions(documents.data[begin:end], _CAPITAL_SIGMA):
            return documents
        documents = documents.tolist()
    if not any(_CAPITAL_SIGMA in text for text in documents):
        return documents
    return [text.lower() if _CAPITAL_SIGMA in text else text for text in documents]


def without_accents(documents: Documents, *, lowercase: bool) -> list[str]:
    """The texts, in lower case if wanted, then decomposed (NFKD) and without combining marks.

    Example:
        >>> without_accents(["Élan ﬁn"], lowercase=True)
        ['elan fin']
    """
    lower: Callable[[str], str] = str.lower if lowercase else str
    texts = documents if isinstance(documents, list) else documents.tolist()
    return [_strip_marks(lower(text)) for text in texts]


def _strip_marks(text: str) -> str:
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKD", text)
    marks = [ord(c) for c in set(plain) if unicodedata.combining(c)]
    return plain.translate(dict.fromkeys(marks)) if marks else plain


def _from_iterable(texts: Any) -> list[str]:
    """A list of our own, so that nobody changes it while native code reads."""
    if isinstance(texts, np.ndarray):
        if texts.ndim != 1:
            raise LabelwoodError(f"texts has {texts.ndim} dimensions and needs one: give one text a row")
        texts = texts.tolist()
    if not isinstance(texts, Iterable):
        raise LabelwoodError(f"texts is of type {type(texts).__name__}: give a list of str")
    strings = list(texts)
    if set(map(type, strings)) <= {str}:
        return strings
    for row, text in enumerate(strings):
        if not isinstance(text, str):
            raise LabelwoodError(f"text {row} is of type {type(text).__name__}: give every text as a str")
    return [str.__str__(text) for text in strings]


def _from_arrow(array: Any) -> ArrowTexts:
    import pyarrow as pa

    if not isinstance(array, pa.Array | pa.ChunkedArray):
        raise LabelwoodError(f"texts is of Arrow's type {type(array).__name__}: give one column of strings")
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise LabelwoodError(f"texts is an Arrow array of type {array.type}: give one of strings")
    if array.null_count:
        row = array.is_null().index(True).as_py()
        raise LabelwoodError(f"text {row} is null: give every text as a string, an empty one where there is none")
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as e:
        raise LabelwoodError(f"texts is a damaged Arrow array ({e}): read it again") from None
    large = array.cast(pa.large_string())
    if isinstance(large, pa.ChunkedArray):
        large = large.chunk(0) if large.num_chunks == 1 else large.combine_chunks()
    return _views(large)


def _views(array: Any) -> ArrowTexts:
    """The array's own memory; a slice shares its parent's bytes."""
    if len(array) == 0:
        return ArrowTexts(np.zeros(1, np.int64), np.zeros(0, np.uint8))
    _, offsets, data = array.buffers()
    begin = array.offset
    return ArrowTexts(
        np.frombuffer(offsets, np.int64)[begin : begin + len(array) + 1],
        np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8),
    )
