"""Turns what users pass as texts into the two arrays native code reads, or says in one sentence why it cannot."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood import _native
from labelwood.errors import LabelwoodError

_FEW = 16  # up to so many texts, joining them is quicker than building an Arrow array
_CAPITAL_SIGMA = "Σ"


class Documents(NamedTuple):
    """Texts in UTF-8 in one piece of memory: text i is `data[offsets[i]:offsets[i + 1]]`.

    Example:
        >>> as_documents(["one", "two"]).offsets
        array([0, 3, 6])
    """

    offsets: NDArray[np.int64]
    data: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def tolist(self) -> list[str]:
        """The texts as Python strings."""
        data = self.data.tobytes()
        return [data[i:j].decode() for i, j in zip(self.offsets[:-1], self.offsets[1:], strict=True)]


def as_documents(texts: Any) -> Documents:
    """Checks texts (an iterable of `str`, a numpy array, or an Arrow string array) and lays them out for native code.

    Arrow arrays are read in place.

    Example:
        >>> as_documents(["fine", None])
        Traceback (most recent call last):
        ...
        labelwood.errors.LabelwoodError: text 1 is of type NoneType: give every text as a str
    """
    if isinstance(texts, str | bytes):
        raise LabelwoodError("texts is a single string: give a list of texts, such as [text]")
    if isinstance(texts, Documents):
        return texts
    if type(texts).__module__.partition(".")[0] == "pyarrow":
        return _from_arrow_of_user(texts)
    return _from_strings(_as_strings(texts))


def lowercased(documents: Documents) -> Documents:
    """The same texts, those with a capital sigma in lower case.

    Which small sigma it becomes depends on its neighbours; Python knows the rule. All other characters are lowered
    on their own, which native code does.

    Example:
        >>> lowercased(as_documents(["ΟΔΟΣ", "A"])).tolist()
        ['οδος', 'A']
    """
    rows = _native.rows_with(documents.offsets, documents.data, _CAPITAL_SIGMA)
    if not len(rows):
        return documents
    texts = documents.tolist()
    for row in rows:
        texts[row] = texts[row].lower()
    return _from_strings(texts)


def without_accents(documents: Documents, *, lowercase: bool) -> Documents:
    """The texts, first in lower case if wanted, decomposed by compatibility (NFKD) and without combining marks.

    Example:
        >>> without_accents(as_documents(["Élan ﬁn"]), lowercase=True).tolist()
        ['elan fin']
    """
    lower: Callable[[str], str] = str.lower if lowercase else str
    return _from_strings([_strip_marks(lower(text)) for text in documents.tolist()])


def _strip_marks(text: str) -> str:
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKD", text)
    marks = [ord(c) for c in set(plain) if unicodedata.combining(c)]
    return plain.translate(dict.fromkeys(marks)) if marks else plain


def _as_strings(texts: Any) -> list[str]:
    if isinstance(texts, np.ndarray):
        if texts.ndim != 1:
            raise LabelwoodError(f"texts has {texts.ndim} dimensions and needs one: give one text a row")
        texts = texts.tolist()
    if not isinstance(texts, Iterable):
        raise LabelwoodError(f"texts is of type {type(texts).__name__}: give a list of str")
    strings = texts if isinstance(texts, list | tuple) else list(texts)
    if set(map(type, strings)) <= {str}:
        return list(strings)
    for row, text in enumerate(strings):
        if not isinstance(text, str):
            raise LabelwoodError(f"text {row} is of type {type(text).__name__}: give every text as a str")
    return [str(text) for text in strings]


def _from_strings(strings: list[str]) -> Documents:
    try:
        return _joined(strings) if len(strings) <= _FEW else _from_arrow(_to_arrow(strings))
    except UnicodeEncodeError:
        row = next(i for i, text in enumerate(strings) if not _is_encodable(text))
        raise LabelwoodError(
            f"text {row} holds half of a surrogate pair, which is no character: "
            "decode its source as UTF-16, or remove it with text.encode('utf-8', 'ignore').decode()"
        ) from None


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _joined(strings: list[str]) -> Documents:
    encoded = [text.encode() for text in strings]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    end = 0
    for i, text in enumerate(encoded, 1):
        offsets[i] = end = end + len(text)
    return Documents(offsets, np.frombuffer(b"".join(encoded), np.uint8))


def _to_arrow(strings: list[str]) -> Any:
    import pyarrow as pa

    return pa.array(strings, pa.large_string())


def _from_arrow_of_user(array: Any) -> Documents:
    import pyarrow as pa

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
    if not isinstance(large, pa.ChunkedArray):
        return _from_arrow(large)
    return _from_arrow(large.chunk(0) if large.num_chunks == 1 else large.combine_chunks())


def _from_arrow(array: Any) -> Documents:
    """Views of the array's own memory; a slice shares its parent's bytes."""
    if len(array) == 0:
        return Documents(np.zeros(1, np.int64), np.zeros(0, np.uint8))
    _, offsets, data = array.buffers()
    begin = array.offset
    return Documents(
        np.frombuffer(offsets, np.int64)[begin : begin + len(array) + 1],
        np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8),
    )
