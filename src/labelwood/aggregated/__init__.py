"""Labels that are known for groups of rows: handing them to single rows, and groups to try it on."""

from labelwood.aggregated.assignment import Assignment
from labelwood.aggregated.eagle import Eagle
from labelwood.aggregated.grouping import clustered_groups, merged_labels, noisy_groups, random_groups
from labelwood.aggregated.groups import baseline_labels

__all__ = [
    "Assignment",
    "Eagle",
    "baseline_labels",
    "clustered_groups",
    "merged_labels",
    "noisy_groups",
    "random_groups",
]
