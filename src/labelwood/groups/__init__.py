"""Learning from labels of groups of rows: assign them to single rows, or learn from bags; and test groups."""

from labelwood.groups.advising import Advice, advice, mixedness
from labelwood.groups.assignment import Assignment
from labelwood.groups.choosing import EagleChoice, Scored, choose_eagle
from labelwood.groups.classifier import GroupedClassifier
from labelwood.groups.eagle import Eagle
from labelwood.groups.grouped import baseline_labels
from labelwood.groups.grouping import clustered_groups, merged_labels, noisy_groups, random_groups
from labelwood.groups.imputing import Imputed, impute
from labelwood.groups.multi_instance import MultiInstanceClassifier
from labelwood.groups.trying import Trial, try_both

__all__ = [
    "Advice",
    "Assignment",
    "Eagle",
    "EagleChoice",
    "GroupedClassifier",
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
