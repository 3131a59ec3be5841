"""Extreme multi-label classification you can ship: the right few labels out of millions, on one core.

Names load when they are first used, so that ``import labelwood`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelwood import aggregated, data, labels, metrics, prime, tradeoff, trees
    from labelwood.aggregated.eagle import Eagle
    from labelwood.base import Model, TopK
    from labelwood.data.dataset import Dataset
    from labelwood.data.read import read, read_batches
    from labelwood.data.reading import Columns
    from labelwood.data.write import write
    from labelwood.errors import LabelwoodError
    from labelwood.features import JoinedVectorizer, TextVectorizer
    from labelwood.fusion import Fusion
    from labelwood.labels import LabelIndex
    from labelwood.models import load
    from labelwood.models.centroid import CentroidClassifier
    from labelwood.models.disentangling import disentangle
    from labelwood.models.fused import FusedClassifier
    from labelwood.models.one_vs_rest import OneVsRest
    from labelwood.models.softmax_tree import SoftmaxTreeClassifier
    from labelwood.models.text import TextClassifier
    from labelwood.models.tree import TreeClassifier, preset
    from labelwood.prime.classifier import PrimeClassifier

__version__ = version("labelwood")

_HOME = {
    "CentroidClassifier": "labelwood.models.centroid",
    "Columns": "labelwood.data.reading",
    "Dataset": "labelwood.data.dataset",
    "Eagle": "labelwood.aggregated.eagle",
    "FusedClassifier": "labelwood.models.fused",
    "Fusion": "labelwood.fusion",
    "LabelIndex": "labelwood.labels",
    "LabelwoodError": "labelwood.errors",
    "Model": "labelwood.base",
    "OneVsRest": "labelwood.models.one_vs_rest",
    "PrimeClassifier": "labelwood.prime.classifier",
    "TextClassifier": "labelwood.models.text",
    "SoftmaxTreeClassifier": "labelwood.models.softmax_tree",
    "TreeClassifier": "labelwood.models.tree",
    "JoinedVectorizer": "labelwood.features",
    "TextVectorizer": "labelwood.features",
    "TopK": "labelwood.base",
    "disentangle": "labelwood.models.disentangling",
    "load": "labelwood.models",
    "preset": "labelwood.models.tree",
    "read": "labelwood.data.read",
    "read_batches": "labelwood.data.read",
    "write": "labelwood.data.write",
}
_ROOMS = ("aggregated", "data", "labels", "metrics", "prime", "tradeoff", "trees")

__all__ = [
    "CentroidClassifier",
    "Columns",
    "Dataset",
    "Eagle",
    "FusedClassifier",
    "Fusion",
    "JoinedVectorizer",
    "LabelIndex",
    "LabelwoodError",
    "Model",
    "OneVsRest",
    "PrimeClassifier",
    "SoftmaxTreeClassifier",
    "TextClassifier",
    "TextVectorizer",
    "TopK",
    "TreeClassifier",
    "aggregated",
    "data",
    "disentangle",
    "labels",
    "load",
    "metrics",
    "preset",
    "prime",
    "read",
    "read_batches",
    "tradeoff",
    "trees",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"labelwood.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'labelwood' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
