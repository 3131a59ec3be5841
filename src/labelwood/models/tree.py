"""Trees of linear classifiers: the engine for large catalogues of labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray

from labelwood import _native
from labelwood.base import Features, Model, Threads, TopK
from labelwood.errors import LabelwoodError, ModelError
from labelwood.inputs import Sparse, from_dense, thread_count
from labelwood.labels.representations import label_vectors, members_of
from labelwood.trees import LabelTree

if TYPE_CHECKING:
    from labelwood.store import State

Positive: TypeAlias = Annotated[float, Gt(0)]
_LINKS = {"l3-hinge": 0, "sigmoid": 1}
# The arrays of native/blocks.h, in the order native code takes them.
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
}
_TREE = {"child_ptr": np.int32, "label_ptr": np.int64, "labels": np.int32}


class TreeClassifier(Model):
    """A label tree with a linear classifier for every child of a node and every label of a leaf.

    A row goes down the tree: the classifiers of a node score its children together, and those of a leaf its labels. A
    label's score is the product of the transformed scores on the way to it. Only the `beam` best nodes of each depth
    are opened, and the search ends as soon as nothing left can be among the first k; the answers are those of beam
    search level by level. Each classifier is trained on the rows that have a label below its node.

    Wide, shallow trees (large `arity` and `max_leaf`) are more accurate and take longer to train.

    Parameters:
        arity: Children of a node.
        max_leaf: A node with so many labels or fewer is a leaf.
        beam: Nodes opened at each depth; None opens all that can matter, which is exact.
        cost: How much errors on training rows weigh against small weights (C).
        positive_weight: How much more errors on positive rows weigh.
        bias: Value of one more feature that every row has; 0 for none.
        tolerance: Training of a classifier ends when no coordinate's gradient is further from zero.
        max_passes: Or when it has passed over its rows so often.
        threshold: Weights smaller than this are dropped.
        link: How a classifier's score becomes a factor between 0 and 1.
        seed: Same seed, same bytes.
        n_threads: How many threads to use; all cores if not given.

    Example:
        >>> import numpy as np
        >>> model = TreeClassifier(arity=2, max_leaf=1).fit(np.eye(4), np.eye(4))
        >>> model.tree_.depths.max(), model.predict_topk(np.eye(4), k=1).ids.ravel().tolist()
        (np.int32(2), [0, 1, 2, 3])
    """

    kind: ClassVar[str] = "tree"

    def __init__(
        self,
        *,
        arity: Annotated[int, Ge(2)] = 32,
        max_leaf: Annotated[int, Ge(1)] = 128,
        beam: Annotated[int, Ge(1)] | None = 10,
        cost: Positive = 1.0,
        positive_weight: Positive = 1.0,
        bias: Annotated[float, Ge(0)] = 1.0,
        tolerance: Positive = 0.1,
        max_passes: Annotated[int, Ge(1)] = 20,
        threshold: Annotated[float, Ge(0)] = 0.1,
        link: Literal["l3-hinge", "sigmoid"] = "l3-hinge",
        seed: Annotated[int, Ge(0)] = 0,
        n_threads: Threads = None,
    ) -> None:
        self.arity = arity
        self.max_leaf = max_leaf
        self.beam = beam
        self.cost = cost
        self.positive_weight = positive_weight
        self.bias = bias
        self.tolerance = tolerance
        self.max_passes = max_passes
        self.threshold = threshold
        self.link = link
        self.seed = seed
        self.n_threads = n_threads

    def _fit(self, X: Features, Y: Sparse) -> None:
        rows = X if isinstance(X, Sparse) else from_dense(X)
        threads = thread_count(self.n_threads)
        self.tree_ = self._build_tree(rows, Y, threads)
        blocks = _native.train_tree(
            *rows,
            *members_of(Y),
            Y.n_rows,
            tuple(self.tree_.arrays().values()),
            self.cost,
            self.positive_weight,
            self.bias,
            self.tolerance,
            self.max_passes,
            self.threshold,
            self.seed,
            threads,
        )
        self._set_blocks(blocks)

    def _build_tree(self, rows: Sparse, Y: Sparse, threads: int) -> LabelTree:
        vectors = label_vectors(rows, Y, threads)
        assert isinstance(vectors, Sparse)
        arrays = _native.balanced_tree(*vectors, self.arity, self.max_leaf, self.seed, threads)
        return LabelTree.from_arrays(arrays, Y.n_cols)

    def _set_blocks(self, blocks: tuple[NDArray[Any], ...]) -> None:
        self.blocks_ = dict(zip(_BLOCKS, blocks, strict=True))
        self._searcher = _native.TreeModel(tuple(self.tree_.arrays().values()), blocks, self.n_features_in_)

    def _topk(self, X: Features, k: int) -> TopK:
        rows = X if isinstance(X, Sparse) else from_dense(X)
        beam = 0 if self.beam is None else self.beam
        link = _LINKS[self.link]
        ids, scores, _, _ = self._searcher.topk(*rows, k, beam, link, True, thread_count(self.n_threads))
        return TopK(ids, scores)

    def _arrays(self) -> Mapping[str, NDArray[Any]]:
        return {**self.tree_.arrays(), **self.blocks_}

    def _restore(self, state: State) -> None:
        child_ptr, label_ptr, labels = (state.array(name, dtype, 1) for name, dtype in _TREE.items())
        try:
            self.tree_ = LabelTree(child_ptr, label_ptr, labels, self.n_labels_)
        except LabelwoodError as e:
            raise ModelError(str(e)) from None
        blocks = tuple(state.array(name, dtype, 1) for name, dtype in _BLOCKS.items())
        self._set_blocks(blocks)
        if state.verify:
            self._searcher.check()
