"""Converts the texts that callers pass. All functions that take texts use it, so a text is the same everywhere."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from labelwood.arrays.threads import FEW
from labelwood.errors import LabelwoodError


def as_strings(values: Any, name: str) -> Any:
    """The values as an Arrow array of strings; raises if a value is not a string.

    Example:
        >>> len(as_strings(["a", "b"], "texts"))
        2
    """
    if isinstance(values, str):
        raise LabelwoodError(f"{name} is a single string: put it into a list")
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values.cast(pa.large_string())
    try:
        return pa.array(list(values), pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError, OverflowError) as e:
        raise LabelwoodError(f"{name} must be strings ({e}); for numeric features use a model directly") from None


def as_texts(texts: Any, name: str) -> Any:
    """The texts as one Arrow array of strings without nulls.

    Example:
        >>> as_texts(["a dog"], "texts").to_pylist()
        ['a dog']
    """
    found = as_strings(texts, name)
    if hasattr(found, "combine_chunks"):
        found = found.combine_chunks()
    if found.null_count:
        missing = found.is_null().to_pylist().index(True)
        raise LabelwoodError(f"{name}[{missing}] is None: give a string, which may be empty")
    return found


def few_texts(texts: Any) -> list[Any] | None:
    """A tuple, array or Series of few texts as a list, for the fast path of a model; None for anything else.

    Example:
        >>> few_texts(("a dog", "a rose")), few_texts(pa.array(["a dog"])), few_texts("a dog")
        (['a dog', 'a rose'], ['a dog'], None)
    """
    if isinstance(texts, tuple):
        return list(texts)
    as_list = getattr(texts, "to_pylist", None) or getattr(texts, "tolist", None)
    if as_list is None or not hasattr(texts, "__len__") or len(texts) > FEW:
        return None
    found = as_list()
    return found if isinstance(found, list) else None
