"""Predicts labels of texts by the similarity of their vectors in a space that an encoder has learned."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from labelwood.arrays.rows import Floats, as_labels
from labelwood.arrays.threads import thread_count
from labelwood.arrays.topk import TopK, check_k, padded
from labelwood.contract.examples import Examples
from labelwood.contract.limits import NO_LIMITS, Limits
from labelwood.contract.params import Threads
from labelwood.contract.text_model import TextModel
from labelwood.data.texts import as_texts
from labelwood.dual_encoder.answering.index import ENOUGH, PrototypeIndex, check_probes
from labelwood.dual_encoder.answering.queries import Backend, QueryEncoder
from labelwood.dual_encoder.data.inputs import Known, as_known
from labelwood.dual_encoder.settings import PrimeSettings, as_settings, check_deep, without_folder
from labelwood.errors import ParameterError
from labelwood.progress import shown

if TYPE_CHECKING:
    from labelwood.dual_encoder.model.network import DualEncoder
    from labelwood.dual_encoder.training.trainer import Pairs, Trainer
    from labelwood.store import State

Scores: TypeAlias = Literal["fused", "prototypes", "classifiers"]
_SPLIT = 4  # the random stream for the held-out split; the samplers use others


class PrimeClassifier(TextModel):
    """A dual encoder: queries and label texts become vectors, and the labels nearest to a query are its answers.

    By default it is trained as PRIME. NGAME, DEXA and others are different settings: see `PrimeSettings`. It needs
    ``pip install 'labelwood[deep]'``, and a GPU unless the encoder is tiny.

    Parameters:
        settings: `PrimeSettings`, a dictionary of tables with them, or the path of a TOML file; None for PRIME's.
        checkpoints: A folder for the state of training; the next `fit` with the same data continues from there.
        cache: A folder for the tokens of texts, which are mapped from it the next time. Choose a local folder: the
            process ends if another program truncates a mapped file.
        device: Where to compute, in torch's notation; None is the GPU of this process, if there is one.
        backend: What encodes queries: "torch", or on a CPU, with ``labelwood[onnx]``, "onnx" (the same vectors,
            faster) or "onnx-int8" (similar vectors, much faster). It is not saved.
        probes: Search only this many clusters of labels, those nearest to the query, on a CPU. That is much faster if
            there are many labels, but sometimes misses the best ones. None searches all labels. So does a query whose
            clusters have fewer than 100 labels; if they have more, but fewer than k, there are fewer answers. Clusters
            are found by `fit`, or else before the first answer, and are saved; `probes` is not.
        scores: How a label is scored if there are classifiers: by the mean of its cosines with its prototype and its
            classifier ("fused"), or by one of them ("prototypes", "classifiers"). It is not saved.
        verbose: Whether to show progress while training.
        n_threads: Threads to use on a CPU; all cores if not given.

    Fitted attributes: `n_labels_`, `labels_per_row_`, `prototypes_` (labels × dim, of unit length), `history_` (the
    losses and held-out P@1 of each epoch, and queries per second, which are not saved), `network_`, `settings_` (those
    it was trained with; of an encoder's folder only the name), `classifiers_` (labels × dim, of unit length, or None),
    and `clusters_` (two for each label; None before they are found).

    Example:
        >>> quick = {
        ...     "encoder": {"checkpoint": "tiny"},
        ...     "batches": {"size": 4, "random_epochs": 1},
        ...     "training": {"epochs": 30, "learning_rate": 0.01, "warm_up": 1.0},
        ... }
        >>> texts, label_texts = ["a dog barks", "red roses bloom"], ["animals", "plants"]
        >>> model = PrimeClassifier(settings=quick).fit(texts, np.eye(2), label_texts)
        >>> model.predict_topk(["the dog", "roses"], k=1).ids.ravel().tolist()
        [0, 1]
    """

    kind: ClassVar[str] = "prime"
    _writes = True  # whether `save` writes; if several processes train a model, only the main one does
    uses: ClassVar[frozenset[str]] = frozenset({"label_texts", "filters"})
    needs: ClassVar[frozenset[str]] = frozenset({"label_texts"})
    search_params: ClassVar[frozenset[str]] = frozenset({"probes", "scores"})

    n_labels_: int
    labels_per_row_: int
    history_: list[dict[str, float]]
    prototypes_: Floats
    classifiers_: Floats | None
    network_: DualEncoder
    settings_: PrimeSettings
    free_vectors_: Floats  # the bank of free vectors; may be empty
    centres_: Floats  # centres of the clusters of labels that share a free vector; not those of `clusters_`
    clusters_: NDArray[np.int32] | None
    _queries: tuple[Any, QueryEncoder] | None = None  # the encoder of queries, with the parameters it was made for
    _index: tuple[Scores, PrototypeIndex] | None  # the index, with the scores it was made for

    def __init__(
        self,
        *,
        settings: Any = None,
        checkpoints: str | PathLike[str] | None = None,
        cache: str | PathLike[str] | None = None,
        device: str | None = None,
        backend: Backend = "torch",
        probes: Annotated[int, Ge(1)] | None = None,
        scores: Scores = "fused",
        verbose: bool = False,
        n_threads: Threads = None,
    ) -> None:
        self.settings = settings
        self.checkpoints = checkpoints
        self.cache = cache
        self.device = device
        self.backend = backend
        self.probes = probes
        self.scores = scores
        self.verbose = verbose
        self.n_threads = n_threads

    def _fit(self, examples: Examples) -> None:
        settings = as_settings(self.settings)
        known = as_known(examples.Y, examples.filters, len(examples.label_texts))
        check_deep(settings)
        from labelwood.dual_encoder.gpu.processes import Processes

        processes = Processes.connect(self.device)
        with self._computing(settings) as device:
            import torch

            from labelwood.dual_encoder.model.pretrained import load_encoder
            from labelwood.dual_encoder.training.trainer import Trainer

            torch.manual_seed(settings.training.seed)
            encoder = load_encoder(settings.encoder)
            with processes.main_first(self.cache is not None):
                pairs, held_out = self._pairs(encoder.tokenizer, settings, examples.X, examples.label_texts, known)
            trainer = Trainer(
                encoder,
                pairs,
                settings,
                device=device,
                held_out=held_out,
                checkpoints=self.checkpoints,
                n_threads=self.n_threads,
                processes=processes,
            )
            with shown(trainer, "training", enabled=self.verbose and processes.is_main):
                trainer.train()
            self._keep(trainer)
        self.labels_per_row_ = max(1, round(len(known.truth.indices) / known.truth.n_rows))
        self._writes = processes.is_main
        if self.probes is not None:
            self._find_clusters()
        if settings.classifiers.enabled:
            self._learn_classifiers(examples.X, known)

    def fit_classifiers(self, texts: Any, Y: Any, *, filters: Any = None) -> Self:
        """Trains a classifier for each label on top of the encoder, which does not change; see `ClassifierSettings`.

        The arguments are those of `fit`, or other rows with the same labels. `predict_topk` then uses both.

        Example:
            >>> quick = {"encoder": {"checkpoint": "tiny"}, "training": {"epochs": 1}, "classifiers": {"epochs": 5}}
            >>> texts = ["a dog barks", "red roses bloom"]
            >>> model = PrimeClassifier(settings=quick).fit(texts, np.eye(2), ["animals", "plants"])
            >>> model.fit_classifiers(texts, np.eye(2)).classifiers_.shape
            (2, 64)
        """
        self.check_fitted()
        rows = as_texts(texts, "texts")
        self._learn_classifiers(rows, as_known(as_labels(Y, len(rows)), filters, self.n_labels_))
        return self

    def _learn_classifiers(self, rows: Any, known: Known) -> None:
        settings = self.settings_.model_copy(update={"classifiers": as_settings(self.settings).classifiers})
        useful = np.flatnonzero(np.diff(known.truth.indptr))
        truth, never_negative = known.of_rows(useful)
        with self._computing(settings) as device:
            from labelwood.dual_encoder.model.encoder import unit
            from labelwood.dual_encoder.training.extreme import ClassifierTrainer

            queries = unit(self._vectors(rows.take(useful), device, "texts"))
            trainer = ClassifierTrainer(queries, self.prototypes_, truth, settings, never_negative=never_negative)
            with shown(trainer, "training classifiers", enabled=self.verbose and self._writes):
                self.classifiers_ = trainer.train()
        self.settings_, self._index = settings, None

    def _pairs(
        self, tokenizer: Any, settings: PrimeSettings, rows: Any, labels: Any, known: Known
    ) -> tuple[Pairs, Pairs | None]:
        """Rows for training, all with a label, and held-out rows."""
        from labelwood.dual_encoder.data.tokens import Tokens
        from labelwood.dual_encoder.training.trainer import Pairs

        e, t = settings.encoder, settings.training
        useful = np.flatnonzero(np.diff(known.truth.indptr))
        if t.held_out:
            useful = np.random.default_rng([t.seed, _SPLIT]).permutation(useful)
        n_held_out = min(round(t.held_out * len(useful)), len(useful) - 1)
        if t.patience is not None and not n_held_out:
            raise ParameterError("training.patience needs rows to measure on: raise training.held_out or leave it out")
        label_tokens = Tokens.of(labels, tokenizer, max_tokens=e.max_label_tokens or e.max_tokens, cache=self.cache)

        def chosen(which: Any) -> Pairs:
            which = np.sort(which)
            tokens = Tokens.of(rows.take(which), tokenizer, max_tokens=e.max_tokens, cache=self.cache)
            return Pairs(tokens, label_tokens, *known.of_rows(which))

        return chosen(useful[n_held_out:]), chosen(useful[:n_held_out]) if n_held_out else None

    def _keep(self, trainer: Trainer) -> None:
        """Keeps what is needed to answer and to add labels, and drops what only training needs."""
        from labelwood.dual_encoder.model.embedding import embed_texts
        from labelwood.dual_encoder.model.encoder import unit
        from labelwood.dual_encoder.model.network import all_prototypes

        network = trainer.network
        texts = embed_texts(network.encoder, trainer.pairs.labels, device=trainer.device)
        self.prototypes_ = all_prototypes(network, texts).cpu().numpy()
        self.free_vectors_ = self.centres_ = np.empty((0, network.encoder.dim), np.float32)
        if network.free is not None:
            bank, owners = network.free.bank.detach(), network.free.owners
            self.free_vectors_ = bank.cpu().numpy().copy()
            self.centres_ = unit(bank.new_zeros(bank.shape).index_add_(0, owners, unit(texts))).cpu().numpy()
        network.free = network.centroids = None
        self.network_, self.history_, self.settings_ = network, trainer.history, without_folder(trainer.settings)
        self.n_labels_ = len(self.prototypes_)
        self.classifiers_ = self.clusters_ = self._index = None

    def embed(self, texts: Any) -> Floats:
        """Encodes texts as unit vectors, rows × dim: features for other models, or queries for another index."""
        self.check_fitted()
        return self._query_encoder()(as_texts(texts, "texts"))

    def _query_encoder(self) -> QueryEncoder:
        """The encoder of queries, made on first use and again after a parameter has changed."""
        made_for = (self.network_, self.device, self.backend, self.n_threads)
        if self._queries is None or self._queries[0] != made_for:
            settings = self.settings_
            # The tiny encoder does so little work that threads do not help.
            n_threads = 1 if self.n_threads is None and settings.encoder.is_tiny else self.n_threads
            encoder = QueryEncoder(
                self.network_.encoder,
                max_tokens=settings.encoder.max_tokens,
                backend=self.backend,
                device=self.device,
                n_threads=n_threads,
            )
            self._queries, self._index = (made_for, encoder), None
        return self._queries[1]

    def answer(self, X: Any, k: int, limits: Limits = NO_LIMITS, filters: Any = None) -> TopK:
        """The best labels by their cosine with the query; with classifiers, `scores` decides the score."""
        from labelwood.metrics.filters import filtered_answers, filtered_per_row

        self.check_fitted()
        k, probes = check_k(k, self.n_labels_), check_probes(self.probes)
        queries = self.embed(X)
        index = self._index_of(self.settled()["scores"])

        needed = ENOUGH + filtered_per_row(filters, len(queries))  # for each row by itself

        def answers(n: int) -> TopK:
            return padded(index.topk(queries, n, limits, probes=probes, needed=needed), n)

        return filtered_answers(answers, k, filters, len(queries))

    def _topk(self, X: Any, k: int, limits: Limits) -> TopK:
        return self.answer(X, k, limits)

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out what is made on first use: copies make their own."""
        return self.__dict__ | {"_index": None, "_queries": None}

    def _index_of(self, scores: Scores) -> PrototypeIndex:
        device = self._query_encoder().device
        if self.probes is not None and self.clusters_ is None and device is None:
            self._find_clusters()
        made = self._index
        if made is None or made[0] != scores:
            from labelwood.dual_encoder.training.extreme import classifier_scores

            vectors = classifier_scores(self.prototypes_, self.classifiers_, scores)
            index = PrototypeIndex(vectors, clusters=self.clusters_, device=device, n_threads=self.n_threads)
            made = self._index = (scores, index)
        return made[1]

    def _find_clusters(self) -> None:
        with self._computing(self.settings_) as device:
            from labelwood.dual_encoder.answering.label_groups import LabelGrouping

            grouping = LabelGrouping(
                self.prototypes_,
                seed=self.settings_.training.seed,
                device=device if device.type == "cuda" else None,
                n_threads=self.n_threads,
            )
            with shown(grouping, "grouping labels", enabled=self.verbose and self._writes):
                self.clusters_ = grouping.found()
        self._index = None

    def add_labels(self, label_texts: Any) -> list[int]:
        """Adds labels without training rows, with prototypes from their texts; returns their ids.

        The text's vector replaces the centroid, and the free vector is that of the nearest cluster of labels. If there
        are clusters for `probes`, a new label goes into those of its nearest label.
        """
        self.check_fitted()
        with self._computing(self.settings_) as device:
            import torch

            from labelwood.dual_encoder.model.encoder import unit

            texts = self._vectors(label_texts, device, "label_texts")
            h, free = unit(texts), None
            if len(self.centres_):
                nearest = PrototypeIndex(self.centres_).topk(h.cpu().numpy(), 1).ids[:, 0]
                free = torch.from_numpy(self.free_vectors_[nearest]).to(device)
            p = self.settings_.prototypes
            has_centroids = p.centroids and p.kind == "network"
            with torch.no_grad():
                new = self.network_.mix(texts, free, h if has_centroids else None).cpu().numpy()
        first = self.n_labels_
        if self.clusters_ is not None:
            nearest = PrototypeIndex(self.prototypes_, n_threads=self.n_threads).topk(new, 1).ids[:, 0]
            self.clusters_ = np.concatenate([self.clusters_, self.clusters_[nearest]])
        self.prototypes_ = np.concatenate([self.prototypes_, new])
        if self.classifiers_ is not None:
            self.classifiers_ = np.concatenate([self.classifiers_, new])
        self.n_labels_, self._index = len(self.prototypes_), None
        return list(range(first, self.n_labels_))

    def _vectors(self, texts: Any, device: Any, name: str) -> Any:
        from labelwood.dual_encoder.data.tokens import Tokens
        from labelwood.dual_encoder.model.embedding import embed_texts

        e, encoder = self.settings_.encoder, self.network_.to(device).encoder
        max_tokens = (e.max_label_tokens if name == "label_texts" else None) or e.max_tokens
        return embed_texts(
            encoder, Tokens.of(as_texts(texts, name), encoder.tokenizer, max_tokens=max_tokens), device=device
        )

    @contextmanager
    def _computing(self, settings: PrimeSettings) -> Iterator[Any]:
        """Sets threads and yields the device to compute on; restores the state of torch's random numbers."""
        check_deep(settings)
        import torch

        from labelwood.devices import find_device, threads

        device = find_device(self.device)
        # The tiny encoder does so little work that threads do not help.
        n_threads = 1 if self.n_threads is None and settings.encoder.is_tiny else thread_count(self.n_threads)
        with threads(n_threads), torch.random.fork_rng([device] if device.type == "cuda" else []):
            yield device

    def _size(self) -> dict[str, Any]:
        return {"features": int(self.prototypes_.shape[1])}

    @property
    def writes(self) -> bool:
        """Whether `save` writes in this process: if several processes trained together, only the main one writes."""
        return self._writes

    def state(self) -> State:
        """Everything the store needs."""
        from labelwood.dual_encoder.saving import state_of

        self.check_fitted()
        return state_of(self)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The model that `state` describes; raises `ModelError` if its fields contradict each other."""
        from labelwood.dual_encoder.saving import clusters_from, network_from, settings_of, tables_from

        settings = settings_of(state)
        check_deep(settings)
        model = cls(settings=settings)
        model.learned_with_ = model.settled()
        model.settings_, model.network_ = settings, network_from(state, settings)
        model.n_labels_, model.labels_per_row_ = state.count("n_labels"), state.count("labels_per_row")
        history = state.fitted.get("history")
        model.history_ = history if isinstance(history, list) else []
        model.classifiers_ = None  # unless the tables have them
        for name, table in tables_from(state, model.network_.encoder.dim).items():
            setattr(model, f"{name}_", table)
        model.clusters_ = clusters_from(state)
        model._index = None
        return model
