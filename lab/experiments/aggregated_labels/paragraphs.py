"""Texts whose paragraphs are rows: a document's labels are known, and its paragraphs are what is learned from.

Test documents are judged as a whole: by the best score that a label has in any of the paragraphs, and by the mean.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

import labelwood as lw
from lab.benchmarks.rivals.prepared import read_split
from lab.experiments.common.kept import Kept
from labelwood.groups import advice, baseline_labels, try_both
from labelwood.groups.trying import joined
from labelwood.metrics import evaluate

SETS = ("eurlex57k",)
DOCUMENTS = 20_000  # training documents at random, unless --rows says otherwise; a quarter as many test documents
WORDS = 60  # lines are joined until a paragraph has so many words
K, CANDIDATES = 5, 20  # labels a document, and labels of each paragraph that count
LEARNER: dict[str, Any] = {}  # one tree, the default
JOINS: tuple[Literal["best", "mean"], ...] = ("best", "mean")  # how a document's labels follow from its paragraphs'
WAYS: dict[str, dict[str, Any] | None] = {
    "baseline": None,
    "eagle-0": {"iterations": 0},
    "eagle": {},
    "negatives": {"negatives": 1.0, "leave_out": True, "step": 0.3},
}


@dataclass(frozen=True)
class Corpus:
    """Features of documents and of their paragraphs, and the document of each paragraph; for training and test."""

    documents: tuple[Any, Any]
    paragraphs: tuple[Any, Any]
    owners: tuple[Any, Any]
    labels: tuple[Any, Any]


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """Precision of documents, for whole documents as rows and for each way to hand labels to paragraphs."""
    documents = given.rows or DOCUMENTS

    def kept_figures(way: str, make: Any) -> dict[str, Any]:
        settings = {"documents": documents, "words": WORDS, "learner": LEARNER, "way": WAYS.get(way)}
        folder = given.data / name
        return kept.figures(f"paragraphs-{way}", settings, lambda: make(corpus(folder, documents), given.threads))

    return {
        "facts": kept_figures("facts", facts),
        "documents": kept_figures("documents", of_documents),
        **{
            way: kept_figures(way, lambda c, threads, params=params: of_paragraphs(c, params, threads))
            for way, params in WAYS.items()
        },
    }


@cache
def corpus(folder: Path, documents: int) -> Corpus:
    """Words are weighed as paragraphs have them, for both kinds of rows."""
    train, test = read_split(folder, "train"), read_split(folder, "test")
    test = test.align(train.labels)
    counts = documents, max(documents // 4, 1)
    # They stand in the order of their years: a random order, so that both splits are of all years.
    chosen = [
        np.random.default_rng(0).permutation(len(split))[:n] for split, n in zip((train, test), counts, strict=True)
    ]
    texts = [split.texts.take(which).to_pylist() for split, which in zip((train, test), chosen, strict=True)]
    pieces = [[paragraphs_of(text) for text in split] for split in texts]
    flat = [[piece for one in split for piece in one] for split in pieces]
    owners = [np.repeat(np.arange(len(split)), [len(one) for one in split]) for split in pieces]
    words = lw.TextVectorizer()
    parts = (words.fit_transform(flat[0]), words.transform(flat[1]))
    whole = (words.transform(texts[0]), words.transform(texts[1]))
    labels = tuple(sparse.csr_array(split.Y)[which] for split, which in zip((train, test), chosen, strict=True))
    return Corpus(whole, parts, (owners[0], owners[1]), (labels[0], labels[1]))


def paragraphs_of(text: str) -> list[str]:
    """Lines, joined until they have enough words; what is left over goes to the last. At least one."""
    found: list[list[str]] = [[]]
    for line in text.splitlines():
        if len(found[-1]) >= WORDS:
            found.append([])
        found[-1] += line.split()
    if len(found) > 1 and len(found[-1]) < WORDS:
        rest = found.pop()
        found[-1] += rest
    return [" ".join(words) for words in found]


def facts(corpus: Corpus, _threads: int) -> dict[str, Any]:
    """How many there are, what is advised, and what a trial on training documents says."""
    grouped = corpus.paragraphs[0], corpus.owners[0], corpus.labels[0]
    advised, tried = advice(*grouped), try_both(*grouped)
    return {
        "documents": [M.shape[0] for M in corpus.documents],
        "paragraphs": [M.shape[0] for M in corpus.paragraphs],
        "advice": {"use": advised.use, "mixedness": advised.mixedness, "wrong_rows": advised.wrong_rows},
        "tried": {"use": tried.use, "assignment": tried.assignment, "baseline": tried.baseline},
    }


def of_documents(corpus: Corpus, threads: int) -> dict[str, Any]:
    """Whole documents to learn from; judged on whole documents, and by their paragraphs."""
    return judged(corpus, corpus.documents[0], corpus.labels[0], threads)


def of_paragraphs(corpus: Corpus, params: dict[str, Any] | None, threads: int) -> dict[str, Any]:
    """Paragraphs to learn from, with labels that were handed out."""
    X, owners, labels = corpus.paragraphs[0], corpus.owners[0], corpus.labels[0]
    if params is None:
        Y = baseline_labels(owners, labels)
    else:
        Y = lw.Eagle(n_threads=threads, **params).fit_transform(X, owners, labels)
    return judged(corpus, X, Y, threads)


def judged(corpus: Corpus, X: Any, Y: Any, threads: int) -> dict[str, Any]:
    """P of test documents: as one row, by the best of their paragraphs, and by the paragraphs' mean."""
    started = time.process_time()
    model = lw.TreeClassifier(n_threads=threads, **LEARNER).fit(X, Y)
    cost = time.process_time() - started
    owners, top = corpus.owners[1], model.predict_topk(corpus.paragraphs[1], CANDIDATES)
    answers = {
        "whole": model.predict_topk(corpus.documents[1], K),
        **{how: joined(top, owners, int(owners[-1]) + 1, K, how) for how in JOINS},
    }
    found = {
        how: evaluate(answer, corpus.labels[1], metrics=("P",), n_threads=threads) for how, answer in answers.items()
    }
    return {**found, "train_cpu_s": cost, "labels_a_row": Y.nnz / Y.shape[0]}
