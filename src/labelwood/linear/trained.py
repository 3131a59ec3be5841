"""A label tree with its classifiers, as it is searched, saved and mapped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood import _native
from labelwood._native import Rows
from labelwood.arrays.rows import Floats, Sparse
from labelwood.arrays.topk import TopK
from labelwood.contract.limits import Limits
from labelwood.errors import LabelwoodError, ModelError
from labelwood.linear.blocks import DTYPES, Blocks
from labelwood.trees.copies import Merge
from labelwood.trees.tree import LabelTree

Link: TypeAlias = Literal["l3-hinge", "sigmoid"]
Precision: TypeAlias = Literal["float32", "float16", "int8"]

LINKS: dict[str, int] = {"l3-hinge": 0, "sigmoid": 1}
STORED: dict[str, int] = {"float32": 0, "float16": 1, "int8": 2}
MOST = 2**31 - 1  # nodes of a tree: native code counts them in 32 bits
_TREE: dict[str, Any] = {"child_ptr": np.int32, "label_ptr": np.int64, "labels": np.int32}
_ARRAYS = {**_TREE, **DTYPES, "feature_numbers": np.int32}


class Looks(NamedTuple):
    """How much a search looked at, summed over rows."""

    nodes: int  # opened that have children
    leaves: int  # opened
    children: int  # scored
    labels: int  # scored
    bytes: int  # of weights that a row's features met


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
        precision: str,
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
    def _native(self) -> Any:
        shape = tuple(self.tree.arrays().values())
        blocks = (*self.blocks, self.feature_numbers)
        sizes = (self.n_features, self.tree.n_labels)
        return _native.TreeModel(shape, blocks, STORED[self.precision], *sizes, self.merge == "mean")

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
        how = (k, beam or 0, LINKS[link], path_weight, best_first, lowest, unit_rows, limits.allowed, slack)
        ids, scores, looks = self._native.topk(*rows, *how, n_threads)
        return TopK(ids, scores), Looks(*looks)

    def topk_of_few(self, rows: Any, k: int, slack: float, options: tuple[Any, ...]) -> TopK | None:
        """The same without what pays only for many rows: for a single one of scipy's, or for `_native.Rows`.

        `options` are those of `options_for_few`. None where rows need more care.
        """
        native = self._native
        if type(rows) is Rows:
            found = native.few_rows(rows, k, *options, slack)
        else:
            try:
                found = native.one_row(rows.indptr, rows.indices, rows.data, self.n_features, k, *options, slack)
            except TypeError:  # a part is no array at all; who looks closer says which
                return None
        return None if found is None else TopK(*found)

    def reached(
        self, rows: Sparse, *, beam: int, link: str, n_threads: int, path_weight: float = 1.0, first: int | None = None
    ) -> Sparse:
        """The leaves that the beam of each row reaches, as rows × nodes; with `first`, also nodes from there on.

        Of the nodes that are reached none is opened, so that they need no classifiers.
        """
        how = (beam, LINKS[link], path_weight, False, self.tree.n_nodes if first is None else first, n_threads)
        indptr, nodes = self._native.reached(*rows, *how)
        return Sparse(indptr, nodes, np.ones(len(nodes), np.float32), self.tree.n_nodes)

    def slacks(
        self, rows: Sparse, k: int, *, beam: int | None, link: str, path_weight: float, unit_rows: bool, n_threads: int
    ) -> Floats:
        """For each row the largest slack that leaves its answers as they are; infinite where any does."""
        found: Floats = self._native.slacks(*rows, k, beam or 0, LINKS[link], path_weight, unit_rows, n_threads)
        return found

    def seconds(
        self,
        rows: Sparse,
        k: int,
        *,
        beam: int | None,
        link: str,
        path_weight: float,
        unit_rows: bool,
        best_first: bool = True,
    ) -> NDArray[np.float64]:
        """How long the search of each row takes, one after another: what it costs without what Python adds."""
        how = (k, beam or 0, LINKS[link], path_weight, unit_rows, best_first)
        found: NDArray[np.float64] = self._native.seconds(*rows, *how)
        return found

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
        blocks = dict(zip(DTYPES, self.blocks, strict=True))
        features = self._features[numbers]
        first, last = blocks["sibling_ptr"][node : node + 2]
        shape = (self.n_features, int(last - first))
        return sparse.csr_array((values, (features, siblings)), shape=shape), blocks["biases"][first:last]

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """All arrays by name, for the store."""
        return {
            **self.tree.arrays(),
            **dict(zip(DTYPES, self.blocks, strict=True)),
            "feature_numbers": self.feature_numbers,
        }

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        precision: str,
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
            tree = LabelTree.from_arrays(tuple(arrays[name] for name in _TREE), n_labels, verify=verify)
            trained = cls(tree, tuple(arrays[name] for name in DTYPES), precision, arrays["feature_numbers"], merge)
            if verify:
                trained._native.check()
        except LabelwoodError as e:
            raise ModelError(str(e)) from None
        return trained


def options_for_few(*, beam: int | None, link: str, path_weight: float, unit_rows: bool) -> tuple[Any, ...]:
    """Options of a search as `TrainedTree.topk_of_few` takes them, so that they are made once for many rows.

    Example:
        >>> options_for_few(beam=None, link="sigmoid", path_weight=1.0, unit_rows=True)
        (0, 1, 1.0, True)
    """
    return beam or 0, LINKS[link], path_weight, unit_rows
