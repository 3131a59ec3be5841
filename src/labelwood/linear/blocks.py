"""The classifiers of a tree's nodes as flat arrays, node after node: those of native/blocks.h."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Blocks: TypeAlias = tuple[NDArray[Any], ...]  # in the order of `DTYPES`

# In the order native code takes them.
DTYPES: dict[str, Any] = {
    "sibling_ptr": np.int64,
    "segment_ptr": np.int32,
    "top_bits": np.uint64,
    "top_ranks": np.uint32,
    "word_ptr": np.int64,
    "word_bits": np.uint64,
    "word_ranks": np.uint32,
    "row_ptr": np.int64,
    "row_starts": np.uint32,
    "byte_ptr": np.int64,
    "bytes": np.uint8,
    "biases": np.float32,
    "scales": np.float32,
}
# What each array has a run of for every node or segment, by the array that says where a run begins; the others have
# the same number of entries for every segment.
_RUNS = {
    "sibling_ptr": ("biases", "scales"),
    "word_ptr": ("word_bits", "word_ranks"),
    "row_ptr": ("row_starts",),
    "byte_ptr": ("bytes",),
}


def placed(n_nodes: int, parts: Sequence[tuple[NDArray[Any], Blocks]]) -> Blocks:
    """The blocks of nodes 0 to `n_nodes`, put together from parts; if two parts have a node, the later one wins.

    Nodes that no part has get a block without siblings, or none at the end: only a search that never opens them may be
    given such blocks.
    """
    if not parts:  # a tree of a single leaf
        return _without_siblings(n_nodes)
    order = np.concatenate([nodes for nodes, _ in parts])
    whole = joined([blocks for _, blocks in parts])
    if np.array_equal(order, np.arange(len(order))):
        return whole
    place = np.full(n_nodes, len(order))  # behind the last
    place[order] = np.arange(len(order))
    return _taken(joined([whole, _without_siblings()]), place)


def count(blocks: Blocks) -> int:
    """Of how many nodes these are."""
    return len(blocks[0]) - 1


def joined(parts: Sequence[Blocks]) -> Blocks:
    """Blocks one after the other."""
    if len(parts) == 1:
        return parts[0]
    return tuple(
        _joined_pointers(arrays) if name.endswith("_ptr") else np.concatenate(arrays)
        for name, arrays in zip(DTYPES, zip(*parts, strict=True), strict=True)
    )


def _taken(blocks: Blocks, nodes: NDArray[Any]) -> Blocks:
    """The blocks of some nodes, in the order in which these are named."""
    given = dict(zip(DTYPES, blocks, strict=True))
    segments = _run_numbers(given["segment_ptr"], nodes)
    n_tops = len(given["top_bits"]) // max(len(given["word_ptr"]) - 1, 1)
    found = {"segment_ptr": _pointers(given["segment_ptr"], nodes)}
    for name in ("top_bits", "top_ranks"):
        found[name] = given[name].reshape(-1, n_tops)[segments].reshape(-1) if n_tops else given[name]
    for name, of_run in _RUNS.items():
        runs = nodes if name == "sibling_ptr" else segments
        found[name] = _pointers(given[name], runs)
        for each in of_run:
            ends = np.stack([given[name][runs], given[name][runs + 1]], axis=1).tolist()
            found[each] = np.concatenate([given[each][:0], *(given[each][begin:end] for begin, end in ends)])
    return tuple(found[name] for name in DTYPES)


def _without_siblings(n_nodes: int = 1) -> Blocks:
    """The blocks of nodes that have none."""
    per_node = ("sibling_ptr", "segment_ptr")
    return tuple(
        np.zeros(n_nodes + 1 if name in per_node else int(name.endswith("_ptr")), dtype)
        for name, dtype in DTYPES.items()
    )


def _pointers(pointers: NDArray[Any], runs: NDArray[Any]) -> NDArray[Any]:
    """Where the named runs begin and end when they stand one after the other."""
    return np.concatenate([[0], np.cumsum(np.diff(pointers)[runs])]).astype(pointers.dtype)


def _run_numbers(pointers: NDArray[Any], runs: NDArray[Any]) -> NDArray[np.int64]:
    """The numbers of all that the named runs hold."""
    sizes = np.diff(pointers)[runs]
    ends = np.cumsum(sizes)
    numbers: NDArray[np.int64] = np.arange(sizes.sum()) + np.repeat(pointers[runs] - (ends - sizes), sizes)
    return numbers


def _joined_pointers(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Arrays that each begin with 0 and end with a count, one after the other as one such array."""
    starts = np.cumsum([0, *(array[-1] for array in arrays)])
    tails = [array[1:] + start for array, start in zip(arrays, starts[:-1], strict=True)]
    return np.concatenate([arrays[0][:1], *tails]).astype(arrays[0].dtype)
