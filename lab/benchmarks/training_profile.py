"""Where the time of training goes: CPU seconds of each stage of the default tree, with one thread.

Usage: python -m lab.benchmarks.training_profile DATA [DATA …] [--labels 65536 …]

DATA as in compare.py; `--labels` generates data with so many labels, rows and features instead, as scale.py does.
`µs a row` is the time of the classifiers of one depth, for each row and each node of that depth that the row has a
label below, and for each sixteen siblings, which are solved together.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

import labelwood as lw
from lab.benchmarks.generate import generate
from lab.benchmarks.rivals import environments
from lab.benchmarks.rivals.prepared import prepare
from labelwood import _native
from labelwood.arrays.rows import as_features, as_labels, unit_rows
from labelwood.labels.order import canonical

Result = TypeVar("Result")
LANES = 16  # siblings that are solved together; of native/simd/kernels.h


def main() -> None:
    """One table a dataset."""
    options = parse()
    for data in options.data:
        show(data.resolve().name, prepare(data, options.cache))
    for labels in options.labels:
        with tempfile.TemporaryDirectory() as folder:
            generate(Path(folder), labels, labels, labels, test_rows=1)
            show(f"{labels:,} generated labels", Path(folder))


def parse() -> argparse.Namespace:
    """The command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path, nargs="*")
    arguments.add_argument("--labels", type=int, nargs="+", default=[])
    arguments.add_argument("--cache", type=Path, default=environments.default_cache())
    return arguments.parse_args()


def show(name: str, folder: Path) -> None:
    """Trains stage by stage and prints what each took."""
    X, Y = (sparse.load_npz(folder / f"{part}.npz").tocsr() for part in ("X.trn", "Y.trn"))
    print(f"\n## {name}: {X.shape[0]:,} rows, {X.shape[1]:,} features, {Y.shape[1]:,} labels\n")
    print("| stage | CPU s | nodes | siblings | µs a row |\n|---|---|---|---|---|")
    model = lw.TreeClassifier(n_threads=1)
    (rows, labels), seconds = timed(lambda: (unit_rows(as_features(X, sparse_only=True)), as_labels(Y, X.shape[0])))
    print(f"| checks, unit rows | {seconds:.2f} | | | |")
    names, labels, members = canonical(labels)
    (tree,), seconds = timed(lambda: model._label_trees(rows, labels, members, names, 1))
    print(f"| label vectors, clusters | {seconds:.2f} | {tree.n_nodes:,} | | |")
    training = model._training(rows, members, np.empty(0, np.float32), 0, 1)
    parts = []
    for depth in range(int(tree.depths.max()) + 1):
        begin, end = np.searchsorted(tree.depths, [depth, depth + 1]).tolist()
        nodes = np.arange(begin, end, dtype=np.int32)
        blocks, seconds = timed(partial(training._nodes, tree, nodes, None, _native.Progress()))
        parts.append((nodes, blocks))
        siblings, visits = work(tree, labels.to_scipy(), begin, end)
        print(f"| depth {depth} | {seconds:.2f} | {end - begin:,} | {siblings:,} | {1e6 * seconds / visits:.2f} |")
    _, seconds = timed(lambda: training._joined(tree, parts))
    print(f"| joined | {seconds:.2f} | | | |", flush=True)


def timed(call: Callable[[], Result]) -> tuple[Result, float]:
    """What a call returns, and its CPU seconds."""
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


def work(tree: lw.trees.LabelTree, Y: Any, begin: int, end: int) -> tuple[int, int]:
    """How many siblings the nodes have, and how often a row meets a group of them."""
    siblings = np.diff(tree.child_ptr) + np.diff(tree.label_ptr)
    node = np.repeat(np.arange(tree.n_nodes), np.diff(tree.label_ptr))  # of each label's leaf, then further up
    while (below := tree.depths[node] > tree.depths[begin]).any():
        node[below] = tree.parents[node[below]]
    at_depth = (node >= begin) & (node < end)
    below_node = sparse.csr_array(
        (np.ones(at_depth.sum()), (tree.labels[at_depth], node[at_depth] - begin)), shape=(tree.n_labels, end - begin)
    )
    rows = np.bincount((Y @ below_node).indices, minlength=end - begin)
    return int(siblings[begin:end].sum()), int((rows * -(-siblings[begin:end] // LANES)).sum())


if __name__ == "__main__":
    main()
