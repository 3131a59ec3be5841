"""Options of native code, filled by name: a field there has the name of the parameter here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

Options = TypeVar("Options")


def fields_of(kind: type) -> tuple[str, ...]:
    """The names of the fields of a native class.

    Example:
        >>> from labelwood import _native
        >>> fields_of(_native.SearchOptions)
        ('beam', 'link', 'path_weight', 'normalize')
    """
    return tuple(name for name, member in vars(kind).items() if isinstance(member, property))


def options_of(kind: type[Options], values: Mapping[str, Any]) -> Options:
    """Native options, each field with the value of its name; `values` may have more.

    Example:
        >>> from labelwood import _native
        >>> values = {"beam": None, "link": "sigmoid", "path_weight": 1.0, "normalize": True, "seed": 3}
        >>> options_of(_native.SearchOptions, values).link
        'sigmoid'
    """
    options = kind()
    for name in fields_of(kind):
        setattr(options, name, values[name])
    return options
