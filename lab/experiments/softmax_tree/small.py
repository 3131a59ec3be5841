"""Size against accuracy: models whole, and with fewer features and coarser numbers, beside fastText's own way."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from lab.experiments.softmax_tree.contest import Contest
from lab.experiments.softmax_tree.rival import SETS, THEIRS, fasttext, that_succeed
from lab.experiments.softmax_tree.settings import settings

__all__ = ["SETS", "measure"]

CUTOFFS = (0, 20_000, 5_000, 1_000)  # features that stay; 0 for all
# How many numbers become a byte; and whether of the vectors of nodes too, which Labelwood always does.
PARTS: dict[str, dict[str, Any]] = {f"{part} numbers a byte": {"part": part} for part in (2, 3, 4)}
QUANTISED: dict[str, dict[str, Any]] = {
    "2 numbers a byte, output whole": {"dsub": 2, "qout": False},
    "2 numbers a byte": {"dsub": 2, "qout": True},
    "4 numbers a byte": {"dsub": 4, "qout": True},
}
WHOLE, OURS = "whole", "labelwood"
SEED = 0


def measure(contest: Contest, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of both libraries' whole models and of all that is made from them."""
    epochs = max(options.epochs)
    theirs = fasttext(epochs, 1, SEED, options)
    whole = that_succeed(contest, theirs, keep_model=True)
    best = max(whole, key=lambda name: whole[name]["P@1"])
    points = [*_points("fastText", best, (THEIRS, theirs[best]), contest, options.cutoffs)]
    points += _points("Labelwood", OURS, (OURS, settings(epochs=epochs, seed=SEED)), contest, options.cutoffs)
    for name in (*theirs, OURS):
        contest.forget(name)
    return {"epochs": epochs, "fasttext": theirs[best], "points": points}


def _points(
    title: str, source: str, model: tuple[str, dict[str, Any]], contest: Contest, cutoffs: list[int]
) -> Iterator[dict[str, Any]]:
    """The whole model first."""
    library, settings_of_it = model
    whole = contest.figures(source, *model, keep_model=True)
    ways = list(_ways(source, library, whole["n_features"], cutoffs))
    params = {name: {"source": contest.model(source).name, "of": settings_of_it, "how": how} for name, how, _ in ways}
    if not all(contest.known(name, library, params[name]) for name in params):
        contest.make_model(source, *model)
    yield {"library": title, "way": WHOLE, "cutoff": 0, **contest.figures(source, *model)}
    for name, _, about in ways:
        yield {"library": title, **about, **contest.figures(name, library, params[name])}


def _ways(
    source: str, library: str, n_features: int, cutoffs: list[int]
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Of each way to make a model smaller: its name, what the library is told, and what it is called."""
    for title, how in (PARTS if library == OURS else QUANTISED).items():
        for cutoff in cutoffs:
            if cutoff < n_features:
                keep = {"max_features": cutoff or None} if library == OURS else {"cutoff": cutoff}
                name = "-".join([source, *(f"{key}-{value}" for key, value in how.items()), str(cutoff)])
                yield name, {**how, **keep}, {"way": title, "cutoff": cutoff}
