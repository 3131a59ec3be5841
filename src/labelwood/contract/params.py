"""Parameters of models: listed, changed and checked, as scikit-learn's estimators have them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from annotated_types import Ge, Le

from labelwood.contract.bundles import Bundle, named_params, one_by_one, param_defaults
from labelwood.contract.checks import check_params
from labelwood.errors import ParameterError

Threads: TypeAlias = Annotated[int, Ge(1)] | None
Count: TypeAlias = Annotated[int, Ge(1), Le(2**31 - 1)]  # native code counts in 32 bits
Seed: TypeAlias = Annotated[int, Ge(0), Le(2**63 - 1)]  # others follow it, one for each tree


class Settings(dict[str, Any]):
    """Parameters of one moment, checked; and what a model has made of them for its search, so that it is made once."""

    for_search: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Settings, (dict(self),)  # a copy, in another process too, makes what it needs for its search anew


class _NamedParams:
    """The signature of a class without ``**fields``, which scikit-learn would take for a parameter."""

    def __get__(self, _instance: Any, cls: type) -> inspect.Signature:
        try:
            return inspect.Signature(named_params(cls, eval_str=True))
        except NameError as e:  # an annotation that only type checkers can read
            raise AttributeError("__signature__") from e


class Params:
    """Keyword parameters that can be listed, changed and checked, as scikit-learn's estimators have them.

    Example:
        >>> class Knob(Params):
        ...     def __init__(self, *, turns: int = 3) -> None:
        ...         self.turns = turns
        >>> Knob(turns=5)
        Knob(turns=5)
    """

    bundles: ClassVar[Mapping[str, type[Bundle]]] = {}  # by the parameter that may be one

    _own_params: ClassVar[Mapping[str, Any]]
    _all_params: ClassVar[dict[str, Any]]

    __signature__ = _NamedParams()

    def __init_subclass__(cls, **how: Any) -> None:
        """Fields of bundles have their defaults in the class until a model sets them."""
        super().__init_subclass__(**how)
        for name, bundle in cls.__dict__.get("bundles", {}).items():
            for param, default in bundle().params().items():
                if param != name:
                    setattr(cls, param, default)

    @classmethod
    def _param_defaults(cls) -> Mapping[str, Any]:
        found: Mapping[str, Any] | None = cls.__dict__.get("_own_params")  # not a parent's
        if found is None:
            found = cls._own_params = param_defaults(cls)
        return found

    @classmethod
    def _param_names(cls) -> tuple[str, ...]:
        return tuple(cls._param_defaults())

    @classmethod
    def _every_param(cls) -> dict[str, type[Params]]:
        """The names of its parameters and of its parents', which a child may fix, each with the class that has it."""
        found: dict[str, type[Params]] | None = cls.__dict__.get("_all_params")
        if found is None:
            kinds = [kind for kind in cls.__mro__ if issubclass(kind, Params) and "__init__" in kind.__dict__]
            found = cls._all_params = {name: kind for kind in reversed(kinds) for name in kind._param_names()}
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        is_param = name in self._every_param()
        if is_param and self.__dict__.get(name, self) is value:
            return
        if isinstance(value, Bundle):
            self.__dict__.update(one_by_one(type(self), {name: value}))
        else:
            object.__setattr__(self, name, value)
        if is_param:
            self.__dict__.pop("_settled", None)

    def _set_bundles(self, fields: Mapping[str, Any], **params: Any) -> None:
        """Sets the parameters that may be bundles, and the fields that `__init__` was given by themselves."""
        known = {param for bundle in self.bundles.values() for param in bundle.param_names().values()}
        for name in fields:
            if name not in known:
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument {name!r}")
        given = one_by_one(type(self), {**params, **fields})
        # Defaults stay in the class: scikit-learn allows `__init__` to set only attributes that its signature names.
        self.__dict__.update(
            {name: value for name, value in given.items() if getattr(type(self), name, self) is not value}
        )

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
            owners = self._every_param()
            names = [name for name in owners if name in now or name in self._param_names()]
            found = Settings((name, now[name] if name in now else getattr(self, name)) for name in names)
            for owner in set(owners.values()):
                check_params(owner, {name: value for name, value in found.items() if owners[name] is owner})
            self.__dict__["_settled"] = found
            if any(self.__dict__.get(name, value) is not value for name, value in found.items()):  # changed meanwhile
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
        """Changes parameters, all at once or none; `part__name` reaches into a part. Values are checked when used."""
        own, of_parts = self._told_apart(one_by_one(type(self), params))
        self.__dict__.update(own)
        self.__dict__.pop("_settled", None)
        for name, inner in of_parts.items():
            getattr(self, name).set_params(**inner)
        return self

    def _told_apart(self, params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Its own parameters and those of its parts; raises for a name that there is not, here or further in."""
        own: dict[str, Any] = {}
        within: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, mark, inner = key.partition("__")
            if name not in self._param_names() or (mark and not inner):
                known = ", ".join(self._param_names())
                raise ParameterError(f"{type(self).__name__} has no parameter {key!r}; it has: {known}")
            if inner:
                within.setdefault(name, {})[inner] = value
            else:
                own[name] = value
        of_parts: dict[str, dict[str, Any]] = {}
        for name, inner_params in within.items():
            if self._is_bundle(name, own):
                own |= self.bundles[name].as_params(name, inner_params)
                continue
            part = own.get(name, getattr(self, name))
            if not isinstance(part, Params):
                first = next(iter(inner_params))
                raise ParameterError(f"{name} is {part!r} and has no parameter {first!r}; set {name} itself first")
            part._told_apart(inner_params)
            of_parts[name] = inner_params
        return own, of_parts

    def _is_bundle(self, name: str, own: Mapping[str, Any]) -> bool:
        """Whether a parameter has fields, once its own parameters are changed."""
        bundle = self.bundles.get(name)
        implied = {} if bundle is None else bundle.implied
        return bundle is not None and all(own.get(n, getattr(self, n)) == value for n, value in implied.items())

    def __repr__(self) -> str:
        defaults = self._param_defaults()
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if repr(value) != repr(defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


def unfitted(part: Any, n_threads: int | None = None) -> Any:
    """A copy of a model or another part with its parameters alone; with `n_threads`, it uses so many.

    Example:
        >>> from labelwood import TreeClassifier
        >>> unfitted(TreeClassifier(beam=3), n_threads=2)
        TreeClassifier(beam=3, n_threads=2)
    """
    copy = type(part)(**part.get_params(deep=False))
    return copy if n_threads is None else copy.set_params(n_threads=n_threads)
