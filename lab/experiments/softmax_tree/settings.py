"""Labelwood's settings, all written out: a default that changes makes its runs anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import labelwood as lw

DIM = 100
MIN_COUNT = 2
MACHINE = ("n_threads", "verbose", "word_vectors")


def settings(ngrams: int = 1, **params: Any) -> dict[str, dict[str, Any]]:
    """Of a model with these parameters, and of features that are words and runs of up to `ngrams` of them."""
    words = lw.TextVectorizer(min_token=1, min_df=MIN_COUNT, ngrams=(1, ngrams))
    return {"model": plain(lw.SoftmaxTreeClassifier(dim=DIM, **params)), "vectorizer": plain(words)}


def plain(part: Any) -> dict[str, Any]:
    """A part's parameters but for those of the machine."""
    return {name: value for name, value in part.get_params(deep=False).items() if name not in MACHINE}


def vectorizer(given: Mapping[str, Any]) -> lw.TextVectorizer:
    """From `settings` that may have been JSON meanwhile."""
    return lw.TextVectorizer(**{**given["vectorizer"], "ngrams": tuple(given["vectorizer"]["ngrams"])})


def model(given: Mapping[str, Any], n_threads: int) -> lw.SoftmaxTreeClassifier:
    """Likewise."""
    return lw.SoftmaxTreeClassifier(**given["model"], n_threads=n_threads)
