"""The errors Labelwood raises on purpose. Each message is one sentence that names what is wrong and the fix.

The command line prints them as one line and exits with status 2.
"""

from __future__ import annotations

import sys
from os import PathLike, fspath


class LabelwoodError(ValueError):
    """Base of all errors that a user can mend.

    Example:
        >>> issubclass(InputError, LabelwoodError)
        True
    """


class InputError(LabelwoodError):
    """A file cannot be used as it is.

    Example:
        >>> str(InputError("the value is not a number; write it as 0.5", "train.txt", line=3))
        'train.txt, line 3: the value is not a number; write it as 0.5'
    """

    def __init__(self, message: str, path: str | PathLike[str] | None = None, line: int | None = None) -> None:
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


class MissingExtraError(LabelwoodError, ImportError):
    """A part of Labelwood needs an optional package.

    Example:
        >>> str(MissingExtraError("torch", "deep"))
        "this needs the package torch; install it with: pip install 'labelwood[deep]'"
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"this needs the package {package}; install it with: pip install 'labelwood[{extra}]'")


class NativeLineError(LabelwoodError):
    """Raised by native code for one line of a text; readers turn it into an `InputError` with the file's name."""

    def __init__(self, message: str, line: int) -> None:
        self.message = message
        self.line = line
        super().__init__(message)
