"""Dual encoders: texts and labels as vectors in one space, learned from pairs (PRIME, DEXA, NGAME, DPR and others).

    texts ──tokens──▶ encoder ──▶ h            label texts ──▶ u ─┐
                                               free vectors  ──────┼─▶ prototypes z ──index──▶ TopK
                                               centroids of h ─────┘

`settings` holds all settings, `samplers` choose the queries and labels of a step, `losses` and `objective` define what
is minimised, `trainer` trains, and `classifier` brings them together. Training and answering need the extra `deep`.
"""

from labelwood.dual_encoder.classifier import PrimeClassifier
from labelwood.dual_encoder.settings import PrimeSettings, load_settings

__all__ = ["PrimeClassifier", "PrimeSettings", "load_settings"]
