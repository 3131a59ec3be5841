"""A learning rate for each method, chosen by held-out rows after some of the epochs."""

from __future__ import annotations

import argparse
from typing import Any

from common.kept import Kept
from corpora import Corpus
from learning import RATES_FROM, Trials

SETS = (RATES_FROM,)
RATES = (3e-4, 1e-3)
CONFIGS = ("dpr", "ngame", "dexa", "prime_lite", "prime")
SHARE = 0.3


def measure(corpus: Corpus, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """Held-out P@1 of each rate, and the best one."""
    trials = Trials(corpus, kept, given)
    epochs = max(1, round(SHARE * trials.epochs))
    found = {}
    for config in CONFIGS:
        tried = {}
        for rate in RATES:
            settings = trials.settings(config, seed=0, epochs=epochs, training={"learning_rate": rate})
            tried[f"{rate:g}"] = trials.run(f"{config}-rate-{rate:g}", settings)["history"][-1]["P@1"]
        found[config] = {"tried": tried, "chosen": float(max(tried, key=lambda rate: tried[rate]))}
    return found
