"""Precision by the number of negatives a query meets in a step, as in Figure 1."""

from __future__ import annotations

import argparse
from typing import Any

from lab.experiments.common.kept import Kept
from lab.experiments.prime.corpora import Corpus
from lab.experiments.prime.learning import Trials

SETS = ("wordnet", "bookcrossing")
SIZES = (256, 1024, 2048)
CONFIGS = {"dpr": "DPR", "prime_lite": "PRIME-lite", "anchored_lite": "PRIME-lite, anchored"}
EVERY_LABEL = "DEXML"


def measure(corpus: Corpus, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """Of each method and size of batches: negatives a query, and test figures."""
    trials = Trials(corpus, kept, given)
    found: dict[str, Any] = {
        name: [{"negatives": size - 1, **trials.method(config, 0, size)} for size in given.sizes or SIZES]
        for config, name in CONFIGS.items()
    }
    found[EVERY_LABEL] = [{"negatives": corpus.train.Y.shape[1] - 1, **trials.method("dexml", 0)}]
    return found
