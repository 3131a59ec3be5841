"""What each piece of PRIME-lite is worth: Tables 6, 9 and 11 of the paper, Figure 3's pieces, and more."""

from __future__ import annotations

import argparse
from typing import Any

from lab.experiments.common.kept import Kept
from lab.experiments.prime.corpora import Corpus
from lab.experiments.prime.learning import CONFIGS, Trials
from labelwood.dual_encoder import load_settings

SETS = ("wordnet", "debian_deps", "bookcrossing")
# Each with the paper's table, what it is, and what it is compared with.
ROWS: dict[str, tuple[str, str, str]] = {
    "table6_prototype_only": ("table 6", "prototypes alone", ""),
    "table6_with_query_to_label": ("table 6", "and query to label", "table6_prototype_only"),
    "table6_with_dynamic_margin": ("table 6", "and dynamic margin", "table6_with_query_to_label"),
    "table6_with_label_to_query": ("table 6", "and label to query", "table6_with_dynamic_margin"),
    "prime_lite": ("table 6", "and regulariser: PRIME-lite", "table6_with_label_to_query"),
    "table9_free_vectors_0": ("table 9", "no free vectors", "prime_lite"),
    "table9_free_vectors_1024": ("table 9", "1,024 free vectors", "prime_lite"),
    "table9_free_vectors_4096": ("table 9", "4,096 free vectors", "prime_lite"),
    "table11_uniform_positives": ("table 11", "positives drawn uniformly", "prime_lite"),
    "figure3_without_centroids": ("figure 3", "no centroids", "prime_lite"),
    "inverted_margin": ("readings", "margin as in Equation 3", "prime_lite"),
    "detached_weights": ("readings", "weights without gradient", "prime_lite"),
    "prototypes_dynamic": ("more", "prototypes alone, dynamic margin", "prime_lite"),
    "texts_a_tenth": ("more", "texts count a tenth of prototypes", "prime_lite"),
}


# The method as published, where its vectors do not come together; and with the anchor.
BASES = {
    "wordnet": ("prime_lite", "anchored_lite"),
    "debian_deps": ("anchored_lite",),
    "bookcrossing": ("anchored_lite",),
}


def measure(corpus: Corpus, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """Of each base and variant the figures of each seed."""
    trials = Trials(corpus, kept, given)
    return {base: _variants(trials, base, given) for base in BASES[corpus.name]}


def _variants(trials: Trials, base: str, given: argparse.Namespace) -> dict[str, Any]:
    wanted = [config for config in ROWS if given.variants is None or config in given.variants]
    return {config: [_run(trials, base, config, seed) for seed in range(given.seeds)] for config in wanted}


def _run(trials: Trials, base: str, config: str, seed: int) -> dict[str, Any]:
    """A variant with the base's anchor, batches and rate; where it is the base itself, what `methods` has of it."""
    if config == "prime_lite":
        return trials.method(base, seed)
    anchor = load_settings(CONFIGS / f"{base}.toml").objective.anchor
    settings = trials.settings(config, seed=seed, **trials.tuned(base), objective={"anchor": anchor})
    return trials.run(f"{base}-{config}-seed-{seed}", settings)
