"""Every kind of model, by the name that saved models and the command line know it under."""

from __future__ import annotations

import os
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any

from labelwood.errors import LabelwoodError, ModelError, ParameterError

if TYPE_CHECKING:
    from labelwood.contract.model import Model
    from labelwood.store import State

KINDS = {
    "tree": "labelwood.linear.classifier:TreeClassifier",
    "one-vs-rest": "labelwood.linear.one_vs_rest:OneVsRest",
    "softmax-tree": "labelwood.softmax_tree.classifier:SoftmaxTreeClassifier",
    "centroid": "labelwood.linear.centroid:CentroidClassifier",
    "prime": "labelwood.dual_encoder.classifier:PrimeClassifier",
    "fused": "labelwood.fusion.classifier:FusedClassifier",
    "multi-instance": "labelwood.groups.multi_instance:MultiInstanceClassifier",
    "grouped": "labelwood.groups.classifier:GroupedClassifier",
    "text": "labelwood.tagger.classifier:TextClassifier",
}
_LONGEST = 400  # characters of what is told about a file


def model_class(name: str) -> type[Model]:
    """The class behind a name.

    Example:
        >>> model_class("centroid").__name__
        'CentroidClassifier'
    """
    if name not in KINDS:
        raise ParameterError(f"there is no model {name!r}; there are: {', '.join(KINDS)}")
    module, _, attribute = KINDS[name].partition(":")
    cls: type[Model] = getattr(import_module(module), attribute)
    return cls


def takes(kind: str) -> str | None:
    """What the rows of a kind of model are: "features" or "texts"; None where there is no such kind.

    Example:
        >>> takes("tree"), takes("prime"), takes("oak")
        ('features', 'texts', None)
    """
    return model_class(kind).takes if kind in KINDS else None


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
    if state.kind not in KINDS:
        raise ModelError(f"this Labelwood has no model of the kind {state.kind!r}: install a newer one")
    cls: Any = model_class(state.kind)
    return cls.from_state(state)
