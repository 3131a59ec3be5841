"""Models, one a file. `MODELS` names them for the command line and for saved models."""

from __future__ import annotations

import os
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any

from labelwood.errors import LabelwoodError, ModelError, ParameterError

if TYPE_CHECKING:
    from labelwood.contract.model import Model
    from labelwood.store import State

MODELS = {
    "centroid": "labelwood.linear.centroid:CentroidClassifier",
    "tree": "labelwood.linear.classifier:TreeClassifier",
    "softmax-tree": "labelwood.softmax_tree.classifier:SoftmaxTreeClassifier",
    "one-vs-rest": "labelwood.linear.one_vs_rest:OneVsRest",
}
# Saved and loaded as the others, but they learn from bags of rows: the command line cannot train them from a table.
OF_BAGS = {"multi-instance": "labelwood.groups.multi_instance:MultiInstanceClassifier"}
# These read texts by themselves, with the texts of labels to learn from.
OF_TEXTS = {
    "prime": "labelwood.dual_encoder.classifier:PrimeClassifier",
    "fused": "labelwood.fusion.classifier:FusedClassifier",
}
# Any of these with names of labels and, where it needs them, with what turns texts into features.
JOINED = {"text": "labelwood.tagger.classifier:TextClassifier"}
_LONGEST = 400  # characters of what is told about a file


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


def load(path: str | PathLike[str], *, verify: bool = True, mmap: bool | None = None) -> Any:
    """Loads a saved model: a `TextClassifier`, or the `Model` that was saved.

    By default every byte and every invariant is checked, so that a damaged or hostile file is an error. For a model
    you trust, `verify=False` maps it in milliseconds, whatever its size.

    A model's files are mapped: they are read when they are needed, and processes share their memory. Labelwood never
    changes them, but another program that overwrites one or cuts it short changes answers, or ends the process. With
    `mmap=False` they are read into private memory once, and what is checked is what is kept. By default they are mapped
    except on network file systems (NFS, SMB, sshfs and so on), where files may change unseen.

    Example:
        >>> import tempfile, labelwood as lw
        >>> path = tempfile.mkdtemp() + "/model"
        >>> lw.CentroidClassifier().fit([[1.0]], [[1]]).save(path)
        >>> lw.load(path)
        CentroidClassifier()
    """
    from labelwood import store

    state = store.read(path, verify=verify, mmap=mmap)
    try:
        return from_state(state)
    except LabelwoodError as e:
        raise _of_file(e, os.fsdecode(path)) from None


def _of_file(error: LabelwoodError, place: str) -> ModelError:
    """What is wrong with a model, with the place where it lies."""
    told = str(error) if len(str(error)) <= _LONGEST else f"{str(error)[:_LONGEST]}…"
    if isinstance(error, ParameterError):
        return ModelError(f"{place} holds what no model can have ({told}): save the model again")
    return ModelError(f"{place}: {told}")


def from_state(state: State) -> Any:
    """The model that a state describes, whatever its kind.

    Example:
        >>> import labelwood as lw
        >>> from_state(lw.CentroidClassifier().fit([[1.0]], [[1]]).state())
        CentroidClassifier()
    """
    place = (MODELS | OF_BAGS | OF_TEXTS | JOINED).get(state.kind)
    if place is None:
        raise ModelError(f"this Labelwood has no model of the kind {state.kind!r}: install a newer one")
    return _class_at(place).from_state(state)
