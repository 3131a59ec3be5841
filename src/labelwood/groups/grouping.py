"""Makes groups from rows with known labels, to measure what is lost if only the labels of groups are known."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from labelwood.arrays.rows import Sparse, as_features, as_labels, shape_of
from labelwood.arrays.values import MOST_SEED, real_number, whole_number
from labelwood.errors import ParameterError
from labelwood.groups.grouped import as_groups
from labelwood.trees.balanced import balanced
from labelwood.trees.vectors import unit_rows

_N_PROJECTED = 64  # dimensions in which noise is added


def random_groups(n_rows: int, size: int, seed: int = 0) -> NDArray[np.int64]:
    """The group of each row: random groups of `size` rows; the last group may be smaller.

    Example:
        >>> np.bincount(random_groups(7, size=3)).tolist()
        [3, 3, 1]
    """
    whole_number(size, "size")
    whole_number(seed, "seed", 0, MOST_SEED)
    n_rows = whole_number(n_rows, "n_rows", 0, 2**40)
    groups = np.empty(n_rows, np.int64)
    groups[np.random.default_rng(seed).permutation(n_rows)] = np.arange(n_rows) // size
    return groups


def clustered_groups(X: Any, depth: int, seed: int = 0, *, n_threads: int | None = None) -> NDArray[np.int64]:
    """The group of each row: groups of similar rows, by `depth` levels of balanced spherical 2-means.

    There are 2^`depth` groups, whose sizes differ by at most one.

    Example:
        >>> groups = clustered_groups([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.1, 1.0]], depth=1)
        >>> bool(groups[0] == groups[2] != groups[1] == groups[3])
        True
    """
    rows = unit_rows(X)
    whole_number(depth, "depth", 0, 62)
    if rows.n_rows < 2**depth:
        raise ParameterError(f"depth is {depth} but {rows.n_rows} row(s) cannot be halved so often")
    # Rows are split down to the smaller of the two sizes. Larger groups are split once too often, and merged again.
    tree = balanced(rows.to_scipy(), max_leaf=max(rows.n_rows >> depth, 1), seed=seed, n_threads=n_threads)
    owner = np.repeat(np.arange(tree.n_nodes), np.diff(tree.label_ptr))
    deep = tree.depths[owner] > depth
    owner[deep] = tree.parents[owner[deep]]
    groups = np.empty(rows.n_rows, np.int64)
    groups[tree.labels] = np.unique(owner, return_inverse=True)[1]
    return groups


def noisy_groups(X: Any, depth: int, noise: float, seed: int = 0, *, n_threads: int | None = None) -> NDArray[np.int64]:
    """`clustered_groups` of noisy rows: with `noise` 0 the rows of a group are most similar, with 1 they are random.

    Rows are projected at random to a few dimensions and scaled to unit length. Then each row x becomes
    (1 − `noise`) x + `noise` u, where u is a random direction.

    Example:
        >>> np.bincount(noisy_groups(np.eye(8), depth=2, noise=0.5)).tolist()
        [2, 2, 2, 2]
    """
    real_number(noise, "noise", 0, 1)
    whole_number(seed, "seed", 0, MOST_SEED)
    features = as_features(X)
    rng = np.random.default_rng(seed)
    projection = rng.standard_normal((shape_of(features)[1], _N_PROJECTED), np.float32)
    projected = (features.to_scipy() if isinstance(features, Sparse) else features) @ projection
    blur = rng.standard_normal(projected.shape, np.float32)
    mixed = (1 - noise) * _unit(projected) + noise * _unit(blur)
    return clustered_groups(mixed, depth, seed, n_threads=n_threads)


def merged_labels(Y: Any, groups: Any, merge: Literal["list", "set"] = "list") -> Any:
    """The labels of groups, groups × labels, sparse: how many rows of a group have a label ("list"), or if any ("set").

    Example:
        >>> Y = [[1, 0], [1, 1], [0, 1]]
        >>> merged_labels(Y, [0, 0, 1]).toarray()
        array([[2., 1.],
               [0., 1.]], dtype=float32)
        >>> merged_labels(Y, [0, 0, 1], merge="set").toarray()
        array([[1., 1.],
               [0., 1.]], dtype=float32)
    """
    if merge not in ("list", "set"):
        raise ParameterError(f"merge is {merge!r} but should be 'list' or 'set'")
    labels = as_labels(Y)
    counts = as_groups(groups, labels.n_rows).to_scipy() @ labels.to_scipy()
    counts.sort_indices()
    if merge == "set":
        counts.data = np.ones(counts.nnz, np.float32)
    return counts


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
