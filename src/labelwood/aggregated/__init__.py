"""Learning from labels that are known for groups of rows only."""

from labelwood.aggregated.multi_instance import MultiInstanceClassifier

__all__ = ["MultiInstanceClassifier"]
