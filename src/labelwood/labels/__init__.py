"""Labels: names and ids, representations, frequencies and propensities."""

from labelwood.labels.index import LabelIndex

__all__ = ["LabelIndex"]
