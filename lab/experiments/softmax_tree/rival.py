"""Side by side with fastText: the same words, the same number of embeddings' numbers, epochs, threads and seeds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from lab.benchmarks.rivals.stages import StageError
from lab.experiments.softmax_tree.contest import Contest
from lab.experiments.softmax_tree.learning import Trials
from lab.experiments.softmax_tree.settings import DIM, MIN_COUNT, settings
from labelwood.trees import lam_of

SETS = ("eurlex57k", "wordnet", "debian_deps")
EPOCHS = (5, 25)
WITH_PAIRS = ("wordnet", "debian_deps")  # short texts, where pairs of words are few enough for all
RATES = (0.1, 0.5, 1.0)  # of fastText; the best is shown
# Each thread of fastText 0.9.3 gives a tenth of the embeddings their random start; the others stay as the memory was.
# Two threads are what Labelwood has; the twelve of its command line start all embeddings, which its precision needs.
THREADS = (2, 12)
BUCKETS = 2_000_000
SCALES = (0, 0.25, 0.5, 1, 2, 4, 16)  # λ′ to choose from
SEEDS = 3
THEIRS, CHOSEN = "fasttext", "interpolated"


def measure(name: str, contest: Contest, options: argparse.Namespace) -> list[dict[str, Any]]:
    """For each number of epochs and longest run of words, all contenders' figures, one for each seed."""
    ways = [(epochs, 1) for epochs in options.epochs]
    ways += [(min(options.epochs), 2)] if name in WITH_PAIRS else []
    return [_compared(contest, epochs, ngrams, options) for epochs, ngrams in ways]


def fasttext(epochs: int, ngrams: int, seed: int, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """What fastText is given, by numbers of threads and learning rates."""
    shared = {"loss": "hs", "dim": DIM, "minCount": MIN_COUNT, "bucket": BUCKETS}
    shared |= {"epoch": epochs, "wordNgrams": ngrams, "seed": seed}
    ways = [(threads, rate) for threads in options.fasttext_threads for rate in options.rates]
    return {f"{THEIRS}-{threads}-{rate:g}": {**shared, "thread": threads, "lr": rate} for threads, rate in ways}


def that_succeed(contest: Contest, jobs: Mapping[str, Mapping[str, Any]], **how: bool) -> dict[str, dict[str, Any]]:
    """fastText's figures of each job, by its name; it may end at a NaN, which only counts if it does so in all."""
    found, failures = {}, []
    for name, params in jobs.items():
        try:
            found[name] = contest.figures(name, THEIRS, params, **how)
        except StageError as failure:
            failures.append(failure)
            sys.stderr.write(f"  {name} failed, {failure}\n")
    if not found:
        raise failures[-1]
    return found


def _compared(contest: Contest, epochs: int, ngrams: int, options: argparse.Namespace) -> dict[str, Any]:
    way = f"{epochs}-epochs-{ngrams}-words"
    choices = _choices(contest, f"{way}-choosing", epochs, ngrams, options.threads)
    lam = max(choices, key=lambda choice: choice["P@1"])["lam"]
    ours = {
        "huffman": {"tree": "huffman"},
        "huffman-drawn": {"tree": "huffman", "targets": "drawn"},
        CHOSEN: {"tree": "interpolated", "lam": lam},
    }
    runs: dict[str, list[dict[str, Any]]] = {}
    for seed in range(options.seeds):  # contenders take turns, so that noise hits all alike
        theirs = fasttext(epochs, ngrams, seed, options)
        names = {f"{way}-{contender}-seed-{seed}": contender for contender in theirs}
        for name, found in that_succeed(contest, {name: theirs[names[name]] for name in names}).items():
            runs.setdefault(names[name], []).append(found)
        for contender, params in ours.items():
            given = settings(ngrams, epochs=epochs, seed=seed, **params)
            found = contest.figures(f"{way}-{contender}-seed-{seed}", "labelwood", given)
            runs.setdefault(contender, []).append(found)
    return {"epochs": epochs, "ngrams": ngrams, "lam": lam, "choices": choices, "runs": runs}


def _choices(contest: Contest, name: str, epochs: int, ngrams: int, n_threads: int) -> list[dict[str, float]]:
    """For each λ its P@1 on training rows that were held out."""
    trials = Trials(contest.corpus.choosing, contest.kept, ngrams)
    lams = [lam_of(scale) for scale in SCALES]
    given = {lam: settings(ngrams, epochs=epochs, tree="interpolated", lam=lam) for lam in lams}
    return [
        {"lam": lam, "P@1": trials.figures(f"{name}-{lam:.6g}", each, n_threads)["P@1"]} for lam, each in given.items()
    ]
