"""Checks parameters against the annotations of `__init__`, so that each is described once.

The same check serves models made in Python, configuration files and the command line's `--set`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from labelwood.contract.bundles import hint, one_by_one, param_types
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
    for name, value in one_by_one(cls, params).items():
        if name not in adapters:
            raise ParameterError(f"{cls.__name__} has no parameter {name!r}; {hint(name, adapters)}")
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

    config = ConfigDict(arbitrary_types_allowed=True)
    return {name: TypeAdapter(wanted, config=config) for name, wanted in param_types(cls).items()}
