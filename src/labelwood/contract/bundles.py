"""Bundles: values of several parameters that belong together, such as how copies of labels are made."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, Union, get_args, get_type_hints

from labelwood.errors import ParameterError


@dataclass(frozen=True)
class Bundle:
    """Settings that mean something only together: one value for a parameter of a model, which sets others as well.

    A class of models names its bundles in `bundles`, and its `__init__` takes their fields also by themselves, as
    ``**fields``. The model keeps each field as a parameter of its own: an attribute, an entry of `get_params`, a line
    of what is saved. So a field that is added to a bundle is a parameter of every model that takes the bundle. The
    fields' defaults are the models'. As all parameters, they are checked when they are used.

    Example:
        >>> import labelwood as lw
        >>> lw.Interpolated(lam=1.5).params()
        {'tree': 'interpolated', 'lam': 1.5}
    """

    renamed: ClassVar[Mapping[str, str]] = {}  # fields whose parameter has another name
    implied: ClassVar[Mapping[str, Any]] = {}  # parameters that have to be so for the fields to matter

    @classmethod
    def param_names(cls) -> dict[str, str]:
        """Of each field the parameter that it is."""
        return {field.name: cls.renamed.get(field.name, field.name) for field in fields(cls)}

    @classmethod
    def as_params(cls, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values of fields as parameters; `name` is the parameter that takes the bundle."""
        known = cls.param_names()
        for field in values:
            if field not in known:
                raise ParameterError(f"{name} has no parameter {field!r}; {hint(field, known)}")
        return {known[field]: value for field, value in values.items()}

    @classmethod
    def of(cls, model: Any) -> Self:
        """The bundle that a model's parameters make.

        Example:
            >>> import labelwood as lw
            >>> lw.Interpolated.of(lw.TreeClassifier(lam=0.5))
            Interpolated(lam=0.5)
        """
        return cls(**{field: getattr(model, param) for field, param in cls.param_names().items()})

    def params(self) -> dict[str, Any]:
        """The parameters that the bundle sets."""
        return {**self.implied, **{param: getattr(self, field) for field, param in self.param_names().items()}}


def one_by_one(cls: type, params: Mapping[str, Any], *, tables: bool = False) -> dict[str, Any]:
    """Parameters without bundles: each field under its own name. A field that is said twice, differently, is an error.

    With `tables`, a mapping sets some fields of a bundle, as in configuration files.

    Example:
        >>> import labelwood as lw
        >>> one_by_one(lw.TreeClassifier, {"tree": lw.Interpolated(lam=1.5), "beam": 3})
        {'tree': 'interpolated', 'lam': 1.5, 'beam': 3}
        >>> one_by_one(lw.TreeClassifier, {"copies": {"number": 2}}, tables=True)
        {'copies': 2}
    """
    bundles: Mapping[str, type[Bundle]] = getattr(cls, "bundles", {})
    bundled: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, value in params.items():
        bundle = bundles.get(name)
        if bundle is not None and isinstance(value, bundle):
            bundled |= value.params()
        elif bundle is not None and tables and isinstance(value, Mapping):
            bundled |= {**bundle.implied, **bundle.as_params(name, value)}
        else:
            others[name] = value
    for name, value in others.items():
        if name in bundled and repr(bundled[name]) != repr(value):
            raise ParameterError(f"{name} is given as {value!r} and as {bundled[name]!r}: give it once")
    return bundled | others


def param_defaults(cls: type) -> Mapping[str, Any]:
    """The parameters that a class takes and their defaults; the fields of its bundles, too.

    Example:
        >>> import labelwood as lw
        >>> list(param_defaults(lw.SoftmaxTreeClassifier).items())[:3]
        [('tree', 'huffman'), ('lam', 1.0), ('loss', 'softmax')]
    """
    found: dict[str, Any] = {}
    bundles = _bundles(cls)
    for each in named_params(cls):
        found[each.name] = each.default
        if each.name in bundles:
            found |= {param: value for param, value in bundles[each.name]().params().items() if param not in found}
    return found


def param_types(cls: type) -> dict[str, Any]:
    """What each of these may be. A bundle is taken apart before it is checked, so none is among them.

    Example:
        >>> import labelwood as lw
        >>> str(param_types(lw.TreeClassifier)["merge"])
        "typing.Literal['max', 'mean']"
    """
    bundles = _bundles(cls)
    hints = get_type_hints(cls.__init__, include_extras=True)  # type: ignore[misc]
    found = {each.name: _without(bundles.get(each.name), hints[each.name]) for each in named_params(cls)}
    for bundle in bundles.values():
        types = get_type_hints(bundle, include_extras=True)
        found |= {param: types[field] for field, param in bundle.param_names().items()}
    return {name: found[name] for name in param_defaults(cls)}


def hint(name: str, known: Iterable[str]) -> str:
    """The end of an error about a name that there is not.

    Example:
        >>> hint("n_thread", ["beam", "n_threads"]), hint("speed", ["beam", "n_threads"])
        ("did you mean 'n_threads'?", 'it has: beam, n_threads')
    """
    near = difflib.get_close_matches(name, known := list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else f"it has: {', '.join(known) or 'none'}"


def named_params(cls: type, *, eval_str: bool = False) -> list[inspect.Parameter]:
    """The parameters that `__init__` names: not those that it takes by ``**fields``.

    Example:
        >>> import labelwood as lw
        >>> [each.name for each in named_params(lw.CentroidClassifier)]
        ['n_threads']
    """
    _, *parameters = inspect.signature(cls.__init__, eval_str=eval_str).parameters.values()  # type: ignore[misc]
    return [each for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]


def _bundles(cls: type) -> Mapping[str, type[Bundle]]:
    """The bundles whose fields `__init__` takes."""
    parameters = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]
    found: Mapping[str, type[Bundle]] = getattr(cls, "bundles", {})
    return found if any(each.kind == each.VAR_KEYWORD for each in parameters) else {}


def _without(bundle: type[Bundle] | None, wanted: Any) -> Any:
    """The type without the bundle in it."""
    return wanted if bundle is None else Union[tuple(kind for kind in get_args(wanted) if kind is not bundle)]  # noqa: UP007
