"""The errors Labelwood raises on purpose. Each message is one sentence that names what is wrong and the fix.

The command line prints them as one line and exits with status 2.
"""

from __future__ import annotations

import re
import sys
from os import PathLike, fspath

_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # what ends a line or changes how a terminal shows it
_LONGEST, _END = 2000, 500  # characters of a message, and of its end, which has the fix


class LabelwoodError(ValueError):
    """Base of all errors that a user can mend. What they quote of files and values is shown so that one line remains.

    Example:
        >>> issubclass(InputError, LabelwoodError)
        True
        >>> str(LabelwoodError("the label 'a\\nb' is described twice"))
        "the label 'a\\\\nb' is described twice"
    """

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(_one_line(argument) if isinstance(argument, str) else argument for argument in arguments))


def _one_line(message: str) -> str:
    if len(message) > _LONGEST:
        message = f"{message[: _LONGEST - _END]} … {message[-_END:]}"
    return _BREAKS.sub(lambda found: ascii(found[0])[1:-1], message)


class InputError(LabelwoodError):
    """A file cannot be used as it is.

    Example:
        >>> str(InputError("the value is not a number; write it as 0.5", "train.txt", line=3))
        'train.txt, line 3: the value is not a number; write it as 0.5'
    """

    def __init__(self, message: str, path: str | PathLike[str] | None = None, line: int | None = None) -> None:
        self.message = message
        self.path = None if path is None else fspath(path)
        self.line = line
        place = ", ".join(p for p in (self.path, None if line is None else f"line {line}") if p)
        super().__init__(f"{place}: {message}" if place else message)


class ParameterError(LabelwoodError):
    """A parameter, an option or an argument has a value that cannot be used.

    Example:
        >>> raise ParameterError("k must be at least 1, not 0")
        Traceback (most recent call last):
        ...
        labelwood.errors.ParameterError: k must be at least 1, not 0
    """


class ModelError(LabelwoodError):
    """A saved model cannot be loaded, or a place cannot be saved to.

    Example:
        >>> issubclass(ModelError, LabelwoodError)
        True
    """


class NotFittedError(LabelwoodError, AttributeError):
    """A model is asked for answers before it has learned.

    Example:
        >>> issubclass(NotFittedError, AttributeError)
        True
    """


def not_fitted(model: object) -> NotFittedError:
    """The error for a model that has not learned; also scikit-learn's own kind where scikit-learn is in use.

    Example:
        >>> str(not_fitted([]))
        'this list has not learned yet: call fit first'
    """
    foreign = sys.modules.get("sklearn.exceptions")
    kind: type[NotFittedError] = NotFittedError
    if foreign is not None:
        kind = type("NotFittedError", (NotFittedError, foreign.NotFittedError), {})
    return kind(f"this {type(model).__name__} has not learned yet: call fit first")


class NativeLineError(LabelwoodError):
    """Raised by native code for one line of a text; readers turn it into an `InputError` with the file's name."""

    def __init__(self, message: str, line: int) -> None:
        self.message = message
        self.line = line
        super().__init__(message)
