"""A softmax tree as it is searched, saved and mapped: embeddings of features, and vectors of nodes or labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from labelwood import _native
from labelwood.arrays.rows import Floats, Sparse
from labelwood.arrays.topk import TopK
from labelwood.contract.limits import Limits
from labelwood.errors import LabelwoodError, ModelError
from labelwood.softmax_tree.stored_rows import StoredRows, checked
from labelwood.trees.tree import LabelTree

Scaling: TypeAlias = Literal["unit", "mean"]


@dataclass(frozen=True)
class TrainedSoftmax:
    """What a `SoftmaxTreeClassifier` has learned.

    Example:
        >>> import labelwood as lw
        >>> model = lw.SoftmaxTreeClassifier(dim=8).fit(np.eye(4), np.eye(4))
        >>> model.trained_.embeddings.plain.shape, model.trained_.vectors.plain.shape
        ((4, 8), (3, 8))
    """

    tree: LabelTree | None  # None: a sigmoid for every label
    embeddings: StoredRows
    vectors: StoredRows
    n_features: int
    n_labels: int
    scaling: Scaling  # whether weights of a row's features have unit length, or sum to one
    kept: NDArray[np.int32] | None = None  # the features that have embeddings, ascending; None: all

    @cached_property
    def _native(self) -> _native.SoftmaxTree:
        return _native.SoftmaxTree(
            tree=self.tree,
            embeddings=self.embeddings,
            vectors=self.vectors,
            kept=self.kept,
            scaling=self.scaling,
            n_features=self.n_features,
            n_labels=self.n_labels,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_native"}

    def topk(
        self, rows: Sparse, k: int, *, beam: int | None, limits: Limits, n_threads: int, best_first: bool = True
    ) -> tuple[TopK, int]:
        """The best labels of rows, and how many nodes were opened. The order of opening does not change answers."""
        ids, scores, opened = self._native.topk(
            rows, k, beam, limits=limits, best_first=best_first, n_threads=n_threads
        )
        return TopK(ids, scores), opened

    def topk_of_few(self, rows: Any, k: int, *, beam: int | None) -> TopK | None:
        """The same for `_native.Rows`, without what pays only for many; None where they need more care."""
        found = self._native.few_rows(rows, k, beam)
        return None if found is None else TopK(*found)

    def embed(self, rows: Sparse, n_threads: int) -> Floats:
        """The embedding of each row: the weighted sum of its features' embeddings."""
        return self._native.embed(rows, n_threads)

    def plain_embeddings(self) -> Floats:
        """A row for each feature; raises for a model that has forgotten some."""
        if self.kept is not None:
            raise LabelwoodError("the model is compressed already: compress the one it was made from")
        return self.embeddings.plain_rows()

    def restricted_to(self, features: NDArray[np.int32]) -> TrainedSoftmax:
        """The same for rows that have the given features only, numbered anew."""
        rows = StoredRows(plain=np.ascontiguousarray(self.plain_embeddings()[features]))
        return replace(self, embeddings=rows, n_features=len(features), kept=None)

    def as_codes(self, part: int, seed: int, n_threads: int, kept: NDArray[np.int32] | None) -> TrainedSoftmax:
        """The same with codes instead of numbers, and with the embeddings of the features to be kept only."""
        embeddings = self.embeddings
        if kept is not None:
            embeddings = StoredRows(plain=np.ascontiguousarray(self.plain_embeddings()[kept]))
        small = [m.as_codes(part=part, seed=seed, n_threads=n_threads) for m in (embeddings, self.vectors)]
        return replace(self, embeddings=small[0], vectors=small[1], kept=kept)

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """All arrays by name, for the store."""
        arrays = {**self.embeddings.arrays("embeddings"), **self.vectors.arrays("vectors")}
        if self.tree is not None:  # with one label a leaf, which tells where labels begin
            arrays |= {name: array for name, array in self.tree.arrays().items() if name != "label_ptr"}
        return arrays if self.kept is None else {**arrays, "kept": self.kept}

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        width: int,
        n_features: int,
        n_labels: int,
        *,
        scaling: Scaling,
        flat: bool,
        verify: bool,
    ) -> TrainedSoftmax:
        """The reverse of `arrays`; with `verify`, every index is checked that native code relies on."""
        try:
            parts = [StoredRows.from_arrays(arrays, name, width, verify=verify) for name in ("embeddings", "vectors")]
            kept = checked(arrays, "kept", np.int32, 1) if "kept" in arrays else None
            tree = None if flat else _tree_of(arrays, n_labels, verify=verify)
            trained = cls(tree, parts[0], parts[1], n_features, n_labels, scaling, kept)
            _ = trained._native  # checks that all sizes fit each other
        except ModelError:
            raise
        except LabelwoodError as e:
            raise ModelError(f"{e}: save the model again") from None
        return trained


def _tree_of(arrays: Mapping[str, NDArray[Any]], n_labels: int, *, verify: bool) -> LabelTree:
    child_ptr, labels = (checked(arrays, name, np.int32, 1) for name in ("child_ptr", "labels"))
    label_ptr = np.concatenate([[0], np.cumsum(np.diff(child_ptr) == 0)]).astype(np.int64)
    label_ptr = arrays.get("label_ptr", label_ptr)  # models of earlier versions have it
    tree = LabelTree(child_ptr, label_ptr, labels, n_labels, verify)
    if verify and (tree.leaf_sizes != 1).any():
        raise ModelError("the model's tree has not one label a leaf: save it again")
    return tree
