"""Extreme multi-label classification you can ship: the right few labels out of millions, on one core.

Names load when they are first used, so that ``import labelwood`` costs next to nothing.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelwood import data, dual_encoder, explaining, groups, labels, metrics, text, trees, tuning
    from labelwood.arrays.topk import TopK
    from labelwood.contract.kinds import load
    from labelwood.contract.model import Model
    from labelwood.data.dataset import Dataset
    from labelwood.data.read import read, read_batches
    from labelwood.data.reading import Columns
    from labelwood.data.write import write
    from labelwood.dual_encoder.classifier import PrimeClassifier
    from labelwood.errors import LabelwoodError
    from labelwood.fusion.classifier import FusedClassifier
    from labelwood.fusion.combining import Fusion
    from labelwood.groups.classifier import GroupedClassifier
    from labelwood.groups.eagle import Eagle
    from labelwood.groups.multi_instance import MultiInstanceClassifier
    from labelwood.labels import LabelIndex
    from labelwood.linear.centroid import CentroidClassifier
    from labelwood.linear.classifier import TreeClassifier, preset
    from labelwood.linear.one_vs_rest import OneVsRest
    from labelwood.softmax_tree.classifier import SoftmaxTreeClassifier
    from labelwood.tagger.classifier import TextClassifier
    from labelwood.text import JoinedVectorizer, TextVectorizer
    from labelwood.trees.copies import Copies
    from labelwood.trees.disentangling import disentangle
    from labelwood.trees.interpolated import Interpolated

__version__ = version("labelwood")

_HOME = {
    "CentroidClassifier": "labelwood.linear.centroid",
    "Columns": "labelwood.data.reading",
    "Copies": "labelwood.trees.copies",
    "Dataset": "labelwood.data.dataset",
    "Eagle": "labelwood.groups.eagle",
    "FusedClassifier": "labelwood.fusion.classifier",
    "Fusion": "labelwood.fusion.combining",
    "GroupedClassifier": "labelwood.groups.classifier",
    "Interpolated": "labelwood.trees.interpolated",
    "LabelIndex": "labelwood.labels",
    "LabelwoodError": "labelwood.errors",
    "Model": "labelwood.contract.model",
    "MultiInstanceClassifier": "labelwood.groups.multi_instance",
    "OneVsRest": "labelwood.linear.one_vs_rest",
    "PrimeClassifier": "labelwood.dual_encoder.classifier",
    "TextClassifier": "labelwood.tagger.classifier",
    "SoftmaxTreeClassifier": "labelwood.softmax_tree.classifier",
    "TreeClassifier": "labelwood.linear.classifier",
    "JoinedVectorizer": "labelwood.text",
    "TextVectorizer": "labelwood.text",
    "TopK": "labelwood.arrays.topk",
    "disentangle": "labelwood.trees.disentangling",
    "load": "labelwood.contract.kinds",
    "preset": "labelwood.linear.classifier",
    "read": "labelwood.data.read",
    "read_batches": "labelwood.data.read",
    "write": "labelwood.data.write",
}
_ROOMS = ("data", "dual_encoder", "explaining", "groups", "labels", "metrics", "text", "trees", "tuning")
_FORMER = {"aggregated": "groups", "prime": "dual_encoder", "tradeoff": "tuning"}

__all__ = [
    "CentroidClassifier",
    "Columns",
    "Copies",
    "Dataset",
    "Eagle",
    "FusedClassifier",
    "Fusion",
    "GroupedClassifier",
    "Interpolated",
    "JoinedVectorizer",
    "LabelIndex",
    "LabelwoodError",
    "Model",
    "MultiInstanceClassifier",
    "OneVsRest",
    "PrimeClassifier",
    "SoftmaxTreeClassifier",
    "TextClassifier",
    "TextVectorizer",
    "TopK",
    "TreeClassifier",
    "data",
    "disentangle",
    "dual_encoder",
    "explaining",
    "groups",
    "labels",
    "load",
    "metrics",
    "preset",
    "read",
    "read_batches",
    "text",
    "trees",
    "tuning",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in _FORMER:
        warnings.warn(f"labelwood.{name} is now labelwood.{_FORMER[name]}", DeprecationWarning, stacklevel=2)
        return import_module(f"labelwood.{_FORMER[name]}")
    if name in _ROOMS:
        return import_module(f"labelwood.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'labelwood' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
