"""Measures predictions: ranking metrics at k, tables by label and by label frequency, and filters."""

from labelwood.metrics.filters import apply_filter, extra_candidates
from labelwood.metrics.ranking import METRICS, evaluate
from labelwood.metrics.tables import Bin, LabelTable, frequency_thresholds, per_bin, per_label

__all__ = [
    "METRICS",
    "Bin",
    "LabelTable",
    "apply_filter",
    "evaluate",
    "extra_candidates",
    "frequency_thresholds",
    "per_bin",
    "per_label",
]
