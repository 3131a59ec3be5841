"""A label tree with its classifiers, as it is searched, saved and mapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood import _native
from labelwood.base import Limits, TopK
from labelwood.errors import LabelwoodError, ModelError
from labelwood.inputs import Floats, Sparse
from labelwood.trees.tree import LabelTree

Link: TypeAlias = Literal["l3-hinge", "sigmoid"]
Precision: TypeAlias = Literal["float32", "float16", "int8"]

LINKS: dict[str, int] = {"l3-hinge": 0, "sigmoid": 1}
_SEGMENT = 256  # siblings that share one bitmap; of native/blocks.h
_WORD = 64
_STORED = {"float32": np.float32, "float16": np.uint16, "int8": np.int8}
_TREE = {"child_ptr": np.int32, "label_ptr": np.int64, "labels": np.int32}
# The arrays of native/blocks.h, in the order native code takes them; the weights' type is the precision's.
_BLOCKS = {
    "sibling_ptr": np.int64,
    "segment_ptr": np.int32,
    "top_bits": np.uint64,
    "top_ranks": np.uint32,
    "word_ptr": np.int64,
    "word_bits": np.uint64,
    "word_ranks": np.uint32,
    "row_ptr": np.int64,
    "row_starts": np.uint32,
    "entry_ptr": np.int64,
    "columns": np.uint8,
    "values": np.float32,
    "biases": np.float32,
    "scales": np.float32,
}


class Looks(NamedTuple):
    """How much a search looked at, summed over rows."""

    nodes: int  # opened that have children
    leaves: int  # opened
    children: int  # scored
    labels: int  # scored
    weights: int  # of those, that a row's features met


class TrainedTree:
    """A `LabelTree` and the classifiers of its nodes.

    Example:
        >>> import labelwood as lw
        >>> model = lw.TreeClassifier(arity=2, max_leaf=1).fit(np.eye(4), np.eye(4))
        >>> model.trees_[0].tree.n_labels
        4
    """

    def __init__(self, tree: LabelTree, blocks: tuple[NDArray[Any], ...], n_features: int) -> None:
        self.tree = tree
        self.blocks = blocks
        self.n_features = n_features

    @classmethod
    def joined(cls, tree: LabelTree, parts: Sequence[tuple[NDArray[Any], ...]], n_features: int) -> TrainedTree:
        """A tree from the blocks of its nodes, first to last, as native training returns them part by part."""
        blocks: list[NDArray[Any]] = []
        for place, name in enumerate(name for name in _BLOCKS if name != "scales"):
            arrays = [part[place] for part in parts]
            blocks.append(_joined_pointers(arrays) if name.endswith("_ptr") else np.concatenate(arrays))
        return cls(tree, (*blocks, np.empty(0, np.float32)), n_features)

    @cached_property
    def _native(self) -> Any:
        shape = tuple(self.tree.arrays().values())
        return _native.TreeModel(shape, self.blocks, self.n_features, self.tree.n_labels)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_native"}

    def topk(
        self,
        rows: Sparse,
        k: int,
        *,
        beam: int | None,
        link: str,
        limits: Limits,
        n_threads: int,
        path_weight: float = 1.0,
        best_first: bool = True,
        unit_rows: bool = False,
        slack: float = 0.0,
    ) -> tuple[TopK, Looks]:
        """The best labels of rows. Best-first and level by level give the same answers; the former looks at less.

        With `slack`, best-first search also ends when the logarithm of the best score that is left exceeds that of the
        k-th answer by less.
        """
        lowest = max(0.0, limits.min_score)  # scores are above zero anyway
        how = (k, beam or 0, LINKS[link], path_weight, best_first, lowest, unit_rows, limits.allowed, slack, n_threads)
        ids, scores, looks = self._native.topk(*rows, *how)
        return TopK(ids, scores), Looks(*looks)

    def slacks(
        self, rows: Sparse, k: int, *, beam: int | None, link: str, path_weight: float, unit_rows: bool, n_threads: int
    ) -> Floats:
        """For each row the largest slack that leaves its answers as they are; infinite where any does."""
        found: Floats = self._native.slacks(*rows, k, beam or 0, LINKS[link], path_weight, unit_rows, n_threads)
        return found

    def block(self, node: int) -> tuple[Any, NDArray[np.float32]]:
        """The weights (features × siblings, sparse) and biases of a node's classifiers.

        Example:
            >>> import labelwood as lw
            >>> model = lw.OneVsRest(bias=0).fit(np.eye(2), np.eye(2))
            >>> model.trees_[0].block(0)[0].toarray().round(1)
            array([[ 0.7, -0.7],
                   [-0.7,  0.7]], dtype=float32)
        """
        b = dict(zip(_BLOCKS, self.blocks, strict=True))
        first, last = b["sibling_ptr"][node], b["sibling_ptr"][node + 1]
        rows, columns, values = [], [], []
        for place, segment in enumerate(range(b["segment_ptr"][node], b["segment_ptr"][node + 1])):
            entries = slice(b["entry_ptr"][segment], b["entry_ptr"][segment + 1])
            starts = b["row_starts"][b["row_ptr"][segment] : b["row_ptr"][segment + 1]]
            lengths = starts[1:].astype(np.int64) - starts[:-1]
            rows.append(np.repeat(_features_of(b, segment, self.n_features), lengths))
            columns.append(b["columns"][entries].astype(np.int64) + _SEGMENT * place)
            values.append(_decoded(b["values"][entries]))
        weights = np.concatenate(values)
        siblings = np.concatenate(columns)
        if len(b["scales"]):
            weights = weights * b["scales"][first + siblings]
        shape = (self.n_features, int(last - first))
        return sparse.csr_array((weights, (np.concatenate(rows), siblings)), shape=shape), b["biases"][first:last]

    def stored(self, precision: str, n_threads: int = 1) -> TrainedTree:
        """The same tree with float32 weights stored in fewer bits."""
        blocks = dict(zip(_BLOCKS, self.blocks, strict=True))
        values = blocks["values"]
        if precision == "float16":
            limit = np.float32(np.finfo(np.float16).max)
            blocks["values"] = np.clip(values, -limit, limit).astype(np.float16).view(np.uint16)
        elif precision == "int8":
            blocks["values"], blocks["scales"] = self._native.in_eight_bits(n_threads)
        return TrainedTree(self.tree, tuple(blocks.values()), self.n_features)

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """All arrays by name, for the store."""
        return {**self.tree.arrays(), **dict(zip(_BLOCKS, self.blocks, strict=True))}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], precision: str, n_features: int, n_labels: int, *, verify: bool
    ) -> TrainedTree:
        """The reverse of `arrays`; with `verify`, every index is checked that native code relies on."""
        types: dict[str, Any] = {**_TREE, **_BLOCKS, "values": _STORED[precision]}
        for name, dtype in types.items():
            if name not in arrays or arrays[name].dtype != dtype or arrays[name].ndim != 1:
                raise ModelError(f"the tree's array {name!r} is missing or of another type: save the model again")
        try:
            tree = LabelTree.from_arrays(tuple(arrays[name] for name in _TREE), n_labels, verify=verify)
            trained = cls(tree, tuple(arrays[name] for name in _BLOCKS), n_features)
            if verify:
                trained._native.check()
        except LabelwoodError as e:
            raise ModelError(str(e)) from None
        return trained


def _joined_pointers(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """Arrays that each begin with 0 and end with a count, one after the other as one such array."""
    starts = np.cumsum([0, *(array[-1] for array in arrays)])
    tails = [array[1:] + start for array, start in zip(arrays, starts[:-1], strict=True)]
    return np.concatenate([arrays[0][:1], *tails]).astype(arrays[0].dtype)


def _decoded(values: NDArray[Any]) -> NDArray[np.float32]:
    return (values.view(np.float16) if values.dtype == np.uint16 else values).astype(np.float32)


def _features_of(blocks: Mapping[str, NDArray[Any]], segment: int, n_features: int) -> NDArray[np.int64]:
    """The features that have a row in a segment, ascending."""
    n_words = -(-n_features // _WORD)
    tops = -(-n_words // _WORD)
    top = blocks["top_bits"][segment * tops : (segment + 1) * tops]
    words = np.flatnonzero(_bits(top))
    own = blocks["word_bits"][blocks["word_ptr"][segment] : blocks["word_ptr"][segment + 1]]
    place, bit = np.nonzero(_bits(own).reshape(-1, _WORD))
    features: NDArray[np.int64] = words[place] * _WORD + bit
    return features


def _bits(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    return np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
