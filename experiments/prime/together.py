"""A dual encoder, classifiers on top of it, a tree on words, a tree on words and vectors, and all of them fused."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from common.kept import Kept
from corpora import NAMES, Corpus, reversed_pairs
from learning import HELD_OUT, Trials

import labelwood as lw
from fusion import Part, compare, split
from labelwood.tagger.rows import features_as_learned, features_to_learn_from

SETS = tuple(NAMES)
CONFIG = "anchored_lite"


def measure(corpus: Corpus, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """Of each seed the lines of the table, of all models alone and fused."""
    trials = Trials(corpus, kept, given)
    return {str(seed): _of_seed(trials, seed) for seed in range(given.seeds)}


def _of_seed(trials: Trials, seed: int) -> dict[str, Any]:
    tuned = trials.tuned(CONFIG)
    settings = trials.settings(CONFIG, seed=seed, **tuned).with_changes(
        {"training": {"held_out": 0.0}, "classifiers": {"enabled": True}}
    )
    weighting = settings.classifiers.weighting
    described = {"epochs": settings.training.epochs, "config": CONFIG, "weighting": weighting, **tuned}
    if trials.corpus.test.filters is not None:
        described["reversed pairs"] = "barred"
    return trials.kept.figures(f"together-seed-{seed}", described, lambda: lines(trials.corpus, settings, trials.given))


def lines(corpus: Corpus, settings: Any, given: argparse.Namespace) -> dict[str, Any]:
    """Trains on all rows but a few, on which scores are calibrated."""
    train, test = corpus.train, corpus.test
    learned, judged = (train.take(rows) for rows in split(train.Y, HELD_OUT, settings.training.seed))
    if judged.filters is not None:
        judged = replace(judged, filters=np.concatenate([judged.filters, reversed_pairs(judged, learned)]))
    began = perf_counter()
    model = lw.PrimeClassifier(settings=settings, device=given.device, verbose=True)
    model.fit(learned.texts, learned.Y, train.label_texts, filters=learned.filters)
    seconds = perf_counter() - began
    sys.stderr.write(f"{corpus.name}: trained in {seconds:.0f} s\n")
    vectorizer, X = features_to_learn_from(learned, lw.TextVectorizer())
    features = [X, *(features_as_learned(some, vectorizer, X.shape[1]) for some in (judged, test))]
    parts = [
        Part(x, model.embed(some.texts), some.Y, some.filters)
        for x, some in zip(features, (learned, judged, test), strict=True)
    ]
    found = compare(*parts, model.prototypes_, model.classifiers_, tree={"n_threads": given.threads})
    return {"lines": found, "seconds": seconds, "history": model.history_, "labels": int(np.shape(train.Y)[1])}
