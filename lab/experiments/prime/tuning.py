"""A size of batches for each method, chosen by held-out rows after all epochs."""

from __future__ import annotations

import argparse
from typing import Any

from lab.experiments.common.kept import Kept
from lab.experiments.prime.corpora import NAMES, Corpus
from lab.experiments.prime.learning import TUNED, Trials

SETS = tuple(NAMES)
SIZES = (256, 2048)


def measure(corpus: Corpus, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """Of each method and size held-out P@1 and the mean cosine of two texts; and the best size."""
    trials = Trials(corpus, kept, given)
    return {config: choose(trials, config, given.sizes or SIZES) for config in dict.fromkeys(TUNED.values())}


def choose(trials: Trials, config: str, sizes: tuple[int, ...]) -> dict[str, Any]:
    """What a method reaches with each size, and the size that is best."""
    tried = []
    for size in sizes:
        last = trials.method(config, 0, size)["history"][-1]
        tried.append({"size": size, "P@1": last["P@1"], "mean_cosine": last["mean_cosine"]})
    return {"tried": tried, "size": max(tried, key=lambda each: each["P@1"])["size"]}
