"""A label tree with its classifiers, as it is searched, saved and mapped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood import _native
from labelwood._native import Rows, SearchCosts, SearchOptions
from labelwood.arrays.rows import Floats, Sparse
from labelwood.arrays.topk import TopK
from labelwood.contract.limits import Limits
from labelwood.errors import LabelwoodError, ModelError
from labelwood.linear.blocks import DTYPES, Blocks
from labelwood.trees.copies import Merge
from labelwood.trees.tree import LabelTree

Link: TypeAlias = Literal["l3-hinge", "sigmoid"]
Precision: TypeAlias = Literal["float32", "float16", "int8"]

MOST = 2**31 - 1  # nodes of a tree: native code counts them in 32 bits
_TREE: dict[str, Any] = {"child_ptr": np.int32, "label_ptr": np.int64, "labels": np.int32}
_ARRAYS = {**_TREE, **DTYPES, "feature_numbers": np.int32}


class TrainedTree:
    """A `LabelTree` and the classifiers of its nodes.

    Example:
        >>> import labelwood as lw
        >>> model = lw.TreeClassifier(arity=2, max_leaf=1).fit(np.eye(4), np.eye(4))
        >>> model.trees_[0].tree.n_labels
        4
    """

    def __init__(
        self,
        tree: LabelTree,
        blocks: Blocks,
        precision: Precision,
        feature_numbers: NDArray[np.int32],
        merge: Merge = "max",
    ) -> None:
        self.tree = tree
        self.blocks = blocks
        self.precision = precision
        self.feature_numbers = feature_numbers  # what each feature is called in the blocks
        self.merge = merge  # which score counts of a label that lies in several leaves

    @property
    def n_features(self) -> int:
        """Number of features of the rows."""
        return len(self.feature_numbers)

    @cached_property
    def _native(self) -> _native.TreeModel:
        return _native.TreeModel(
            tree=self.tree,
            blocks=self.blocks,
            feature_numbers=self.feature_numbers,
            precision=self.precision,
            n_labels=self.tree.n_labels,
            mean_of_copies=self.merge == "mean",
        )

    @cached_property
    def _features(self) -> NDArray[np.int64]:
        """Which feature has each of the blocks' numbers."""
        return np.argsort(self.feature_numbers)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in {"_native", "_features"}}

    def renamed(self, names: NDArray[np.int32]) -> TrainedTree:
        """The same classifiers of labels with other numbers; see `LabelTree.renamed`."""
        return TrainedTree(self.tree.renamed(names), self.blocks, self.precision, self.feature_numbers, self.merge)

    def topk(
        self,
        rows: Sparse,
        k: int,
        options: SearchOptions,
        *,
        limits: Limits,
        n_threads: int,
        slack: float = 0.0,
        best_first: bool = True,
    ) -> tuple[TopK, SearchCosts]:
        """The best labels of rows. Best-first and level by level give the same answers; the former looks at less.

        With `slack`, best-first search also ends when the logarithm of the best score that is left exceeds that of the
        k-th answer by less.
        """
        ids, scores, costs = self._native.topk(
            rows, k, options, limits=limits, slack=slack, best_first=best_first, n_threads=n_threads
        )
        return TopK(ids, scores), costs

    def topk_of_few(self, rows: Any, k: int, slack: float, options: SearchOptions) -> TopK | None:
        """The same without what pays only for many rows: for a single one of scipy's, or for `_native.Rows`.

        None where rows need more care.
        """
        native = self._native
        if type(rows) is Rows:
            found = native.few_rows(rows, k, slack, options)
        else:
            try:
                found = native.one_row(rows.indptr, rows.indices, rows.data, self.n_features, k, slack, options)
            except TypeError:  # a part is no array at all; who looks closer says which
                return None
        return None if found is None else TopK(*found)

    def reached(self, rows: Sparse, options: SearchOptions, *, n_threads: int, first: int | None = None) -> Sparse:
        """The leaves that the beam of each row reaches, as rows × nodes; with `first`, also nodes from there on.

        Of the nodes that are reached none is opened, so that they need no classifiers.
        """
        first = self.tree.n_nodes if first is None else first
        indptr, nodes = self._native.reached(rows, options, first=first, n_threads=n_threads)
        return Sparse(indptr, nodes, np.ones(len(nodes), np.float32), self.tree.n_nodes)

    def slacks(self, rows: Sparse, k: int, options: SearchOptions, *, n_threads: int) -> Floats:
        """For each row the largest slack that leaves its answers as they are; infinite where any does."""
        return self._native.slacks(rows, k, options, n_threads=n_threads)

    def seconds(self, rows: Sparse, k: int, options: SearchOptions, *, best_first: bool = True) -> NDArray[np.float64]:
        """How long the search of each row takes, one after another: what it costs without what Python adds."""
        return self._native.seconds(rows, k, options, best_first=best_first)

    def block(self, node: int) -> tuple[Any, NDArray[np.float32]]:
        """The weights (features × siblings, sparse) and biases of a node's classifiers.

        Example:
            >>> import labelwood as lw
            >>> trained = lw.OneVsRest(bias=0).fit(np.eye(2), np.eye(2)).trees_[0]
            >>> trained.tree.labels  # the siblings in a leaf
            array([1, 0], dtype=int32)
            >>> trained.block(0)[0].toarray().round(1)
            array([[-0.7,  0.7],
                   [ 0.7, -0.7]], dtype=float32)
        """
        numbers, siblings, values = self._native.block(node)
        features = self._features[numbers]
        first, last = self.blocks.sibling_ptr[node : node + 2]
        shape = (self.n_features, int(last - first))
        return sparse.csr_array((values, (features, siblings)), shape=shape), self.blocks.biases[first:last]

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """All arrays by name, for the store."""
        return {**self.tree.arrays(), **self.blocks._asdict(), "feature_numbers": self.feature_numbers}

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        precision: Precision,
        n_features: int,
        n_labels: int,
        *,
        merge: Merge = "max",
        verify: bool,
    ) -> TrainedTree:
        """The reverse of `arrays`; with `verify`, every index is checked that native code relies on."""
        for name, dtype in _ARRAYS.items():
            if name not in arrays or arrays[name].dtype != dtype or arrays[name].ndim != 1:
                raise ModelError(f"the tree's array {name!r} is missing or of another type: save the model again")
        if len(arrays["feature_numbers"]) != n_features:
            raise ModelError(f"the tree has not one number for each of its {n_features} features: save the model again")
        try:
            tree = LabelTree.from_arrays(arrays, n_labels, verify=verify)
            blocks = Blocks(*(arrays[name] for name in Blocks._fields))
            trained = cls(tree, blocks, precision, arrays["feature_numbers"], merge)
            if verify:
                trained._native.check()
        except LabelwoodError as e:
            raise ModelError(str(e)) from None
        return trained
