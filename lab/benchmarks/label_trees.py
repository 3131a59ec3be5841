"""How long label trees take to build: CPU and wall seconds and peak memory of each builder on generated label vectors.

Usage: python -m lab.benchmarks.label_trees [--labels 1000000] [--entries 100] [--threads 2]

Vectors have so many entries each, features drawn by a power law; every label has rows in proportion to its place.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np
from scipy import sparse

from labelwood import trees

MAX_LEAF = 100


def main() -> None:
    """A line for each builder; peaks grow from line to line, as memory is measured for the process."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--labels", type=int, default=1_000_000)
    arguments.add_argument("--entries", type=int, default=100)
    arguments.add_argument("--threads", type=int, default=2)
    options = arguments.parse_args()
    vectors, Y = generated(options.labels, options.entries)
    how = {"max_leaf": MAX_LEAF, "n_threads": options.threads}
    builders: dict[str, Callable[[], trees.LabelTree]] = {
        "balanced": lambda: trees.balanced(vectors, **how),
        "interpolated, λ 0.67": lambda: trees.interpolated(vectors, Y, lam=0.67, **how),
        "interpolated, λ 1.33": lambda: trees.interpolated(vectors, Y, lam=1.33, **how),
    }
    print("| tree | CPU s | wall s | peak MiB | nodes | mean depth |\n|---|---|---|---|---|---|")
    for name, build in builders.items():
        cpu, wall = time.process_time(), time.perf_counter()
        tree = build()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"| {name} | {cpu:.1f} | {wall:.1f} | {peak:,.0f} | {tree.n_nodes:,} | {tree.expected_depth():.2f} |",
            flush=True,
        )


def generated(n_labels: int, n_entries: int) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Label vectors, and rows with one label each, the n-th label in one of every n rows or so."""
    random = np.random.default_rng(0)
    features = (n_labels * random.random(n_labels * n_entries, dtype=np.float32) ** 3).astype(np.int32)
    values = random.random(n_labels * n_entries, dtype=np.float32)
    indptr = np.arange(n_labels + 1, dtype=np.int64) * n_entries
    vectors = sparse.csr_array((values, features, indptr), shape=(n_labels, n_labels))
    vectors.sum_duplicates()
    labels = (n_labels ** random.random(2 * n_labels)).astype(np.int32) % n_labels
    ones = np.ones(len(labels), np.float32)
    return vectors, sparse.csr_array((ones, labels, np.arange(len(labels) + 1)), shape=(len(labels), n_labels))


if __name__ == "__main__":
    main()
