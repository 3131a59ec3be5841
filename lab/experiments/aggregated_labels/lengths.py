"""Whether rows' lengths matter: the paper does not say if rows are brought to unit length before they are added up.

`Eagle` does so. Here labels' vectors are sums of rows as they are, so that long rows count for more, and rows are
picked by cosine as before; what comes out is compared with the paper's figures.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from scipy import sparse

from lab.experiments.aggregated_labels.learner import LEARNER, precision
from lab.experiments.aggregated_labels.trials import Trials, agreement
from lab.experiments.common.kept import Kept
from lab.experiments.common.rows import Rows
from labelwood import _native
from labelwood.arrays.rows import from_scipy
from labelwood.groups.eagle import unit_features
from labelwood.groups.grouped import GroupedLabels

SETS = ("eurlex4k",)
WAYS = {"eagle-0": 0, "eagle": 20}
STEP = 0.1


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """For each grouping the figures of EAGLE-0 and EAGLE, of one seed."""
    trials = Trials(given.data / name, kept, rows=given.rows, threads=given.threads)
    return {
        grouping: {
            way: kept.figures(
                f"{grouping}-{way}-lengths",
                {"iterations": iterations, "learner": LEARNER},
                lambda grouping=grouping, iterations=iterations: judged(trials, grouping, iterations),  # type: ignore[misc]
            )
            for way, iterations in WAYS.items()
        }
        for grouping in given.groupings
    }


def judged(trials: Trials, grouping: str, iterations: int) -> dict[str, Any]:
    """As in the other trials."""
    started = time.process_time()
    Y = handed_out(trials.rows.X_train, *trials.grouped(grouping, 0), iterations=iterations, threads=trials.threads)
    cost = {"assign_cpu_s": time.process_time() - started}
    rows = Rows(trials.rows.X_train, Y, trials.rows.X_test, trials.rows.Y_test)
    return {**cost, **agreement(Y, trials.rows.Y_train), **precision(rows, LEARNER, 0, trials.threads)}


def handed_out(X: Any, groups: Any, counts: Any, *, iterations: int, threads: int) -> Any:
    """Rows × labels, sparse."""
    rows, units = sparse.csr_array(X, dtype=np.float32), unit_features(X)
    grouped = GroupedLabels.of(groups, counts, X.shape[0])
    weights = np.repeat(grouped.labels.values, grouped.sizes)

    def vectors(weights: Any) -> Any:
        ends = grouped.ends[grouped.labels.indptr]
        parts = sparse.csr_array((weights, grouped.rows, ends), shape=(grouped.n_labels, grouped.n_rows))
        parts.eliminate_zeros()
        return unit(parts @ rows)

    def picked(vectors: Any) -> Any:
        cosines = _native.sparse_slot_products(units, from_scipy(vectors), grouped, threads)
        return nearest(cosines, grouped)

    found = vectors(weights.copy())
    for _ in range(iterations):
        found = unit(found + STEP * vectors(np.where(picked(found), weights, 0)))
    chosen = picked(found)
    labels = np.repeat(grouped.label_of, grouped.sizes)[chosen]
    Y = sparse.csr_array(
        (np.ones(len(labels), np.float32), (grouped.rows[chosen], labels)), shape=(X.shape[0], grouped.n_labels)
    )
    Y.sum_duplicates()
    return Y


def nearest(cosines: Any, grouped: GroupedLabels) -> Any:
    """Of each label and group the first slot with the largest cosine, marked."""
    of_slot = np.repeat(np.arange(len(grouped.sizes)), grouped.sizes)
    best = np.maximum.reduceat(cosines, grouped.ends[:-1])
    places = np.where(cosines == best[of_slot], np.arange(len(cosines)), len(cosines))
    marked = np.zeros(len(cosines), bool)
    marked[np.minimum.reduceat(places, grouped.ends[:-1])] = True
    return marked


def unit(vectors: Any) -> Any:
    """Rows of unit length; those of zeros stay."""
    lengths = np.sqrt(np.asarray((vectors * vectors).sum(axis=1))).ravel()
    vectors = sparse.csr_array(sparse.diags_array((1 / np.where(lengths > 0, lengths, 1)).astype(np.float32)) @ vectors)
    vectors.sort_indices()
    return vectors
