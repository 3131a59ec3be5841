"""labelwood demo: train, save, load, evaluate and predict on the built-in sample."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from labelwood.cli import options
from labelwood.cli.evaluate import table

NAME = "demo"
_QUESTIONS = [
    "a small dog with long ears",
    "strong coffee with steamed milk",
    "a tropical tree with edible fruit",
    "a fast sailing ship with two masts",
]


def run(threads: options.Threads = None, json: options.Json = False) -> None:
    """Train, save, load, evaluate and predict on the built-in sample of WordNet."""
    import labelwood as lw
    from labelwood.data.sample import sample

    started = time.perf_counter()
    train, test = sample()
    read_seconds = time.perf_counter() - started
    classifier = lw.TextClassifier(model="tree", n_threads=threads).fit_dataset(train)
    train_seconds = time.perf_counter() - started - read_seconds
    with tempfile.TemporaryDirectory() as folder:
        classifier.save(Path(folder) / "model")
        classifier = lw.load(Path(folder) / "model")
    metrics = {name: round(value, 4) for name, value in classifier.evaluate(test).items()}
    if json:
        options.report({**metrics, "rows": len(test), "train_seconds": round(train_seconds, 3)}, as_json=True)
        return
    sys.stdout.write(
        f"WordNet sample: {len(train):,} definitions to learn from, {len(test):,} to test on, "
        f"{train.n_labels:,} labels (the concepts above each word).\n"
        f"Read in {read_seconds:.1f} s, trained a label tree in {train_seconds:.1f} s.\n\n"
    )
    sys.stdout.write(table(metrics, (1, 3, 5)) + "\n")
    for text, row in zip(_QUESTIONS, classifier.suggest(_QUESTIONS, k=4), strict=True):
        sys.stdout.write(f"{text}\n  " + ", ".join(f"{name} {score:.2f}" for name, score in row) + "\n")
    sys.stdout.write("\nYour own data: labelwood train DATA -o MODEL; labelwood predict MODEL TEXTS\n")
