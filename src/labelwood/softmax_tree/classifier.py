"""Embeddings of features and a hierarchical softmax over a label tree: fast to train from text, small to keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, Unpack

import numpy as np
from annotated_types import Ge, Gt, Le
from numpy.typing import NDArray

from labelwood import _native
from labelwood.arrays.options import options_of
from labelwood.arrays.rows import Features, Floats, Sparse, as_labels, from_dense, from_scipy, unit_rows
from labelwood.arrays.threads import thread_count
from labelwood.arrays.topk import TopK, check_k
from labelwood.arrays.values import MOST
from labelwood.contract.bundles import Bundle
from labelwood.contract.examples import Examples
from labelwood.contract.feature_model import FeatureModel
from labelwood.contract.limits import NO_LIMITS, Limits
from labelwood.contract.params import Count, Seed, Threads
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.labels.order import Numbers, canonical, inverse, reordered
from labelwood.labels.representations import Members
from labelwood.progress import shown
from labelwood.softmax_tree.disentangling import ONCE, overlapping_clusters
from labelwood.softmax_tree.stored_rows import StoredRows
from labelwood.softmax_tree.trained import Scaling, TrainedSoftmax
from labelwood.trees import BUILDERS, LabelTree, huffman, with_single_leaves
from labelwood.trees.disentangling import without_places
from labelwood.trees.interpolated import Interpolated, InterpolatedFields
from labelwood.trees.making import TreeMaker, cluster_vectors, given_tree, without_given_tree

if TYPE_CHECKING:
    from labelwood.store import State

Arrangement: TypeAlias = Literal["huffman", "interpolated", "balanced", "random", "given"] | LabelTree | TreeMaker
Positive: TypeAlias = Annotated[float, Gt(0)]
# Rows, and features of theirs, that are embedded together before any is learned from. Precision does not depend on it
# up to several times as much; less would make threads wait for each other more often.
_BATCH = 128, 1 << 13
# Below so many operations on vectors a row and thread, threads wait for each other longer than they work.
_WORTH_A_THREAD = 150
_LANES = 8  # rows are filled up to a multiple of it for training


class SoftmaxTreeClassifier(FeatureModel):
    """A row is a weighted sum of its features' embeddings; at every node of a label tree, a softmax chooses the child.

    A label's score is the chance of the way to its leaf, so the scores of all labels sum to one. The search opens the
    likeliest nodes first and is exact unless `beam` is given. This is how fastText classifies, on any tree; the model
    of a seed is the same for any number of threads.

    Values of features weigh their embeddings. Features that no training row has are not embedded.

    Parameters:
        tree: How labels are arranged: by frequency alone ("huffman"), by likeness and frequency ("interpolated", or an
            `Interpolated`), by likeness alone ("balanced"), at random, as a `LabelTree` that is given, or as a function
            makes it: ``tree(vectors, Y, seed)`` with a vector for each label and rows × labels, both sparse. Leaves of
            more than one label are split. Of a label in several leaves each is learned, and the likeliest counts.
        loss: "softmax" along the tree, or "one-vs-rest": a sigmoid for every label and no tree, whose training and
            prediction take time for each label of the catalogue.
        targets: Whether a row's step is for all of its labels, or for one that is "drawn" at random each time. With
            several labels a row, "all" learns more in an epoch, "drawn" takes less time for it.
        scaling: Whether a row's values are first brought to unit length ("unit"), which suits short and long texts, or
            to sum to one ("mean"), as fastText has it: then long texts want larger learning rates.
        dim: Numbers of an embedding.
        epochs: How often every row is learned from.
        learning_rate: How far a step goes at the beginning; it falls to zero evenly. Steps that would overshoot are
            shortened, so that training does not run away.
        decay: How much each step shortens the vectors it moves, relative to the learning rate. Without it, more than a
            few epochs learn the training rows by heart.
        word_vectors: A text file of vectors (.vec) that features of the same name begin with, for texts.
        beam: Nodes opened at each depth; None opens all that can matter, which is exact.
        seed: Same seed, same bytes.
        verbose: Whether to show progress while training.
        n_threads: How many threads to use; all cores if not given.
        fields: Those of `Interpolated`, given by themselves: ``tree="interpolated", lam=1.5``.

    Fitted attribute: `trained_`, the tree, the embeddings and the vectors.

    Example:
        >>> model = SoftmaxTreeClassifier(dim=8, epochs=200).fit(np.eye(4), np.eye(4))
        >>> model.predict_topk(np.eye(4), k=1).ids.ravel().tolist()
        [0, 1, 2, 3]
    """

    kind: ClassVar[str] = "softmax-tree"
    machine_params: ClassVar[frozenset[str]] = frozenset({"n_threads", "verbose", "word_vectors"})
    search_params: ClassVar[frozenset[str]] = frozenset({"beam"})
    bundles: ClassVar[Mapping[str, type[Bundle]]] = {"tree": Interpolated}

    tree: Arrangement
    lam: float

    trained_: TrainedSoftmax

    def __init__(
        self,
        *,
        tree: Arrangement | Interpolated = "huffman",
        loss: Literal["softmax", "one-vs-rest"] = "softmax",
        targets: Literal["all", "drawn"] = "all",
        scaling: Scaling = "unit",
        dim: Annotated[int, Ge(1), Le(65536)] = 100,
        epochs: Count = 10,
        learning_rate: Positive = 1.0,
        decay: Annotated[float, Ge(0)] = 0.015,
        word_vectors: str | PathLike[str] | None = None,
        beam: Count | None = None,
        seed: Seed = 0,
        verbose: bool = False,
        n_threads: Threads = None,
        **fields: Unpack[InterpolatedFields],
    ) -> None:
        self._set_bundles(fields, tree=tree)
        self.loss = loss
        self.targets = targets
        self.scaling = scaling
        self.dim = dim
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.decay = decay
        self.word_vectors = word_vectors
        self.beam = beam
        self.seed = seed
        self.verbose = verbose
        self.n_threads = n_threads

    @property
    def uses(self) -> frozenset[str]:
        """Weights of rows, and what it needs."""
        return self.needs | {"row_weights"}

    @property
    def needs(self) -> frozenset[str]:
        """Names of features, where their vectors come from a file."""
        return frozenset() if self.word_vectors is None else frozenset({"feature_names"})

    def _fit(self, examples: Examples) -> None:
        X, Y, row_weights = examples.X, examples.Y, examples.row_weights
        rows = X if isinstance(X, Sparse) else from_dense(X)
        threads = thread_count(self.n_threads)
        names, Y, members = canonical(Y)
        tree = None if self.loss == "one-vs-rest" else self._label_tree(rows, Y, members, names, threads)
        n_vectors = Y.n_cols if tree is None else int(np.maximum(np.diff(tree.child_ptr) - 1, 0).sum())
        learned, targets = (None, Y) if tree is None else _with_own_labels(tree, Y)
        embeddings = self._first_embeddings(rows, examples.feature_names)
        vectors = np.zeros((n_vectors, embeddings.shape[1]), np.float32)
        batch = dict(zip(("batch_rows", "batch_entries"), _BATCH, strict=True))
        progress = _native.Progress()
        with shown(progress, "training", enabled=self.verbose):
            _native.train_softmax(
                rows=rows,
                labels=targets,
                tree=learned,
                options=options_of(_native.SoftmaxOptions, {**self.settled(), **batch}),
                row_weights=row_weights / row_weights.mean() if len(row_weights) else row_weights,
                embeddings=embeddings,
                vectors=vectors,
                n_threads=self._useful(threads, rows, Y, tree),
                progress=progress,
            )
        if tree is None:
            vectors = vectors[inverse(names)]
        parts = [StoredRows(plain=np.ascontiguousarray(array[:, : self.dim])) for array in (embeddings, vectors)]
        if not all(_native.all_finite(part.plain.reshape(-1)) for part in parts if part.plain is not None):
            raise LabelwoodError(f"training with learning_rate={self.learning_rate} ran away: give a smaller one")
        named = None if tree is None else tree.renamed(names)
        self.trained_ = TrainedSoftmax(named, parts[0], parts[1], rows.n_cols, Y.n_cols, self.scaling)

    def _useful(self, threads: int, rows: Sparse, Y: Sparse, tree: LabelTree | None) -> int:
        """So many threads have enough to do; the model is the same with any number."""
        steps = Y.n_rows if self.targets == "all" else max(len(Y.indices), 1)
        visits = Y.n_cols if tree is None else tree.label_depths[Y.indices].sum() / steps
        work = 2 * len(rows.indices) / rows.n_rows + 5 * visits
        return int(np.clip(work / max(_WORTH_A_THREAD, 1e-9), 1, threads))

    def _first_embeddings(self, rows: Sparse, names: Any) -> Floats:
        """Small random numbers, or the vectors that are given; zeros for features that no row has."""
        seen = np.flatnonzero(np.bincount(rows.indices, minlength=rows.n_cols))
        width = -(-self.dim // _LANES) * _LANES
        embeddings = np.zeros((rows.n_cols, width), np.float32)
        random = np.random.default_rng(self.seed).random((len(seen), self.dim), dtype=np.float32)
        embeddings[seen, : self.dim] = (2 * random - 1) / self.dim
        if self.word_vectors is not None:
            given, found = self._given_embeddings(rows.n_cols, names)
            embeddings[found, : self.dim] = given[found]
        return embeddings

    def _given_embeddings(self, n_features: int, names: Any) -> tuple[Floats, NDArray[np.bool_]]:
        from labelwood.text import word_vectors

        assert self.word_vectors is not None
        if len(names) != n_features:
            raise ParameterError(
                f"feature_names has {len(names)} names and there are {n_features} features: give one for each"
            )
        given, found = word_vectors(self.word_vectors, names)
        if given.shape[1] != self.dim:
            raise ParameterError(
                f"the word vectors have {given.shape[1]} numbers each and dim is {self.dim}: make them equal"
            )
        return given, found

    def _label_tree(self, rows: Sparse, Y: Sparse, members: Members, names: Numbers, threads: int) -> LabelTree:
        """A tree with one label a leaf; of labels in canonical order, but for trees that users give or make."""
        if self.tree == "huffman":
            return huffman(np.diff(members[0]))
        numbers = inverse(names)
        if isinstance(self.tree, LabelTree) or self.tree == "given":
            return with_single_leaves(given_tree(self.tree, Y.n_cols).renamed(numbers))
        vectors = cluster_vectors(unit_rows(_by_rarity(rows)), members, threads)
        if callable(self.tree):
            made = self.tree(vectors[numbers], reordered(Y, numbers).to_scipy(), self.seed)
            return with_single_leaves(given_tree(made, Y.n_cols).renamed(numbers))
        shared: dict[str, Any] = {"arity": 2, "max_leaf": 1, "seed": self.seed, "n_threads": threads}
        if self.tree == "interpolated":
            return Interpolated.of(self).build(vectors, Y.to_scipy(), **shared)
        return BUILDERS[self.tree](vectors, **shared)

    def _topk_of_few(self, rows: Any, k: Any) -> TopK | None:
        """Answers by the shortest way for `_native.Rows`; None where that does not lead there."""
        if type(rows) is not _native.Rows or type(k) is not int or not hasattr(self, "trained_"):
            return None
        if not 1 <= k <= self.n_labels_:
            return None
        return self.trained_.topk_of_few(rows, k, beam=self.settled()["beam"])

    def _topk(self, X: Features, k: int, limits: Limits) -> TopK:
        rows = X if isinstance(X, Sparse) else from_dense(X)
        now = self.settled()
        n_threads = thread_count(now["n_threads"])
        top, _ = self.trained_.topk(rows, k, beam=now["beam"], limits=limits, n_threads=n_threads)
        return top

    def embed(self, X: Any) -> Floats:
        """The embedding of each row, rows × `dim`: the weighted sum of its features' embeddings.

        Example:
            >>> SoftmaxTreeClassifier(dim=8).fit(np.eye(3), np.eye(3)).embed(np.eye(3)).shape
            (3, 8)
        """
        return self.trained_.embed(self.check_sparse(X), thread_count(self.n_threads))

    def search_costs(self, X: Any, k: int = 5) -> dict[str, float]:
        """What the search looks at, a row: nodes opened.

        Example:
            >>> SoftmaxTreeClassifier(dim=8, epochs=200).fit(np.eye(4), np.eye(4)).search_costs(np.eye(4), k=1)
            {'nodes': 2.0}
        """
        rows = self.check_sparse(X)
        k = min(check_k(k), self.n_labels_)
        _, opened = self.trained_.topk(
            rows, k, beam=self.beam, limits=NO_LIMITS, n_threads=thread_count(self.n_threads)
        )
        return {"nodes": opened / max(rows.n_rows, 1)}

    def disentangled(self, X: Any, Y: Any, *, copies: int = 2, **how: Any) -> SoftmaxTreeClassifier:
        """Another model whose labels lie in up to `copies` clusters of this one's tree; see `labelwood.disentangle`.

        Example:
            >>> model = SoftmaxTreeClassifier(dim=8).fit(np.eye(8), np.eye(8))
            >>> model.disentangled(np.eye(8), np.eye(8)).n_labels_
            8
        """
        rows = self.check_sparse(X)
        if self.trained_.tree is None:
            raise without_places(self)
        if not how.items() <= ONCE.items():
            raise ParameterError(
                "a softmax tree gets its copies at once and is trained anew: give copies and nothing else"
            )
        labels = as_labels(Y, rows.n_rows)
        tree = overlapping_clusters(self.trained_, rows, labels, copies, thread_count(self.n_threads))
        return type(self)(**{**self.get_params(deep=False), "tree": tree}).fit(X, Y)

    def compressed(self, *, max_features: int | None = None, part: int = 2) -> SoftmaxTreeClassifier:
        """A copy that takes a fraction of the memory and answers nearly the same.

        Of the embeddings, those of the `max_features` features stay that matter most; of them and of the vectors, every
        `part` numbers become one byte (product quantisation), where that makes them smaller.

        Example:
            >>> X = np.eye(400)
            >>> small = SoftmaxTreeClassifier(dim=16).fit(X, X).compressed()
            >>> small.trained_.embeddings.codes.shape
            (400, 8)
        """
        features = None if max_features is None else self.features_that_matter(max_features)
        return self._with(self.trained_.as_codes(part, self.seed, thread_count(self.n_threads), features))

    def restricted_to(self, features: NDArray[np.int32]) -> SoftmaxTreeClassifier:
        """A copy for rows that have the given features only, numbered anew.

        Example:
            >>> model = SoftmaxTreeClassifier(dim=8).fit(np.eye(3), np.eye(3))
            >>> model.restricted_to(np.array([0, 2], np.int32)).n_features_in_
            2
        """
        return self._with(self.trained_.restricted_to(features))

    def _with(self, trained: TrainedSoftmax) -> SoftmaxTreeClassifier:
        copy = type(self)(**self.get_params(deep=False))
        copy.n_features_in_, copy.learned_with_ = trained.n_features, self.learned_with_
        copy.n_labels_, copy.labels_per_row_ = self.n_labels_, self.labels_per_row_
        copy.trained_ = trained
        return copy

    def features_that_matter(self, n: int) -> NDArray[np.int32]:
        """The `n` features with the longest embeddings, ascending.

        Example:
            >>> model = SoftmaxTreeClassifier(dim=8, epochs=50).fit([[1.0, 0, 0], [0, 1, 0]], [[1, 0], [0, 1]])
            >>> model.features_that_matter(2)  # no row has the third
            array([0, 1], dtype=int32)
        """
        self.check_fitted()
        plain = self.trained_.plain_embeddings()
        if n < 1:
            raise ParameterError(f"{n} features are too few: keep at least one")
        longest = np.argsort(-np.einsum("ij,ij->i", plain, plain), kind="stable")[:n]
        return np.sort(longest).astype(np.int32)

    def state(self) -> State:
        """Everything the store needs; a tree that was given is kept with its vectors, not as a parameter."""
        return without_given_tree(super().state())

    def _arrays(self) -> Mapping[str, NDArray[Any]]:
        return self.trained_.arrays()

    def _restore(self, state: State) -> None:
        self.beam = None if self.beam is None else min(self.beam, MOST)  # no tree has more nodes
        sizes = (self.dim, self.n_features_in_, self.n_labels_)
        flat = self.loss == "one-vs-rest"
        self.trained_ = TrainedSoftmax.from_arrays(
            state.arrays, *sizes, scaling=self.scaling, flat=flat, verify=state.verify
        )


def _with_own_labels(tree: LabelTree, Y: Sparse) -> tuple[LabelTree, Sparse]:
    """A tree of several leaves for some labels as one where each leaf has a label of its own; rows have all of them."""
    if len(tree.labels) == tree.n_labels:
        return tree, Y
    n_leaves = len(tree.labels)
    own = replace(tree, labels=np.arange(n_leaves, dtype=np.int32), n_labels=n_leaves, verify=False)
    return own, from_scipy(Y.to_scipy()[:, tree.labels])


def _by_rarity(rows: Sparse) -> Sparse:
    """Rows whose features weigh the more the fewer rows have them: frequent ones say little about a label."""
    n_rows = np.bincount(rows.indices, minlength=rows.n_cols)
    weights = np.log((1 + rows.n_rows) / (1 + n_rows)).astype(np.float32)
    return rows._replace(values=rows.values * weights[rows.indices])
