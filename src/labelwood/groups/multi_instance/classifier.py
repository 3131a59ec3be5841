"""Learns to label single instances from labels of bags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray

from labelwood import devices
from labelwood.arrays.rows import Features, Floats, Sparse, as_features, as_labels, shape_of
from labelwood.arrays.threads import thread_count
from labelwood.arrays.topk import TopK, check_k, padded
from labelwood.contract.examples import Examples, as_weights
from labelwood.contract.feature_model import FeatureModel
from labelwood.contract.limits import Limits
from labelwood.contract.params import Count, Seed, Threads
from labelwood.errors import LabelwoodError, ModelError, ParameterError
from labelwood.groups.multi_instance import training
from labelwood.groups.multi_instance.bags import Bags, as_bags
from labelwood.groups.multi_instance.network import Loss, Network
from labelwood.progress import shown

if TYPE_CHECKING:
    from labelwood.store import State

Amount: TypeAlias = Annotated[float, Ge(0)]
_MAX_COUNT = 1 << 24  # single precision holds whole numbers exactly up to here
_WORK_PER_THREAD = 10_000_000  # multiplications in a step that make another thread worthwhile
_EPSILON = 1e-6  # a vector that differs from the mean by less, relative to its length, equals the mean
_ARRAYS = {"hidden_weights": 2, "hidden_bias": 1, "concept_weights": 3, "concept_bias": 2, "offsets": 1}


class MultiInstanceClassifier(FeatureModel):
    """A network that scores every instance for every label; a bag's score for a label is that of its best instance.

    This is Deep-MIML, and with `label_embeddings` its variant with co-attention: an instance then counts more for a
    label if it is nearer to the label's embedding than the other instances of its bag. The network is trained on bags,
    and answers for single instances (`predict_topk`) and for bags (`predict_bags`).

    Training needs torch (``pip install 'labelwood[deep]'``); a saved network loads and answers without it. The same
    seed gives the same weights on the same device with the same number of threads. Unlike other models, this one uses
    the counts in `Y`, and the order of label columns decides the random initial weights of a label.

    Parameters:
        hidden: Units of the layer between features and concepts.
        concepts: Concepts of each label, which may differ in what they look for; the best one counts.
        label_embeddings: None for Deep-MIML. For co-attention: labels × features, a fitted object with
            `label_embeddings_`, or a function that returns them, ``function(X, groups, Y)``.
        centre: Whether the mean of all embeddings is subtracted from each. Otherwise, in large bags, all labels choose
            nearly the same instances.
        temperature: τ, how sharply labels choose among a bag's instances; 0 is Deep-MIML.
        affinity: The similarity of an instance and a label: "cosine", or the inner "product", where a good τ depends
            on the scale of features.
        loss: "softmax" learns the share of each label in its bag, so counts in `Y` matter. "sigmoid" learns for each
            label whether a bag has it. Only "sigmoid" can learn from a bag without labels.
        epochs: How often the network sees every bag.
        batch_size: Bags in a step.
        learning_rate: The size of a step.
        weight_decay: How much each step shrinks the weights, relative to the learning rate.
        seed: Decides the initial weights and the order of bags.
        device: Where to train, in torch's notation; None is the GPU, if there is one.
        verbose: Whether to show progress while training.
        n_threads: Threads for answers, and for training without a GPU; all cores if not given.

    Fitted attributes: `network_`, `epochs_` (the number of finished epochs), and `labels_per_row_`, the rounded mean
    number of labels per instance.

    Example:
        >>> X, groups = np.eye(3)[[0, 1, 2, 0, 1, 2]], [0, 0, 1, 1, 2, 2]
        >>> Y = [[1, 1, 0], [1, 0, 1], [0, 1, 1]]
        >>> model = MultiInstanceClassifier(epochs=100, learning_rate=0.01).fit((X, groups), Y)
        >>> model.predict_topk(np.eye(3), k=1).ids.ravel().tolist()
        [0, 1, 2]
    """

    kind: ClassVar[str] = "multi-instance"
    uses: ClassVar[frozenset[str]] = frozenset({"row_weights", "groups"})
    machine_params: ClassVar[frozenset[str]] = frozenset({"n_threads", "verbose", "device"})

    network_: Network
    epochs_: int

    def __init__(
        self,
        *,
        hidden: Count = 128,
        concepts: Count = 4,
        label_embeddings: Any = None,
        centre: bool = True,
        temperature: Amount = 1.0,
        affinity: Literal["cosine", "product"] = "cosine",
        loss: Loss = "softmax",
        epochs: Count = 20,
        batch_size: Count = 16,
        learning_rate: Annotated[float, Gt(0)] = 1e-3,
        weight_decay: Amount = 0.01,
        seed: Seed = 0,
        device: str | None = None,
        verbose: bool = False,
        n_threads: Threads = None,
    ) -> None:
        self.hidden = hidden
        self.concepts = concepts
        self.label_embeddings = label_embeddings
        self.centre = centre
        self.temperature = temperature
        self.affinity = affinity
        self.loss = loss
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.seed = seed
        self.device = device
        self.verbose = verbose
        self.n_threads = n_threads

    def _examples(self, X: Any, Y: Any, given: Mapping[str, Any]) -> Examples:
        """Checks bags and the counts of their labels, bags × labels. `row_weights` has a weight for each bag.

        Bags are rows with a group each, (rows, groups), a list of matrices, an array of bags × instances × features, or
        plain rows as bags of one.
        """
        training.check_torch()
        bags = as_bags((X, given["groups"]) if "groups" in given else X)
        return Examples(bags, _as_counts(Y, len(bags)), row_weights=as_weights(given.get("row_weights"), len(bags)))

    def _count(self, examples: Examples) -> None:
        n_rows, n_features = shape_of(examples.X.rows)
        if n_rows == 0 or n_features == 0:
            raise LabelwoodError(f"the bags hold {n_rows} row(s) of {n_features} feature(s): give at least one of each")
        self.n_features_in_, self.n_labels_, self.epochs_ = n_features, examples.Y.n_cols, 0
        total = float(examples.Y.values.sum(dtype=np.float64))
        self.labels_per_row_ = min(examples.Y.n_cols, max(1, round(total / n_rows)))

    def _has_learned(self) -> bool:
        return self.epochs_ > 0

    def _fit(self, examples: Examples) -> None:
        """Trains the network. After Ctrl-C, the model keeps the network of the last finished epoch."""
        bags, Y, weights = examples.X, examples.Y, examples.row_weights
        embeddings = self._embeddings(bags, Y)
        network = Network.random(
            n_features=self.n_features_in_,
            hidden=self.hidden,
            concepts=self.concepts,
            n_labels=Y.n_cols,
            seed=self.seed,
        )
        network = replace(self._with_embeddings(network, embeddings), offsets=self._first_offsets(Y))
        device = devices.find_device(self.device)
        course = training.Course(
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            loss=self.loss,
            seed=self.seed,
        )
        weights = weights / weights.mean() if len(weights) else weights
        with (
            devices.threads(self._useful_threads(bags, Y.n_cols)),
            shown(course, "training", enabled=self.verbose),
        ):
            after_each = training.epochs(network, bags, Y, weights=weights, course=course, device=device)
            for epochs, learned in enumerate(after_each, start=1):
                self.network_, self.epochs_ = learned, epochs

    def _useful_threads(self, bags: Bags, n_labels: int) -> int:
        """The number of threads that have enough work; more threads would only wait for each other."""
        rows = min(self.batch_size, len(bags)) * len(bags.order) / len(bags)
        work = rows * self.hidden * (self.n_features_in_ + self.concepts * n_labels)
        return int(np.clip(work // _WORK_PER_THREAD, 1, thread_count(self.n_threads)))

    def _first_offsets(self, Y: Sparse) -> Floats:
        """The initial offsets: zeros for the softmax loss, otherwise the log-odds of each label.

        Without them, training would first learn that labels are rare, and push units to where ReLU is flat.
        """
        if self.loss == "softmax":
            return np.zeros(Y.n_cols, np.float32)
        having = np.bincount(Y.indices[Y.values > 0], minlength=Y.n_cols)
        odds: Floats = np.log((having + 0.5) / (Y.n_rows - having + 0.5)).astype(np.float32)
        return odds

    def _embeddings(self, bags: Bags, Y: Sparse) -> Floats | None:
        """L, labels × features, from the parameter `label_embeddings`."""
        given = self.label_embeddings
        if given is None:
            return None
        if isinstance(given, str):
            raise ParameterError(
                f"label_embeddings is {given!r}; a saved model does not keep embeddings as a parameter: "
                "give labels × features, an object with label_embeddings_, or a function"
            )
        if hasattr(given, "label_embeddings_"):
            given = given.label_embeddings_
        elif callable(given):
            rows = bags.rows.to_scipy() if isinstance(bags.rows, Sparse) else bags.rows
            given = given(rows, bags.groups, Y.to_scipy())
        elif hasattr(given, "fit"):
            raise ParameterError(f"label_embeddings is {given!r}, which is not fitted: call its fit first")
        embeddings = _as_embeddings(given, Y.n_cols, shape_of(bags.rows)[1])
        return _centre(embeddings) if self.centre else embeddings

    def _with_embeddings(self, network: Network, embeddings: Floats | None) -> Network:
        return replace(network, embeddings=embeddings, temperature=self.temperature, affinity=self.affinity)

    def predict_bags(
        self, bags: Any, k: int = 5, *, include: Any = None, exclude: Any = None, min_score: float | None = None
    ) -> TopK:
        """The `k` best labels of each bag, best first. Give bags as for `fit`, the rest as for `Model.predict_topk`.

        Example:
            >>> model = MultiInstanceClassifier(epochs=100, learning_rate=0.01).fit(np.eye(3), np.eye(3))
            >>> sorted(model.predict_bags([np.eye(3)[1:]], k=2).ids[0].tolist())
            [1, 2]
        """
        self.check_fitted()
        checked, k = as_bags(bags), check_k(k, self.n_labels_)
        self.check_features(checked.rows if not isinstance(checked.rows, Sparse) else checked.rows.to_scipy())
        limits = Limits.of(self.n_labels_, include, exclude, min_score)
        loss, n_threads = self.learned_with_["loss"], thread_count(self.n_threads)
        return padded(self.network_.bags_topk(checked, min(k, self.n_labels_), limits, loss, n_threads), k)

    def _topk(self, X: Features, k: int, limits: Limits) -> TopK:
        return self.network_.rows_topk(X, k, limits, self.learned_with_["loss"], thread_count(self.n_threads))

    def state(self) -> State:
        """Everything the store needs; label embeddings are saved with the weights, not as a parameter."""
        state = super().state()
        given = None if self.learned_with_["label_embeddings"] is None else "given"
        fitted = {**state.fitted, "epochs": self.epochs_}
        return replace(state, params={**state.params, "label_embeddings": given}, fitted=fitted)

    def _arrays(self) -> Mapping[str, NDArray[Any]]:
        arrays = {name: getattr(self.network_, name) for name in _ARRAYS}
        if self.network_.embeddings is not None:
            arrays["label_embeddings"] = self.network_.embeddings
        return arrays

    def _restore(self, state: State) -> None:
        arrays: dict[str, Any] = {name: state.array(name, np.float32, ndim) for name, ndim in _ARRAYS.items()}
        embeddings = None
        if "label_embeddings" in state.arrays:
            embeddings = state.array("label_embeddings", np.float32, 2)
        self.epochs_ = state.count("epochs")
        self.network_ = self._with_embeddings(Network(**arrays), embeddings)
        self._check_network(state.verify)

    def _check_network(self, verify: bool) -> None:
        network, n_labels, n_features = self.network_, self.n_labels_, self.n_features_in_
        expected = {
            "hidden_weights": (n_features, self.hidden),
            "hidden_bias": (self.hidden,),
            "concept_weights": (self.hidden, self.concepts, n_labels),
            "concept_bias": (self.concepts, n_labels),
            "offsets": (n_labels,),
        }
        if network.embeddings is not None:
            expected["embeddings"] = (n_labels, n_features)
        for name, shape in expected.items():
            array = getattr(network, name)
            if array.shape != shape or (verify and not np.isfinite(array).all()):
                raise ModelError(f"the model's {name} are not {shape} finite numbers: save the model again")


def _as_counts(Y: Any, n_bags: int) -> Sparse:
    if Y is None:
        as_labels(Y, n_bags)
    counts = as_features(Y, sparse_only=True, name="Y")
    assert isinstance(counts, Sparse)
    if counts.n_rows != n_bags:
        raise LabelwoodError(f"Y has {counts.n_rows} rows and there are {n_bags} bags: give one row of labels per bag")
    if counts.n_cols == 0:
        raise LabelwoodError("Y has no label column: give at least one label")
    if (counts.values < 0).any():
        raise LabelwoodError("Y holds numbers below zero: give how often each bag has each label")
    if counts.values.max(initial=0) > _MAX_COUNT:
        raise LabelwoodError(
            f"Y says that a bag has a label {counts.values.max():g} times: give counts of at most {_MAX_COUNT}"
        )
    return counts


def _as_embeddings(given: Any, n_labels: int, n_features: int) -> Floats:
    embeddings = as_features(given, name="label_embeddings")
    if shape_of(embeddings) != (n_labels, n_features):
        raise ParameterError(
            f"label_embeddings has the shape {shape_of(embeddings)}, but there are {n_labels} labels and {n_features} "
            "features: give each label a vector with one number per feature"
        )
    return np.array(embeddings.to_scipy().toarray() if isinstance(embeddings, Sparse) else embeddings)


def _centre(embeddings: Floats) -> Floats:
    """Subtracts the mean and restores the lengths; a single embedding and equal embeddings do not change."""
    lengths = np.linalg.norm(embeddings, axis=1, keepdims=True)
    moved = embeddings - embeddings.mean(axis=0)
    left = np.linalg.norm(moved, axis=1, keepdims=True)
    if len(embeddings) == 1 or (left <= _EPSILON * lengths).all():
        return embeddings
    centred: Floats = (moved * lengths / np.where(left > _EPSILON * lengths, left, np.inf)).astype(np.float32)
    return centred
