"""Labels: names and ids, representations, frequencies and propensities."""

from labelwood.labels.imbalance import labels_to_cover
from labelwood.labels.index import LabelIndex
from labelwood.labels.propensities import (
    PROPENSITY_FAMILIES,
    InversePropensities,
    family_of,
    inverse_propensities,
    label_frequencies,
)
from labelwood.labels.representations import pifa

__all__ = [
    "PROPENSITY_FAMILIES",
    "InversePropensities",
    "LabelIndex",
    "family_of",
    "inverse_propensities",
    "label_frequencies",
    "labels_to_cover",
    "pifa",
]
