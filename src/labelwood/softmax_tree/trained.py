"""A softmax tree as it is searched, saved and mapped: embeddings of features, and vectors of nodes or labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood import _native
from labelwood.arrays.rows import Floats, Sparse
from labelwood.arrays.topk import TopK
from labelwood.contract.limits import Limits
from labelwood.errors import LabelwoodError, ModelError, ParameterError
from labelwood.trees.tree import LabelTree


@dataclass(frozen=True)
class Matrix:
    """Rows of numbers: plain, or as codes of their parts (product quantisation).

    Example:
        >>> rows = np.random.default_rng(0).normal(size=(1000, 8)).astype(np.float32)
        >>> small = Matrix(plain=rows).as_codes(part=2, seed=0, n_threads=1)
        >>> small.codes.shape, small.codes.dtype
        ((1000, 4), dtype('uint8'))
    """

    plain: Floats | None = None
    codes: NDArray[np.uint8] | None = None  # rows × parts: which of 256 centers each part is near to
    centers: Floats | None = None  # parts × 256 × numbers of a part
    scales: Floats | None = None  # of each row
    width: int = 0  # with codes: numbers of a row

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        rows = self.plain if self.codes is None else self.codes
        return 0 if rows is None else len(rows)

    def as_codes(self, *, part: int, seed: int, n_threads: int) -> Matrix:
        """The same rows, nearly, with a byte for each `part` numbers; few rows stay plain if codes would take more."""
        plain = self.plain_rows()
        if part < 1:
            raise ParameterError(f"part is {part}: a byte must stand for one number at least")
        codes, centers, scales = _native.product_codes(plain, min(part, plain.shape[1]), seed, n_threads)
        if codes.nbytes + centers.nbytes + scales.nbytes >= plain.nbytes:
            return self
        return Matrix(codes=codes, centers=centers, scales=scales, width=plain.shape[1])

    def plain_rows(self) -> Floats:
        """The rows, where they are plain."""
        if self.plain is None:
            raise LabelwoodError("the model is compressed already: compress the one it was made from")
        return self.plain

    def native(self) -> tuple[Any, ...]:
        """The arrays as native code takes them."""
        return (self.plain,) if self.codes is None else (self.codes, self.centers, self.scales, self.width)

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """The arrays for the store, each under its own name that begins with `name`."""
        if self.codes is None:
            assert self.plain is not None
            return {name: self.plain}
        assert self.centers is not None and self.scales is not None
        return {f"{name}.codes": self.codes, f"{name}.centers": self.centers, f"{name}.scales": self.scales}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str, width: int, *, verify: bool) -> Matrix:
        """The reverse of `arrays`."""
        if name in arrays:
            matrix = cls(plain=_checked(arrays, name, np.float32, 2))
            found = [matrix.plain]
        else:
            codes = _checked(arrays, f"{name}.codes", np.uint8, 2)
            centers = _checked(arrays, f"{name}.centers", np.float32, 3)
            scales = _checked(arrays, f"{name}.scales", np.float32, 1)
            matrix = cls(codes=codes, centers=centers, scales=scales, width=width)
            found = [centers, scales]
        if verify and not all(_native.all_finite(array.reshape(-1)) for array in found if array is not None):
            raise ModelError(f"the model's {name} are not all finite numbers: save it again")
        return matrix


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
    embeddings: Matrix
    vectors: Matrix
    n_features: int
    n_labels: int
    unit: bool  # whether weights of a row's features have unit length, or sum to one
    kept: NDArray[np.int32] | None = None  # the features that have embeddings, ascending; None: all

    @cached_property
    def _native(self) -> Any:
        tree = None if self.tree is None else tuple(self.tree.arrays().values())
        return _native.SoftmaxTree(
            tree, self.embeddings.native(), self.vectors.native(), self.kept, self.unit, self.n_features, self.n_labels
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_native"}

    def topk(
        self, rows: Sparse, k: int, *, beam: int | None, limits: Limits, n_threads: int, best_first: bool = True
    ) -> tuple[TopK, int]:
        """The best labels of rows, and how many nodes were opened. The order of opening does not change answers."""
        how = (k, beam or 0, best_first, max(0.0, limits.min_score), limits.allowed, n_threads)
        ids, scores, opened = self._native.topk(*rows, *how)
        return TopK(ids, scores), opened

    def topk_of_few(self, rows: Any, k: int, *, beam: int | None) -> TopK | None:
        """The same for `_native.Rows`, without what pays only for many; None where they need more care."""
        found = self._native.few_rows(rows, k, beam or 0)
        return None if found is None else TopK(*found)

    def embed(self, rows: Sparse, n_threads: int) -> Floats:
        """The mean embedding of each row's features."""
        means: Floats = self._native.embed(*rows, n_threads)
        return means

    def restricted_to(self, features: NDArray[np.int32]) -> TrainedSoftmax:
        """The same for rows that have the given features only, numbered anew."""
        plain = self.embeddings.plain_rows()
        return replace(
            self, embeddings=Matrix(plain=np.ascontiguousarray(plain[features])), n_features=len(features), kept=None
        )

    def as_codes(self, part: int, seed: int, n_threads: int, kept: NDArray[np.int32] | None) -> TrainedSoftmax:
        """The same with codes instead of numbers, and with the embeddings of the features to be kept only."""
        embeddings = self.embeddings
        if kept is not None:
            embeddings = Matrix(plain=np.ascontiguousarray(embeddings.plain_rows()[kept]))
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
        unit: bool,
        flat: bool,
        verify: bool,
    ) -> TrainedSoftmax:
        """The reverse of `arrays`; with `verify`, every index is checked that native code relies on."""
        try:
            parts = [Matrix.from_arrays(arrays, name, width, verify=verify) for name in ("embeddings", "vectors")]
            kept = _checked(arrays, "kept", np.int32, 1) if "kept" in arrays else None
            tree = None if flat else _tree_of(arrays, n_labels, verify=verify)
            trained = cls(tree, parts[0], parts[1], n_features, n_labels, unit, kept)
            _ = trained._native  # checks that all sizes fit each other
        except ModelError:
            raise
        except LabelwoodError as e:
            raise ModelError(f"{e}: save the model again") from None
        return trained


def _tree_of(arrays: Mapping[str, NDArray[Any]], n_labels: int, *, verify: bool) -> LabelTree:
    child_ptr, labels = (_checked(arrays, name, np.int32, 1) for name in ("child_ptr", "labels"))
    label_ptr = np.concatenate([[0], np.cumsum(np.diff(child_ptr) == 0)]).astype(np.int64)
    label_ptr = arrays.get("label_ptr", label_ptr)  # models of earlier versions have it
    tree = LabelTree.from_arrays((child_ptr, label_ptr, labels), n_labels, verify=verify)
    if verify and (tree.leaf_sizes != 1).any():
        raise ModelError("the model's tree has not one label a leaf: save it again")
    return tree


def _checked(arrays: Mapping[str, NDArray[Any]], name: str, dtype: Any, ndim: int) -> NDArray[Any]:
    array = arrays.get(name)
    if array is None or array.dtype != dtype or array.ndim != ndim:
        raise ModelError(f"the model's array {name!r} is missing or of another type: save the model again")
    return array
