"""Converts arrays and numbers that users pass to plain numpy arrays and numbers, or raises an error of one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.errors import LabelwoodError, ParameterError

MOST = 2**31 - 1  # columns, and labels per row: native code counts them in 32 bits
MOST_SEED = 2**64 - 1


def plain_array(value: Any, name: str) -> NDArray[Any]:
    """The value as a plain numpy array: a subclass could report other contents than its memory holds.

    Example:
        >>> type(plain_array(np.ma.array([1, 2]), "X")).__name__
        'ndarray'
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise LabelwoodError(f"{name} holds masked values: fill them in first, with {name}.filled(0) for zeros")
    try:
        array = np.asarray(value)
    except MemoryError:
        raise LabelwoodError(f"there is not enough memory to read {name} as an array: give a smaller one") from None
    except Exception as e:  # a user's object may raise anything when numpy reads it
        if "inhomogeneous" in str(e):
            raise LabelwoodError(
                f"{name} has rows of different lengths: give every row a value for each column"
            ) from None
        raise LabelwoodError(f"{name} cannot be read as an array ({first_line(e)}): give an array of numbers") from None
    if array.dtype.kind == "c":
        raise LabelwoodError(f"{name} holds complex numbers. Complex data not supported: pass real ones")
    return array


def first_line(error: Exception) -> str:
    """The first line of an error's message, shortened to fit into a sentence.

    Example:
        >>> first_line(ValueError("no number\\nat all"))
        'no number'
    """
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200].rstrip(".")


def real_numbers(array: NDArray[Any], name: str, dtype: Any = np.float32) -> NDArray[Any]:
    """The numbers of a plain array as a contiguous array of floats; a number that is too large becomes infinite.

    Example:
        >>> real_numbers(np.array(["1", "2"], object), "X")
        array([1., 2.], dtype=float32)
    """
    if array.dtype == dtype:
        return np.asarray(array, order="C")
    if array.dtype.kind not in "biufOUS":
        raise LabelwoodError(f"{name} holds values of the type {array.dtype}, which are not numbers: give numbers")
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(array.astype(dtype), order="C")
    except (TypeError, ValueError, OverflowError) as e:
        raise LabelwoodError(
            f"{name} holds values that are not numbers ({first_line(e)}); for texts use TextClassifier, "
            "or turn them into features with TextVectorizer first"
        ) from None


def real_vector(value: Any, name: str) -> NDArray[np.float64]:
    """A value as a one-dimensional array of real numbers in float64.

    Example:
        >>> real_vector([1, 2], "frequencies")
        array([1., 2.])
    """
    array = plain_array(value, name)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "biuf"):
        raise ParameterError(
            f"{name} has {array.ndim} dimension(s) and values of the type {array.dtype}: give one row of numbers"
        )
    return real_numbers(array, name, np.float64)


def whole_number(value: Any, name: str, least: int = 1, most: int = MOST) -> int:
    """A whole number from `least` to `most`; raises for anything else.

    Example:
        >>> whole_number(np.int64(5), "max_leaf")
        5
    """
    if type(value) is int and least <= value <= most:  # the most frequent case must be fast
        return value
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or not least <= value <= most:
        raise ParameterError(f"{name} must be a whole number from {least} to {most}, not {_short_text(value)}")
    return int(value)


def real_number(value: Any, name: str, least: float = -np.inf, most: float = np.inf) -> float:
    """A number from `least` to `most`, which may be infinite; raises for anything else.

    Example:
        >>> real_number(1, "lam", 0, 2)
        1.0
    """
    if type(value) is float and least <= value <= most:
        return value
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise ParameterError(f"{name} must be a number, not {_short_text(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = np.inf if value > 0 else -np.inf
    if not least <= number <= most:
        raise ParameterError(f"{name} is {number:g} and must be a number from {least:g} to {most:g}")
    return number


def _short_text(value: Any) -> str:
    """A short text of any value, for an error message."""
    if isinstance(value, int | float | str | bool | type(None) | np.generic):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:60]}…"
    return f"a value of the type {type(value).__name__}"
