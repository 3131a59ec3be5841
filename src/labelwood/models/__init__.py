"""Models, one a file. `MODELS` names them for the command line and for saved models."""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any

from labelwood.errors import ModelError, ParameterError

if TYPE_CHECKING:
    from labelwood.base import Model

MODELS = {
    "centroid": "labelwood.models.centroid:CentroidClassifier",
    "tree": "labelwood.models.tree:TreeClassifier",
    "softmax-tree": "labelwood.models.softmax_tree:SoftmaxTreeClassifier",
    "one-vs-rest": "labelwood.models.one_vs_rest:OneVsRest",
}
# Saved and loaded as the others, but they learn from bags of rows: the command line cannot train them from a table.
OF_BAGS = {"multi-instance": "labelwood.aggregated.multi_instance:MultiInstanceClassifier"}
# These embed texts by themselves, with the texts of labels to learn from.
OF_TEXTS = {"prime": "labelwood.prime.classifier:PrimeClassifier"}


def model_class(name: str) -> type[Model]:
    """The class behind a name.

    Example:
        >>> model_class("centroid").__name__
        'CentroidClassifier'
    """
    known = MODELS | OF_TEXTS
    if name not in known:
        raise ParameterError(f"there is no model {name!r}; there are: {', '.join(known)}")
    return _class_at(known[name])


def _class_at(place: str) -> type[Model]:
    module, _, attribute = place.partition(":")
    cls: type[Model] = getattr(import_module(module), attribute)
    return cls


def load(path: str | PathLike[str], *, verify: bool = True) -> Any:
    """Loads a saved model: a `TextClassifier`, or the `Model` that was saved.

    By default every byte and every invariant is checked, so that a damaged or hostile file is an error. For a model
    you trust, `verify=False` maps it in milliseconds, whatever its size.

    Example:
        >>> import tempfile, labelwood as lw
        >>> path = tempfile.mkdtemp() + "/model"
        >>> lw.CentroidClassifier().fit([[1.0]], [[1]]).save(path)
        >>> lw.load(path)
        CentroidClassifier()
    """
    from labelwood import store

    state = store.read(path, verify=verify)
    if state.kind == "text":
        from labelwood.models.text import TextClassifier

        return TextClassifier.from_state(state)
    place = (MODELS | OF_BAGS | OF_TEXTS).get(state.kind)
    if place is None:
        raise ModelError(f"{path}: this Labelwood has no model of the kind {state.kind!r}: install a newer one")
    return _class_at(place).from_state(state)
