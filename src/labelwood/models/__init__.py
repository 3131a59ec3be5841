"""Models, one a file. `MODELS` names them for the command line and for saved models."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from labelwood.errors import ParameterError

if TYPE_CHECKING:
    from labelwood.base import Model

MODELS = {
    "centroid": "labelwood.models.centroid:CentroidClassifier",
}


def model_class(name: str) -> type[Model]:
    """The class behind a name.

    Example:
        >>> model_class("centroid").__name__
        'CentroidClassifier'
    """
    if name not in MODELS:
        raise ParameterError(f"there is no model {name!r}; there are: {', '.join(MODELS)}")
    module, _, attribute = MODELS[name].partition(":")
    cls: type[Model] = getattr(import_module(module), attribute)
    return cls
