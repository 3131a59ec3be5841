"""What is known about labels: frequencies and propensities."""

from labelwood.labels.propensities import (
    PROPENSITY_FAMILIES,
    InversePropensities,
    family_of,
    inverse_propensities,
    label_frequencies,
)

__all__ = [
    "PROPENSITY_FAMILIES",
    "InversePropensities",
    "family_of",
    "inverse_propensities",
    "label_frequencies",
]
