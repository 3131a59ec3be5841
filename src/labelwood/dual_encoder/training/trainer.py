"""Trains a dual encoder; training can stop at any moment and continue later with the same result."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from labelwood.arrays.rows import Floats, Sparse
from labelwood.dual_encoder.answering.index import PrototypeIndex
from labelwood.dual_encoder.data.mining import mined
from labelwood.dual_encoder.data.samplers import Batch, BatchSampler, HardNegatives, QueryOrder, prefetch
from labelwood.dual_encoder.data.tokens import Packed, Tokens, on_device
from labelwood.dual_encoder.gpu.precision import half_for
from labelwood.dual_encoder.gpu.processes import Processes
from labelwood.dual_encoder.gpu.recording import Recorder
from labelwood.dual_encoder.model.embedding import Embedder
from labelwood.dual_encoder.model.encoder import Encoder, unit
from labelwood.dual_encoder.model.network import DualEncoder, all_prototypes
from labelwood.dual_encoder.settings import PrimeSettings
from labelwood.dual_encoder.training import checkpoint
from labelwood.dual_encoder.training.collector import frozen_collector
from labelwood.dual_encoder.training.gradient_cache import CachedEmbeddings
from labelwood.dual_encoder.training.objective import Objective, Relations, marked
from labelwood.dual_encoder.training.optimiser import Optimiser
from labelwood.errors import LabelwoodError, ModelError
from labelwood.metrics import evaluate, extra_candidates

Ids = NDArray[np.int64]
_COLLAPSE = 0.1  # queries have collapsed if their mean distance is less than this share of the initial one
_ROUNDING = 1e-5  # rounding error of a mean cosine
_KEPT_PER_HARD = 8  # hard negatives that are kept for each one that is drawn


@dataclass(frozen=True)
class Pairs:
    """Queries, labels and which belong together; every query has a label.

    `never_negative` has the pairs that belong together, and those that are neither right nor wrong.

    Example:
        >>> from labelwood.arrays.rows import from_dense
        >>> from labelwood.dual_encoder.model.tokenizer import WordHasher
        >>> tokens = Tokens.of(["a", "b"], WordHasher(100), max_tokens=4)
        >>> Y = from_dense(np.eye(2, dtype=np.float32))
        >>> len(Pairs(tokens, tokens, Y, Y).queries)
        2
    """

    queries: Tokens
    labels: Tokens
    Y: Sparse
    never_negative: Sparse


class DeviceBatch(NamedTuple):
    """A batch on the device; see `samplers.Batch`.

    Example:
        >>> DeviceBatch._fields[-1]
        'truth'
    """

    rows: Any  # numbers of queries
    labels: Any
    columns: Any
    positives: Any
    owners: Any
    truth: Any  # queries × columns: pairs that are not negatives


@dataclass
class Course:
    """The progress of training; a checkpoint needs this, the torch state and the tables.

    Example:
        >>> Course().epoch
        0
    """

    epoch: int = 0
    position: int = 0  # finished batches of this epoch
    step: int = 0  # updates of the weights
    best: float = -1.0  # the best P@1 on held-out rows, in percent
    since_best: int = 0  # evaluations since then


class Trainer:
    """Trains an encoder on pairs of queries and labels.

    `done`, `total` and `note` are for a progress bar; `history` has one entry per epoch. With a folder for checkpoints,
    training continues from the checkpoint there, which must have the same data and settings. Several processes can
    train together, each with a trainer of the same pairs and the same random numbers.

    Example:
        >>> from labelwood.arrays.rows import from_dense
        >>> from labelwood.dual_encoder.model.encoder import TinyEncoder
        >>> encoder = TinyEncoder(dim=8)
        >>> tokens = Tokens.of(["red rose", "blue sky"], encoder.tokenizer, max_tokens=4)
        >>> settings = PrimeSettings().with_changes({"training": {"epochs": 3}, "batches": {"size": 2}})
        >>> Y = from_dense(np.eye(2, dtype=np.float32))
        >>> trainer = Trainer(encoder, Pairs(tokens, tokens, Y, Y), settings)
        >>> trainer.train()
        >>> [line["epoch"] for line in trainer.history]
        [1, 2, 3]
    """

    def __init__(
        self,
        encoder: Encoder,
        pairs: Pairs,
        settings: PrimeSettings,
        *,
        device: Any = "cpu",
        held_out: Pairs | None = None,
        checkpoints: str | PathLike[str] | None = None,
        n_threads: int | None = None,
        processes: Processes | None = None,
    ) -> None:
        self.processes = processes or Processes()
        self.settings, self.pairs, self.held_out = settings, pairs, held_out
        self.device = torch.device(device)
        self.n_threads = n_threads
        self.checkpoints = checkpoints
        self.course = Course()
        self.history: list[dict[str, float]] = []
        self.best_weights: dict[str, Any] = {}
        self._names: tuple[str, ...] = ()  # names of the losses of a recorded step
        self._start(encoder.to(self.device))
        b, t = settings.batches, settings.training
        self.n_batches = -(-len(pairs.queries) // b.size)
        self.order = QueryOrder(len(pairs.queries), b.schedule(t.epochs), seed=t.seed)
        self.sampler = BatchSampler(pairs.Y, b, seed=t.seed, never_negative=pairs.never_negative)
        self.objective = Objective(settings)
        steps = t.epochs * -(-self.n_batches // t.accumulate)
        self.optimiser = Optimiser(self.network, t, total_steps=steps)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self._half() is torch.float16)
        self.done, self.total = 0, t.epochs * self.n_batches
        self.note = "compiling at first" if t.compile else ""
        if checkpoints is not None:
            checkpoint.resume(self)
            if not self.processes.agree(self.course.step):
                raise ModelError(f"{checkpoints} is not the same for all processes: give a folder that they share")

    def _start(self, encoder: Encoder) -> None:
        # In the table of all texts, queries come first, then labels.
        t = self.settings.training
        self._embed = Embedder(
            encoder,
            (self.pairs.queries, self.pairs.labels),
            device=self.device,
            half=self._half(),
            compiled=t.compile,
        )
        self.recorder = Recorder(self._gpu_step, self.device) if t.compile and t.replay and self._can_record() else None
        vectors = unit(self._everything(self._embed))
        # The bank keeps the last vector of each query, so that clusters need no new computation.
        self._first_mean_cosine = mean_cosine(vectors[: len(self.pairs.queries)])
        self.bank, texts = vectors[: len(self.pairs.queries)], vectors[len(self.pairs.queries) :]
        network = DualEncoder.start(
            encoder,
            self.settings,
            queries=self.bank,
            texts=texts,
            Y=self.pairs.Y,
        )
        self.network = network.to(self.device)
        self.processes.align(self.network.state_dict().values())

    def _can_record(self) -> bool:
        """Whether steps can be recorded: they must not be split, and their sizes must repeat."""
        b, t, embed = self.settings.batches, self.settings.training, self._embed
        is_whole = t.accumulate == 1 and t.chunk_size is None and self.processes.n == 1
        return is_whole and b.columns != "distinct" and embed.packs and embed.feeder.longest > 1

    def _half(self) -> Any:
        return half_for(self.settings.training.precision, self.device)

    def train(self) -> None:
        """Trains until the last epoch, or until held-out P@1 no longer rises; `network` then has the best weights."""
        self.network.train()
        try:
            with frozen_collector() as settle:
                while self.course.epoch < self.settings.training.epochs and not self._is_out_of_patience():
                    self._epoch(settle)
        finally:
            if self.recorder is not None:
                self.recorder.release()
            self._embed.release()
        if self.best_weights:
            self.network.load_state_dict(self.best_weights)
        self.processes.align(self.network.state_dict().values())
        self.network.eval()
        distance = 1 - self._first_mean_cosine  # only a rounding error if all queries were equal at the start
        if self.history and distance > _ROUNDING and 1 - self.history[-1]["mean_cosine"] < _COLLAPSE * distance:
            message = "texts have nearly the same vector: raise objective.anchor or lower training.learning_rate"
            warnings.warn(f"all {len(self.bank)} {message}", stacklevel=2)

    def _is_out_of_patience(self) -> bool:
        patience = self.settings.training.patience
        return patience is not None and self.course.since_best >= patience

    def _epoch(self, settle: Callable[[], None]) -> None:
        course, size = self.course, self.settings.batches.size
        started, first = perf_counter(), course.position
        losses: list[dict[str, Any]] = []
        if course.position == 0:
            self._refresh()
        order = self.order.of_epoch(course.epoch)

        def make(step: int) -> Batch:
            return self.sampler.batch(order[step * size : (step + 1) * size], epoch=course.epoch, step=step)

        for batch in prefetch(make, range(first, self.n_batches)):
            after = course.position + 1
            is_last = after % self.settings.training.accumulate == 0 or after == self.n_batches
            losses.append(self.step(batch, changes_weights=is_last))
            if len(losses) == 1 and self.settings.training.compile:  # it has just been compiled
                settle()
            course.position = after
            self.done = course.epoch * self.n_batches + course.position
            if is_last:
                self._count_step()
        course.position, course.epoch = 0, course.epoch + 1
        self._record(losses, len(order) - first * size, started)

    def _refresh(self) -> None:
        """Finds clusters of queries and hard negatives if they are due."""
        n_hard, epoch, processes = self.settings.batches.hard_negatives, self.course.epoch, self.processes
        processes.align(self.network.buffers())
        if self.order.schedule.is_due(epoch):
            if processes.is_main:
                self.order.refresh(epoch, self.bank)
            self.order.members = processes.from_main(self.order.members)
            self.order.starts = processes.from_main(self.order.starts)
        if n_hard and epoch % self.order.schedule.refresh_every == 0:
            device = self.device if self.device.type == "cuda" else None
            n_kept = _KEPT_PER_HARD * n_hard
            labels, queries = self.label_vectors(), self.bank.cpu().numpy()
            if processes.is_main:
                self.sampler.hard = mined(queries, labels, self.pairs.never_negative, n_kept=n_kept, device=device)
            self.sampler.hard = HardNegatives(processes.from_main(self.sampler.hard.labels))

    def step(self, batch: Batch, *, changes_weights: bool = True) -> dict[str, Any]:
        """Learns from a batch, and updates the weights if it ends its step; returns the losses, on the device."""
        if self.recorder is not None:
            return self._step_by_recording(self.recorder, batch)
        parts = self._learn(batch)
        if changes_weights:
            self.processes.average(self.network.parameters())
            self.optimiser.set_rates(self.course.step)
            self.optimiser.step(self.scaler)
        return parts

    def _step_by_recording(self, recorder: Recorder, batch: Batch) -> dict[str, Any]:
        """A recorded step: filler texts round its size up, and count as the first label."""
        texts = self._embed.feeder.packed(self._texts_of(batch), rounded=True)
        n_missing = len(texts.bounds) - 1 - len(batch.queries) - len(batch.labels)
        labels = np.append(batch.labels, np.full(n_missing, batch.labels[0]))
        self.optimiser.set_rates(self.course.step)
        losses = recorder(*texts[:-1], *self._to_device(batch._replace(labels=labels)))
        return dict(zip(self._names, losses.unbind(), strict=True))

    def _gpu_step(self, ids: Any, positions: Any, of_text: Any, bounds: Any, *others: Any) -> Any:
        """The part of a step that runs on the GPU and can be recorded, for packed texts and a `DeviceBatch`."""
        known = DeviceBatch(*others)
        # The last batch of an epoch is smaller and is not compiled, as it might need a new compilation.
        is_whole = len(known.rows) == min(self.settings.batches.size, len(self.pairs.queries))
        texts = Packed(ids, positions, of_text, bounds, self._embed.feeder.longest)
        vectors = self._embed.embed_packed(texts, compiled=is_whole)
        total, parts = self._loss(vectors[: len(known.rows)], vectors[len(known.rows) :], known)
        self.scaler.scale(total).backward()
        self.optimiser.step(self.scaler)
        self._names = tuple(parts)
        return torch.stack(list(parts.values()))

    def _texts_of(self, batch: Batch) -> Ids:
        """The numbers of a batch's texts: queries, then labels."""
        return np.concatenate([batch.queries, batch.labels + len(self.pairs.queries)])

    def _learn(self, batch: Batch) -> dict[str, Any]:
        """Adds the gradient of a batch; each process encodes a share. Returns the losses, on the device."""
        queries = self.processes.share(batch.queries)
        texts = self.processes.share(batch.labels + len(self.pairs.queries))
        with self.processes.own_randomness(self.settings.training.seed, self.course.epoch, self.course.position):
            both = np.concatenate([queries, texts])
            cached = None if self.settings.training.chunk_size is None else self._cached(both)
            vectors = self._embed(both) if cached is None else cached.vectors
        of_queries, of_texts = vectors[: len(queries)], vectors[len(queries) :]
        of_queries = self.processes.gather(of_queries, len(batch.queries))
        of_texts = self.processes.gather(of_texts, len(batch.labels))
        total, parts = self._loss(of_queries, of_texts, self._to_device(batch))
        self.scaler.scale(total).backward()
        if cached is not None:
            cached.backward()
        return parts

    def _cached(self, which: Ids) -> CachedEmbeddings:
        """Vectors of texts that are encoded in chunks."""
        chunks = self._embed.feeder.by_length(which, self.settings.training.chunk_size or len(which))
        return CachedEmbeddings(lambda places: self._embed(which[places]), chunks, self.device)

    def _to_device(self, batch: Batch) -> DeviceBatch:
        rows, labels, columns, positives, owners, *pairs = on_device(tuple(batch), self.device)
        truth = marked((len(rows), len(labels)), *pairs).index_select(1, columns)
        return DeviceBatch(rows, labels, columns, positives, owners, truth)

    def _loss(self, queries: Any, texts: Any, known: DeviceBatch) -> tuple[Any, dict[str, Any]]:
        """The objective of a batch from its vectors u; also updates the centroids and the bank."""
        rows, labels, columns, positives, owners, truth = known
        with torch.autocast(self.device.type, self._half(), enabled=self._half() is not None):
            prototypes = self.network.prototypes(texts, labels)
        relations = Relations(truth, positives, owners)
        h = unit(queries)
        # Not ``texts[columns]``, whose backward pass sorts.
        z = None if prototypes is None else prototypes.index_select(0, columns)
        total, parts = self.objective(h, unit(texts).index_select(0, columns), z, relations)
        self.bank[rows] = h.detach()
        if self.network.centroids is not None:
            which = columns[positives]
            self.network.centroids.update(labels, h.detach().repeat_interleave(which.shape[1], 0), which=which.ravel())
        return total / self._group_size(), {name: part.detach() for name, part in parts.items()}

    def _group_size(self) -> int:
        """The number of batches in the current step."""
        accumulate = self.settings.training.accumulate
        return min(accumulate, self.n_batches - self.course.position // accumulate * accumulate)

    def _count_step(self) -> None:
        self.course.step += 1
        is_due = self.course.step % self.settings.training.checkpoint_every == 0
        if is_due and self.checkpoints is not None and self.processes.is_main:
            checkpoint.save(self)

    def _record(self, losses: list[dict[str, Any]], n_queries: int, started: float) -> None:
        t = self.settings.training
        line: dict[str, float] = {"epoch": self.course.epoch}
        for name in losses[0] if losses else ():
            line[name] = float(torch.stack([parts[name] for parts in losses]).mean())
        line["mean_cosine"] = mean_cosine(self.bank)  # NaN shows here; a loss with a margin would be 0
        if not np.isfinite(list(line.values())).all():
            raise LabelwoodError(f"training with training.learning_rate={t.learning_rate} ran away: give a smaller one")
        if losses:  # none if training continued after the last batch
            line["queries_per_second"] = n_queries / max(perf_counter() - started, 1e-9)
            self.note = f"{line['queries_per_second']:.0f} queries/s"
        is_due = self.course.epoch % t.evaluate_every == 0 or self.course.epoch == t.epochs
        if self.held_out is not None and is_due:
            line["P@1"] = self.precision_at_1(self.held_out)
            self.note += f", P@1 {line['P@1']:.1f}"
            self._save_if_best(line["P@1"])
        self.history.append(line)

    def _save_if_best(self, precision: float) -> None:
        if precision > self.course.best:
            self.course.best, self.course.since_best = precision, 0
            self.best_weights = {n: t.detach().cpu().clone() for n, t in self.network.state_dict().items()}
        else:
            self.course.since_best += 1

    def _everything(self, embed: Embedder) -> Any:
        """Vectors u of all texts of `embed`, without gradients; each process encodes a share."""
        n = len(embed.feeder.lengths)
        return self.processes.gather(embed.all(self.processes.share(np.arange(n))), n)

    def _embed_all(self, tokens: Tokens) -> Any:
        embed = Embedder(self.network.encoder, (tokens,), device=self.device, half=self._half())
        return self._everything(embed)

    def label_vectors(self) -> Floats:
        """The current prototypes of all labels, or unit vectors of their texts if these represent them."""
        vectors: Floats = all_prototypes(self.network, self._embed_all(self.pairs.labels)).cpu().numpy()
        return vectors

    def precision_at_1(self, rows: Pairs) -> float:
        """The share of queries whose best label is right, in percent; all processes get the same number."""
        device = self.device if self.device.type == "cuda" else None
        index = PrototypeIndex(self.label_vectors(), device=device, n_threads=self.n_threads)
        neutral = (rows.never_negative.to_scipy() - rows.Y.to_scipy()).tocoo()
        filters = np.stack(neutral.coords, axis=1)[neutral.data != 0]
        queries = unit(self._embed_all(rows.queries)).cpu().numpy()
        top = index.topk(queries, 1 + extra_candidates(filters, len(rows.queries)))
        found = evaluate(top, rows.Y.to_scipy(), ks=(1,), metrics=("P",), filters=filters)["P@1"]
        return float(self.processes.from_main(np.array([found]))[0])


def mean_cosine(vectors: Any) -> float:
    """The mean cosine of any two of these unit vectors.

    Example:
        >>> mean_cosine(torch.eye(4))
        0.25
    """
    return float(vectors.mean(dim=0).square().sum())
