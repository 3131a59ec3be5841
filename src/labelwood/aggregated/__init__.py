"""Labels that are known for groups of rows: handed to single rows, or learned from in bags; and groups to try it on."""

from labelwood.aggregated.advising import Advice, advice, mixedness
from labelwood.aggregated.assignment import Assignment
from labelwood.aggregated.choosing import EagleChoice, Scored, choose_eagle
from labelwood.aggregated.eagle import Eagle
from labelwood.aggregated.grouping import clustered_groups, merged_labels, noisy_groups, random_groups
from labelwood.aggregated.groups import baseline_labels
from labelwood.aggregated.imputing import Imputed, impute
from labelwood.aggregated.multi_instance import MultiInstanceClassifier
from labelwood.aggregated.trying import Trial, try_both

__all__ = [
    "Advice",
    "Assignment",
    "Eagle",
    "EagleChoice",
    "Imputed",
    "MultiInstanceClassifier",
    "Scored",
    "Trial",
    "advice",
    "baseline_labels",
    "choose_eagle",
    "clustered_groups",
    "impute",
    "merged_labels",
    "mixedness",
    "noisy_groups",
    "random_groups",
    "try_both",
]
