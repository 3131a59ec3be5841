"""Checks parameters against the annotations of `__init__`, so that each is described once.

The same check serves models made in Python, configuration files and the command line's `--set`.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any, get_type_hints

import numpy as np

from labelwood.errors import ParameterError

_LONGEST = 200  # characters of a value that an error shows


def check_params(cls: type, params: Mapping[str, Any]) -> None:
    """Raises `ParameterError` for the first parameter that `cls` does not have or whose value it cannot take.

    Example:
        >>> import labelwood as lw
        >>> check_params(lw.CentroidClassifier, {"n_thread": 2})
        Traceback (most recent call last):
        ...
        labelwood.errors.ParameterError: CentroidClassifier has no parameter 'n_thread'; did you mean 'n_threads'?
    """
    adapters = _adapters(cls)
    for name, value in params.items():
        if name not in adapters:
            near = difflib.get_close_matches(name, adapters, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has: {', '.join(adapters) or 'none'}"
            raise ParameterError(f"{cls.__name__} has no parameter {name!r}; {hint}")
        _check_value(cls, name, value, adapters[name])


def _check_value(cls: type, name: str, value: Any, adapter: Any) -> None:
    from pydantic import ValidationError

    plain = value.item() if isinstance(value, np.generic) else value
    try:
        adapter.validate_python(plain, strict=True)
    except ValidationError as e:
        wanted = "; or ".join(dict.fromkeys(_as_wish(detail["msg"]) for detail in e.errors()))
        raise ParameterError(f"{cls.__name__}: {name} is {_shown(plain)} but {wanted}") from None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _as_wish(message: str) -> str:
    """Pydantic's 'Input should be …' as the end of a sentence."""
    return message.replace("Input should be", "should be")


@cache
def _adapters(cls: type) -> dict[str, Any]:
    from pydantic import ConfigDict, TypeAdapter

    hints = get_type_hints(cls.__init__, include_extras=True)  # type: ignore[misc]
    names = [name for name in inspect.signature(cls.__init__).parameters if name != "self"]  # type: ignore[misc]
    return {name: TypeAdapter(hints[name], config=ConfigDict(arbitrary_types_allowed=True)) for name in names}
