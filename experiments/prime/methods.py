"""The table of methods: what came before PRIME, PRIME, and a tree on words alone."""

from __future__ import annotations

import argparse
from typing import Any

from common.kept import Kept
from corpora import NAMES, Corpus
from learning import Trials

import labelwood as lw

SETS = tuple(NAMES)
CONFIGS = {
    "dpr": "DPR",
    "ngame": "NGAME",
    "dexa": "DEXA",
    "prime_lite": "PRIME-lite",
    "prime": "PRIME",
    "anchored_lite": "PRIME-lite, anchored",
    "anchored": "PRIME, anchored",
    "dexml": "DEXML",
}


def measure(corpus: Corpus, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """Of each method the figures of each seed."""
    trials = Trials(corpus, kept, given)
    found: dict[str, Any] = {"tf-idf tree": [tree(corpus, kept, given)], "zero-shot": [trials.zero_shot()]}
    for config, name in CONFIGS.items():
        if config in given.methods:
            found[name] = [trials.method(config, seed) for seed in range(given.seeds)]
    return found


def tree(corpus: Corpus, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """What `labelwood train` makes of the same rows without the labels' texts."""

    def train() -> dict[str, Any]:
        model = lw.TextClassifier(n_threads=given.threads).fit(corpus.train.texts, corpus.train.Y)
        return corpus.figures(model.predict_topk(corpus.test.texts, corpus.n_answers()))

    return kept.figures("tree", {"model": "TreeClassifier()"}, train)
