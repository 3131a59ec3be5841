"""Parameters of models: listed, changed and checked, as scikit-learn's estimators have them."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self

from labelwood.errors import ParameterError
from labelwood.settings import check_params


class Settings(dict[str, Any]):
    """Parameters of one moment, checked; and what a model has made of them for its search, so that it is made once."""

    for_search: Any = None


class Params:
    """Keyword parameters that can be listed, changed and checked, as scikit-learn's estimators have them.

    Example:
        >>> class Knob(Params):
        ...     def __init__(self, *, turns: int = 3) -> None:
        ...         self.turns = turns
        >>> Knob(turns=5)
        Knob(turns=5)
    """

    _own_params: ClassVar[tuple[str, ...]]

    @classmethod
    def _param_names(cls) -> tuple[str, ...]:
        found: tuple[str, ...] | None = cls.__dict__.get("_own_params")  # not a parent's
        if found is None:
            found = cls._own_params = tuple(
                name for name in inspect.signature(cls.__init__).parameters if name != "self"
            )
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name in self._param_names():
            self.__dict__.pop("_settled", None)

    def settled(self) -> Settings:
        """All parameters as they are at one moment, checked. A change in another thread is in it whole, or not at all.

        Example:
            >>> from labelwood import CentroidClassifier
            >>> CentroidClassifier(n_threads=0).settled()
            Traceback (most recent call last):
            ...
            labelwood.errors.ParameterError: CentroidClassifier: n_threads is 0 but should be greater than or equal to 1
        """
        found: Settings | None = self.__dict__.get("_settled")
        while found is None:
            now = self.__dict__.copy()
            found = Settings((name, now[name]) for name in self._param_names())
            check_params(type(self), found)
            self.__dict__["_settled"] = found
            if any(self.__dict__[name] is not value for name, value in found.items()):  # changed meanwhile
                self.__dict__.pop("_settled", None)
                found = None
        return found

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with `deep`, those of parts too, as `part__name`."""
        params: dict[str, Any] = {}
        for name in self._param_names():
            value = params[name] = getattr(self, name)
            if deep and isinstance(value, Params):
                params |= {f"{name}__{inner}": v for inner, v in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Changes parameters, all at once; `part__name` reaches into a part. They are checked when they are used."""
        own: dict[str, Any] = {}
        of_parts: list[tuple[str, str, Any]] = []
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in self._param_names():
                known = ", ".join(self._param_names())
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has: {known}")
            if inner:
                of_parts.append((name, inner, value))
            else:
                own[name] = value
        for name, inner, _ in of_parts:
            part = own.get(name, getattr(self, name))
            if not isinstance(part, Params):
                raise ParameterError(f"{name} is {part!r} and has no parameter {inner!r}; set {name} itself first")
        self.__dict__.update(own)
        self.__dict__.pop("_settled", None)
        for name, inner, value in of_parts:
            getattr(self, name).set_params(**{inner: value})
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if repr(value) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"
