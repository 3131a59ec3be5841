"""The table of methods: what came before PRIME, PRIME, a tree on words alone, and answers that know no text."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import labelwood as lw
from lab.experiments.common.kept import Kept
from lab.experiments.prime import together
from lab.experiments.prime.corpora import NAMES, Corpus
from lab.experiments.prime.learning import Trials
from labelwood.arrays.topk import padded

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
# Each step of it has the texts of all labels, which takes many times as long: one seed, on two sets of short texts.
FITTING = {"dexml": ("wordnet", "bookcrossing")}
ON_TOP = "prime_w"


def measure(corpus: Corpus, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """Of each method the figures of each seed."""
    trials = Trials(corpus, kept, given)
    found: dict[str, Any] = {
        "most frequent": [most_frequent(corpus)],
        "tf-idf tree": [tree(corpus, kept, given)],
        "zero-shot": [trials.zero_shot()],
    }
    for config, name in CONFIGS.items():
        if config in given.methods and corpus.name in FITTING.get(config, SETS):
            n_seeds = min(given.seeds, 1) if config in FITTING else given.seeds
            found[name] = [trials.method(config, seed) for seed in range(n_seeds)]
    return found | on_top(corpus, kept, given) if ON_TOP in given.methods else found


def on_top(corpus: Corpus, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """Classifiers on top of our default, alone and with its prototypes, from the table of what is fused."""
    lines = [line for run in together.measure(corpus, kept, given).values() for line in run["lines"]]
    return {model: [line for line in lines if line["model"] == model] for model in ("W", "PRIME W")}


def most_frequent(corpus: Corpus) -> dict[str, Any]:
    """The same answers for all texts: what an encoder gives whose vectors have all come together, at best."""
    k = min(corpus.n_answers(), corpus.train.Y.shape[1])
    ids = np.argsort(-corpus.frequencies(), kind="stable")[:k].astype(np.int32)
    scores = np.arange(k, 0, -1, dtype=np.float32)
    top = lw.TopK(*(np.tile(each, (len(corpus.test), 1)) for each in (ids, scores)))
    return corpus.figures(padded(top, corpus.n_answers()))


def tree(corpus: Corpus, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """What `labelwood train` makes of the same rows without the labels' texts."""

    def train() -> dict[str, Any]:
        model = lw.TextClassifier(n_threads=given.threads).fit(corpus.train.texts, corpus.train.Y)
        return corpus.figures(model.predict_topk(corpus.test.texts, corpus.n_answers()))

    return kept.figures("tree", {"model": "TreeClassifier()"}, train)
