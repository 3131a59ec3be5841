"""Dual encoders: texts and labels in one space, learned from pairs of them (PRIME, DEXA, NGAME, DPR and others).

    texts ──tokens──▶ encoder ──▶ h            label texts ──▶ u ─┐
                                               free vectors  ──────┼─▶ prototypes z ──index──▶ TopK
                                               centroids of h ─────┘

`settings` says what is what, `samplers` choose what meets in a step, `losses` and `objective` what it should learn,
`trainer` learns, and `classifier` joins them. Learning and answering need the extra `deep`.
"""

from labelwood.dual_encoder.classifier import PrimeClassifier
from labelwood.dual_encoder.settings import PrimeSettings, load_settings

__all__ = ["PrimeClassifier", "PrimeSettings", "load_settings"]
