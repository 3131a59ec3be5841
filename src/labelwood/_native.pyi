from collections.abc import Sequence
from typing import Annotated, Any, Literal, overload

import numpy
from numpy.typing import NDArray


from labelwood.arrays.rows import Pattern, Sparse
from labelwood.arrays.topk import TopK
from labelwood.contract.limits import Limits
from labelwood.groups.grouped import GroupedLabels
from labelwood.linear.blocks import Blocks
from labelwood.softmax_tree.stored_rows import StoredRows
from labelwood.text.documents import ArrowTexts
from labelwood.text.native import Analysis, Terms, Weighing
from labelwood.trees.tree import LabelTree

def simd_level() -> str:
    """The SIMD level chosen for this processor."""

class Rows:
    """Sound rows of features on their way from a vectorizer to a model."""

    def arrays(self) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))], int]:
        """Copies of their arrays, and the number of columns."""

def check_csr(matrix: Sparse) -> None:
    """Raises unless a sparse matrix is sound."""

def all_finite(values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> bool:
    """Whether no value is NaN or infinite."""

@overload
def check_compressed(indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_values: int, n_runs: int, n_places: int) -> bool:
    """
    Raises unless runs of places are sound, with so many places in each. Whether places ascend in each run.
    """

@overload
def check_compressed(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_values: int, n_runs: int, n_places: int) -> bool:
    """The same with wide integers."""

def rows_ascend(indptr: object, indices: object, values: object, n_rows: int, n_cols: int, finite: bool) -> bool | None:
    """
    The same for the arrays of rows with float32 values. None where they have other types, or, if that is asked, a value is not finite.
    """

def unit_values(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], tolerance: float) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))] | None:
    """The values of sparse rows brought to unit length, or None if they are."""

def read_sparse_text(text: bytes, labels: bool, svmlight: bool, n_labels: int, n_features: int, n_threads: int) -> tuple[tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]], int, tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]], int]:
    """
    Rows of the field's text format: (labels, label columns, features, feature columns).
    """

def write_sparse_text(labels: Pattern | Sparse, rows: Sparse, n_threads: int) -> bytes:
    """The reverse; without label rows, lines hold features only."""

def csv_rows_end(text: bytes, delimiter: str) -> int:
    """The end of the last whole row of CSV; 0 where none ends."""

def part_marked_lines(text: bytes, prefix: bytes) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
    """
    Of lines of words those without the prefix, as strings' bytes and offsets, and those with it, and ends of lines.
    """

def places(term: bytes) -> tuple[int, int, int]:
    """
    What leads a term of over 16 bytes to its places in tables; other processes have others.
    """

def pick_terms(terms: Terms, ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
    """The chosen terms as (bytes, offsets)."""

def check_vocabulary(terms: Terms) -> None:
    """Raises unless the arrays are a sound vocabulary."""

def number_strings(offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
    """
    A number for each string in order of first occurrence, and where the string of each number occurs first.
    """

def mentions(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], part: str) -> bool:
    """Whether bytes contain a part."""

def count_terms(texts: list[str] | ArrowTexts, analysis: Analysis, with_matrix: bool, n_threads: int) -> tuple[tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]]:
    """
    Terms as (bytes, offsets), in how many texts, how often, and the counts.
    """

def count_buckets(texts: list[str] | ArrowTexts, analysis: Analysis, n_buckets: int, n_threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
    """The counts of hashed terms as CSR arrays."""

def weigh_counts(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], *, columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_cols: int, weighing: Weighing, n_threads: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))] | Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]]:
    """Counts, with columns renumbered or left out, as tf-idf in CSR arrays."""

class Vectorizer:
    """A fitted vectorizer."""

    def __init__(self, *, analysis: Analysis, terms: Terms | None, weighing: Weighing, n_cols: int) -> None: ...

    def transform(self, texts: list[str] | ArrowTexts, n_threads: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))] | Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]]:
        """Texts as tf-idf in CSR arrays."""

    def transform_plain(self, texts: object, n_threads: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))] | Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]] | None:
        """The same for a list; None unless it holds nothing but plain strings."""

    def rows(self, texts: object, n_cols: int) -> Rows | None:
        """The same as `Rows` of a model."""

def balanced_tree(vectors: Sparse, *, arity: int, max_leaf: int, seed: int, n_threads: int) -> dict[str, Any]:
    """
    A label tree by balanced spherical 2-means: the arrays of a `LabelTree` by name.
    """

def interpolated_tree(vectors: Sparse, *, frequency: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], covering: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lam: float, smoothing: float, midpoint: bool, arity: int, max_leaf: int, seed: int, n_threads: int) -> dict[str, Any]:
    """The same by halves between likeness and frequency."""

def kmeans_tree(vectors: Sparse, *, arity: int, max_leaf: int, min_size: int, max_depth: int, seed: int, n_threads: int) -> dict[str, Any]:
    """The same by spherical k-means with clusters of any size."""

def label_places(*, members: Pattern | Sparse, reached: Pattern | Sparse, own: Pattern | Sparse, copies: int, room: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
    """
    The leaves that the rows of each label reach, and how many rows reach each.
    """

class Progress:
    """How far a training is; may be read while it runs."""

    def __init__(self) -> None: ...

    @property
    def done(self) -> int: ...

    @property
    def total(self) -> int: ...

class TrainingOptions:
    """How the classifiers of a tree are trained."""

    def __init__(self) -> None: ...

    @property
    def loss(self) -> Literal['squared-hinge', 'logistic']: ...

    @loss.setter
    def loss(self, arg: Literal['squared-hinge', 'logistic'], /) -> None: ...

    @property
    def cost(self) -> float: ...

    @cost.setter
    def cost(self, arg: float, /) -> None: ...

    @property
    def positive_weight(self) -> float: ...

    @positive_weight.setter
    def positive_weight(self, arg: float, /) -> None: ...

    @property
    def bias(self) -> float: ...

    @bias.setter
    def bias(self, arg: float, /) -> None: ...

    @property
    def tolerance(self) -> float: ...

    @tolerance.setter
    def tolerance(self, arg: float, /) -> None: ...

    @property
    def max_passes(self) -> int: ...

    @max_passes.setter
    def max_passes(self, arg: int, /) -> None: ...

    @property
    def threshold(self) -> float: ...

    @threshold.setter
    def threshold(self, arg: float, /) -> None: ...

    @property
    def max_weights(self) -> int | None: ...

    @max_weights.setter
    def max_weights(self, value: int | None) -> None: ...

    @property
    def precision(self) -> Literal['float32', 'float16', 'int8']: ...

    @precision.setter
    def precision(self, arg: Literal['float32', 'float16', 'int8'], /) -> None: ...

    @property
    def seed(self) -> int: ...

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

def train_tree(*, rows: Sparse, members: Pattern | Sparse, tree: LabelTree, options: TrainingOptions, feature_numbers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], row_weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], nodes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], rows_with_labels: bool, sent: Pattern | Sparse | None, n_threads: int, progress: Progress) -> dict[str, Any]:
    """
    The classifiers of some nodes of a tree: the arrays of blocks.h by name.
    """

class SearchOptions:
    """How a tree is searched."""

    def __init__(self) -> None: ...

    @property
    def beam(self) -> int | None: ...

    @beam.setter
    def beam(self, value: int | None) -> None: ...

    @property
    def link(self) -> Literal['l3-hinge', 'sigmoid']: ...

    @link.setter
    def link(self, arg: Literal['l3-hinge', 'sigmoid'], /) -> None: ...

    @property
    def path_weight(self) -> float: ...

    @path_weight.setter
    def path_weight(self, arg: float, /) -> None: ...

    @property
    def normalize(self) -> bool: ...

    @normalize.setter
    def normalize(self, arg: bool, /) -> None: ...

class SearchCosts:
    """How much a search looked at, summed over rows."""

    @property
    def nodes(self) -> int:
        """opened that have children"""

    @property
    def leaves(self) -> int:
        """opened"""

    @property
    def children(self) -> int:
        """scored"""

    @property
    def labels(self) -> int:
        """scored"""

    @property
    def bytes(self) -> int:
        """of weights that a row's features met"""

class TreeModel:
    """A tree with its classifiers, ready to be searched."""

    def __init__(self, *, tree: LabelTree, blocks: Blocks, feature_numbers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], precision: Literal['float32', 'float16', 'int8'], n_labels: int, mean_of_copies: bool) -> None: ...

    def check(self) -> None:
        """Raises unless the arrays are sound."""

    def block(self, node: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]]:
        """The weights of a node: numbers of features, siblings and values."""

    def topk(self, rows: Sparse, k: int, options: SearchOptions, *, limits: Limits, slack: float, best_first: bool, n_threads: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None))], Annotated[NDArray[numpy.float32], dict(shape=(None, None))], SearchCosts]:
        """Ids, scores, and what was looked at."""

    def few_rows(self, rows: Rows, k: int, slack: float, options: SearchOptions) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None))], Annotated[NDArray[numpy.float32], dict(shape=(None, None))]] | None:
        """Ids and scores for `Rows`, or None if they have other features."""

    def one_row(self, indptr: object, indices: object, values: object, n_cols: int, k: int, slack: float, options: SearchOptions) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None))], Annotated[NDArray[numpy.float32], dict(shape=(None, None))]] | None:
        """
        Ids and scores for a single row of scipy's, or None if it needs more care.
        """

    def reached(self, rows: Sparse, options: SearchOptions, *, first: int, n_threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """
        Nodes that the beam of each row reaches: leaves, and those from one on.
        """

    def seconds(self, rows: Sparse, k: int, options: SearchOptions, *, best_first: bool) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """Seconds that each row's search takes."""

    def slacks(self, rows: Sparse, k: int, options: SearchOptions, *, n_threads: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """For each row the largest slack that leaves its answers as they are."""

class SoftmaxOptions:
    """How a softmax tree is trained."""

    def __init__(self) -> None: ...

    @property
    def epochs(self) -> int: ...

    @epochs.setter
    def epochs(self, arg: int, /) -> None: ...

    @property
    def learning_rate(self) -> float: ...

    @learning_rate.setter
    def learning_rate(self, arg: float, /) -> None: ...

    @property
    def targets(self) -> Literal['all', 'drawn']: ...

    @targets.setter
    def targets(self, arg: Literal['all', 'drawn'], /) -> None: ...

    @property
    def decay(self) -> float: ...

    @decay.setter
    def decay(self, arg: float, /) -> None: ...

    @property
    def scaling(self) -> Literal['mean', 'unit']: ...

    @scaling.setter
    def scaling(self, arg: Literal['mean', 'unit'], /) -> None: ...

    @property
    def batch_rows(self) -> int: ...

    @batch_rows.setter
    def batch_rows(self, arg: int, /) -> None: ...

    @property
    def batch_entries(self) -> int: ...

    @batch_entries.setter
    def batch_entries(self, arg: int, /) -> None: ...

    @property
    def seed(self) -> int: ...

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

def train_softmax(*, rows: Sparse, labels: Pattern | Sparse, tree: LabelTree | None | None, options: SoftmaxOptions, row_weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], embeddings: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], vectors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], n_threads: int, progress: Progress) -> None:
    """
    Learns embeddings of features and vectors of nodes, or without a tree of labels, in place.
    """

def product_codes(rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], part: int, seed: int, n_threads: int) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None, None))], Annotated[NDArray[numpy.float32], dict(shape=(None, None, None))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]]:
    """Codes, centers and scales of the rows of a matrix."""

class SoftmaxTree:
    """A softmax tree, or a sigmoid for every label, ready to be searched."""

    def __init__(self, *, tree: LabelTree | None, embeddings: StoredRows, vectors: StoredRows, kept: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, scaling: Literal['mean', 'unit'], n_features: int, n_labels: int) -> None: ...

    def embed(self, rows: Sparse, n_threads: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]:
        """The mean embedding of each row's features."""

    def few_rows(self, rows: Rows, k: int, beam: int | None) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None))], Annotated[NDArray[numpy.float32], dict(shape=(None, None))]] | None:
        """Ids and scores for `Rows`, or None if they have other features."""

    def topk(self, rows: Sparse, k: int, beam: int | None, *, limits: Limits, best_first: bool, n_threads: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None))], Annotated[NDArray[numpy.float32], dict(shape=(None, None))], int]:
        """Ids, scores, and how many nodes were opened."""

def sparse_centroids(rows: Sparse, members: Pattern | Sparse, max_features: int, n_threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]]:
    """Unit-length sums of each label's rows: labels × features, sparse."""

def dense_centroids(rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], members: Pattern | Sparse, n_threads: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]:
    """The same for dense rows."""

def sparse_centroid_topk(rows: Sparse, weights: Sparse, k: int, limits: Limits, n_threads: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None))], Annotated[NDArray[numpy.float32], dict(shape=(None, None))]]:
    """Ids and scores of the labels whose centroids fit each row best."""

def dense_centroid_topk(rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], k: int, limits: Limits, n_threads: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None))], Annotated[NDArray[numpy.float32], dict(shape=(None, None))]]:
    """The same for dense rows."""

def dense_product(rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], matrix: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_threads: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]:
    """Rows × a matrix; a row's numbers are the same whatever its company."""

def mean_of(answers: Sequence[TopK], k: int, tier: int, n_threads: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None))], Annotated[NDArray[numpy.float32], dict(shape=(None, None))]]:
    """The best labels by the mean of several models' answers."""

class PrototypeIndex:
    """The nearest of many prototypes."""

    def __init__(self, prototypes: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], clusters: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_threads: int) -> None: ...

    def topk(self, queries: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], k: int, limits: Limits, *, probes: int, needed: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None))], Annotated[NDArray[numpy.float32], dict(shape=(None, None))]]:
        """
        What dense_centroid_topk finds, in less time; or the best of some clusters.
        """

class EagleOptions:
    """How vectors of labels of groups are learned."""

    def __init__(self) -> None: ...

    @property
    def iterations(self) -> int: ...

    @iterations.setter
    def iterations(self, arg: int, /) -> None: ...

    @property
    def step(self) -> float: ...

    @step.setter
    def step(self, arg: float, /) -> None: ...

    @property
    def leave_out(self) -> bool: ...

    @leave_out.setter
    def leave_out(self, arg: bool, /) -> None: ...

    @property
    def seed(self) -> int: ...

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

def sparse_eagle(rows: Sparse, grouped: GroupedLabels, options: EagleOptions, n_threads: int) -> tuple[Annotated[NDArray[numpy.float32], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]]:
    """
    Of the rows of each label's groups: their weights in the label's vector, and cosines with it.
    """

def dense_eagle(rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], grouped: GroupedLabels, options: EagleOptions, n_threads: int) -> tuple[Annotated[NDArray[numpy.float32], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]]:
    """The same for dense rows."""

def sparse_slot_products(rows: Sparse, vectors: Sparse, grouped: GroupedLabels, n_threads: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
    """
    Inner products of the rows of each label's groups with the label's vector.
    """

def dense_slot_products(rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], vectors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], grouped: GroupedLabels, n_threads: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
    """The same for dense rows."""

def rank_predictions(ids: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Sparse, *, ks: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], gains: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], count_labels: bool, n_threads: int) -> dict[str, Any]:
    """Sums over rows and labels from which ranking metrics are made."""

def best_entries(scores: Sparse, k: int, n_threads: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None))], Annotated[NDArray[numpy.float32], dict(shape=(None, None))]]:
    """
    Ids and scores of the k highest entries of each row of a sparse matrix.
    """
