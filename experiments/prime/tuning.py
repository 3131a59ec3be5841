"""A size of batches and a learning rate for each method, chosen by held-out rows after a few epochs."""

from __future__ import annotations

import argparse
from typing import Any

from common.kept import Kept
from corpora import NAMES, Corpus
from learning import TUNED, Trials

SETS = tuple(NAMES)
CANDIDATES = ((2048, 3e-4), (2048, 1e-3), (256, 1e-4), (256, 3e-4))
SHARE = 0.2  # of all epochs


def measure(corpus: Corpus, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """Of each method and candidate held-out P@1 and the mean cosine of two texts; and the best candidate."""
    trials = Trials(corpus, kept, given)
    epochs = max(1, round(SHARE * trials.epochs))
    found = {}
    for config in dict.fromkeys(TUNED.values()):
        tried = [_tried(trials, config, epochs, *candidate) for candidate in given.candidates or CANDIDATES]
        best = max(tried, key=lambda each: each["P@1"])
        found[config] = {"tried": tried, "size": best["size"], "rate": best["rate"]}
    return found


def _tried(trials: Trials, config: str, epochs: int, size: int, rate: float) -> dict[str, float]:
    changes = {"training": {"learning_rate": rate}, "batches": {"size": size}}
    run = trials.run(f"{config}-tuning-{size}-{rate:g}", trials.settings(config, seed=0, epochs=epochs, **changes))
    last = run["history"][-1]
    return {"size": size, "rate": rate, "P@1": last["P@1"], "mean_cosine": last["mean_cosine"]}
