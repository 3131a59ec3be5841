"""Labels that no training row has: a tenth of all is kept from training and added by its texts alone."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import labelwood as lw
from lab.experiments.common.kept import Kept
from lab.experiments.prime.corpora import Corpus
from lab.experiments.prime.learning import Trials
from labelwood.metrics import evaluate

SETS = ("wordnet", "debian_deps", "bookcrossing")
SHARE = 0.1
CONFIG = "anchored_lite"
KS = (10, 100)


def measure(corpus: Corpus, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """How many of the new labels of test rows are among the first ten and hundred of all labels, in per cent."""
    trials = Trials(corpus, kept, given)
    settings = trials.settings(CONFIG, seed=0, **trials.tuned(CONFIG))
    Y, texts = corpus.train.Y, corpus.label_texts
    new = np.random.default_rng(0).permutation(Y.shape[1])[: round(SHARE * Y.shape[1])]
    old = np.setdiff1d(np.arange(Y.shape[1]), new)

    def compare() -> dict[str, Any]:
        model = lw.PrimeClassifier(settings=settings, device=given.device, verbose=True)
        model.fit(corpus.train.texts, Y[:, old], texts.take(old), filters=_renumbered(corpus.train.filters, old))
        model.add_labels(texts.take(new))
        top = model.predict_topk(corpus.test.texts, corpus.n_answers())
        ids = np.where(top.ids < 0, -1, np.concatenate([old, new])[top.ids]).astype(np.int32)
        known = trials.model(f"{CONFIG}-{settings.batches.size}-seed-0", settings)
        return {
            "new labels, from their texts": _recall(corpus, lw.TopK(ids, top.scores), new),
            "the same labels, learned": _recall(corpus, known.predict_topk(corpus.test.texts, corpus.n_answers()), new),
        }

    described = {"config": CONFIG, "share": SHARE, "epochs": settings.training.epochs, **trials.tuned(CONFIG)}
    untrained = trials.as_it_comes("new-labels-zero-shot", lambda top: _recall(corpus, top, new))
    return {"the encoder as it comes": untrained, **kept.figures("new-labels", described, compare)}


def _renumbered(filters: Any, old: Any) -> Any:
    """Pairs of rows and labels with the labels' places in `old`; those of other labels are left out."""
    if filters is None:
        return None
    place = np.searchsorted(old, filters[:, 1]).clip(max=len(old) - 1)
    there = old[place] == filters[:, 1]
    return np.stack([filters[there, 0], place[there]], axis=1)


def _recall(corpus: Corpus, top: lw.TopK, new: Any) -> dict[str, float]:
    member = np.zeros(corpus.train.Y.shape[1])
    member[new] = 1
    Y = corpus.test.Y.multiply(member[None]).tocsr()
    Y.eliminate_zeros()
    rows = np.flatnonzero(np.diff(Y.indptr))
    filters = corpus.test.filters
    if filters is not None:
        place = np.full(len(corpus.test), -1)
        place[rows] = np.arange(len(rows))
        filters = np.stack([place[filters[:, 0]], filters[:, 1]], axis=1)[place[filters[:, 0]] >= 0]
    return evaluate(lw.TopK(top.ids[rows], top.scores[rows]), Y[rows], ks=KS, metrics=("R",), filters=filters)
