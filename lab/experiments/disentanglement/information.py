"""Whether the copies of a fused label are the labels it was made from: how far two ways to split its rows differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood.arrays.rows import from_scipy, unit_rows
from labelwood.linear.trained import TrainedTree
from labelwood.trees import LabelTree
from labelwood.trees.overlap import places_of

ENOUGH = 10  # a component counts if more rows than this have it and no other of its fused label
SHUFFLES = 10  # random splits of each label


def variation_of_information(first: Any, second: Any) -> float:
    """How far two splits of the same things differ, in bits: zero if they are the same but for the parts' names."""
    _, pairs = np.unique(np.stack([first, second]), axis=1, return_counts=True)
    apart = (np.unique(part, return_counts=True)[1] for part in (first, second))
    return max(0.0, 2 * _entropy(pairs) - sum(_entropy(counts) for counts in apart))


def _entropy(counts: NDArray[Any]) -> float:
    shares = counts / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def disentanglement(
    matcher: TrainedTree, tree: LabelTree, X: Any, Y: Any, numbers: NDArray[np.int64], *, seed: int
) -> dict[str, float]:
    """How a matcher splits the rows of fused labels, against what they were made from and against random splits.

    `tree` says where the fused labels lie; it has the matcher's leaves. `Y` has the labels before they were fused, as
    `numbers` says. A row goes to the copy whose leaf the matcher scores highest. Random splits have parts of the same
    sizes. Means over labels whose components all have enough rows.
    """
    scores = leaf_scores(matcher, X)
    places = places_of(tree)
    random = np.random.default_rng(seed)
    found = []
    for label, rows, components in components_of(Y, numbers):
        leaves = places.indices[places.indptr[label] : places.indptr[label + 1]]
        split = scores[np.ix_(rows, leaves)].argmax(axis=1)
        shuffled = [variation_of_information(random.permutation(split), components) for _ in range(SHUFFLES)]
        found.append((variation_of_information(split, components), np.mean(shuffled), len(rows)))
    if not found:
        return {"labels": 0}
    own, others, n_rows = np.array(found).T
    return {
        "labels": len(found),
        "rows": float(n_rows.mean()),
        "matcher": float(own.mean()),
        "random": float(others.mean()),
        "better": 100 * float((own < others).mean()),
    }


def components_of(Y: Any, numbers: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
    """Of each fused label whose components all have enough rows: its number, its rows, and the component of each.

    Rows with more than one of the components are left out.
    """
    columns = sparse.csc_array(Y)
    members = np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers))[:-1])
    for label, parts in enumerate(members):
        of_part = [columns.indices[columns.indptr[part] : columns.indptr[part + 1]] for part in parts.tolist()]
        rows, first, counts = np.unique(np.concatenate(of_part), return_index=True, return_counts=True)
        components = np.repeat(np.arange(len(parts)), [len(own) for own in of_part])[first]
        rows, components = rows[counts == 1], components[counts == 1]
        if len(parts) > 1 and np.bincount(components, minlength=len(parts)).min() > ENOUGH:
            yield label, rows, components


def leaf_scores(trained: TrainedTree, X: Any) -> NDArray[np.float32]:
    """Rows × leaves, in the order of the tree's: the logarithm of the score on the way there.

    For classifiers with unit rows and the link "l3-hinge".
    """
    tree = trained.tree
    rows = unit_rows(from_scipy(sparse.csr_array(X))).to_scipy()
    scores = {0: np.zeros(rows.shape[0], np.float32)}
    for node in np.flatnonzero(np.diff(tree.child_ptr)).tolist():  # parents come first
        weights, biases = trained.block(node)
        missing = np.maximum(0, 1 - (rows @ weights).toarray() - biases)
        first, last = tree.child_ptr[node : node + 2].tolist()
        own = scores.pop(node)
        scores |= {first + i: own - missing[:, i] ** 3 for i in range(last - first)}
    return np.stack([scores[leaf] for leaf in tree.leaves.tolist()], axis=1)
