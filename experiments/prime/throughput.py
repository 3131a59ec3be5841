"""Queries a second of training: the trainer, the bare encoder on the same tokens, and sentence-transformers.

All with the same encoder, batches and precision, one after the other, and again: the least and the largest are kept.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
from common.kept import Kept
from corpora import MAX_TOKENS, NAMES, Corpus
from learning import Trials

SETS = tuple(NAMES)
BATCH = 2048  # queries
STEPS = 24  # that are timed, after some that are not
WARM_UP = 6


def measure(corpus: Corpus, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """Of each way queries a second, round by round, and the largest memory in GiB."""
    settings = {
        "batch": given.batch or BATCH,
        "steps": STEPS,
        "rounds": given.rounds,
        "checkpoint": given.checkpoint.name,
    }

    def compare() -> dict[str, Any]:
        bench = Bench(Trials(corpus, kept, given))
        ways = {
            "bare encoder, padded": lambda: bench.bare(packed=False),
            "bare encoder, as the trainer feeds it": lambda: bench.bare(packed=True),
            "DPR": lambda: bench.trainer("dpr"),
            "PRIME-lite": lambda: bench.trainer("prime_lite"),
            "PRIME": lambda: bench.trainer("prime"),
            "sentence-transformers": bench.sentence_transformers,
        }
        found: dict[str, Any] = {way: {"rates": [], "memory": 0.0} for way in ways}
        for _ in range(given.rounds):
            for way, run in ways.items():
                rate, memory = run()
                found[way]["rates"].append(rate)
                found[way]["memory"] = max(found[way]["memory"], memory)
        return found

    return kept.figures("throughput", settings, compare)


class Bench:
    """Times steps of training on one dataset."""

    def __init__(self, trials: Trials) -> None:
        import torch  # noqa: PLC0415  # only where something is trained

        from labelwood.prime.encoder import load_encoder  # noqa: PLC0415
        from labelwood.prime.tokens import Tokens  # noqa: PLC0415

        self.torch, self.trials, self.batch = torch, trials, trials.given.batch or BATCH
        self.device = torch.device(trials.given.device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.half = torch.bfloat16 if self.device.type == "cuda" else None
        self.encoder = load_encoder(trials.settings("dpr", seed=0).encoder).to(self.device)
        length = MAX_TOKENS[trials.corpus.name]
        train = trials.corpus.train
        self.tables = tuple(
            Tokens.of(texts, self.encoder.tokenizer, max_tokens=length) for texts in (train.texts, train.label_texts)
        )

    def _timed(self, step: Callable[[Any], None], n_queries: int) -> tuple[float, float]:
        """Queries a second of steps, which get a batch of queries and labels, and the memory they need."""
        for batch in self._batches(WARM_UP):
            step(batch)
        self._wait()
        if self.device.type == "cuda":
            self.torch.cuda.reset_peak_memory_stats()
        began = perf_counter()
        for batch in self._batches(STEPS):
            step(batch)
        self._wait()
        seconds = perf_counter() - began
        memory = self.torch.cuda.max_memory_allocated() / 2**30 if self.device.type == "cuda" else 0.0
        return STEPS * n_queries / seconds, memory

    def _wait(self) -> None:
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()

    def _batches(self, n: int) -> Iterator[tuple[Any, Any]]:
        """Random queries, and a label of each."""
        Y, rng = self.trials.corpus.train.Y, np.random.default_rng(0)
        rows = np.flatnonzero(np.diff(Y.indptr))
        for _ in range(n):
            queries = rng.choice(rows, min(self.batch, len(rows)), replace=False)
            yield queries, Y.indices[Y.indptr[queries]].astype(np.int64)

    def bare(self, *, packed: bool) -> tuple[float, float]:
        """Forward and backward of the encoder alone: padded as is usual, or packed as our trainer does it."""
        from labelwood.prime.embedding import Embedder  # noqa: PLC0415

        how = {"half": self.half, "compiled": self.trials.given.compile, "pack": packed}
        embed = Embedder(self.encoder, self.tables, device=self.device, **how)
        self.encoder.train()

        def step(batch: tuple[Any, Any]) -> None:
            queries, labels = batch
            texts = labels + len(self.tables[0])
            for which in [np.concatenate([queries, np.unique(texts)])] if packed else [queries, texts]:
                embed(which).sum().backward()
            self.encoder.zero_grad(set_to_none=True)

        return self._timed(step, self.batch)

    def trainer(self, config: str) -> tuple[float, float]:
        """Whole steps of our trainer, with its sampling, prototypes, loss and update of weights."""
        from labelwood.inputs import as_labels  # noqa: PLC0415
        from labelwood.prime.trainer import Pairs, Trainer  # noqa: PLC0415

        train = self.trials.corpus.train
        Y = as_labels(train.Y, len(train))
        settings = self.trials.settings(config, seed=0, batches={"random_epochs": 0, "size": self.batch})
        trainer = Trainer(self.encoder, Pairs(*self.tables, Y, Y), settings, device=self.device)
        trainer.network.train()
        if trainer.order.is_due(0):
            trainer.order.refresh(0, trainer.bank.cpu().numpy())
        order, size = trainer.order.of_epoch(0), settings.batches.size
        places = iter(range(WARM_UP + STEPS))

        def step(_: Any) -> None:
            number = next(places)
            at = number * size % max(1, len(order) - size)
            trainer._learn(trainer.sampler.batch(order[at : at + size], epoch=0, step=number))
            trainer._update()

        return self._timed(step, size)

    def sentence_transformers(self) -> tuple[float, float]:
        """Its MultipleNegativesRankingLoss on the same pairs: tokens made for each batch, as its trainer does."""
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415
        from sentence_transformers.losses import MultipleNegativesRankingLoss  # noqa: PLC0415
        from sentence_transformers.util import batch_to_device  # noqa: PLC0415

        model = SentenceTransformer(str(self.trials.given.checkpoint), device=str(self.device))
        model.max_seq_length = MAX_TOKENS[self.trials.corpus.name]
        prepare = getattr(model, "preprocess", None) or model.tokenize  # as newer releases call it
        loss = MultipleNegativesRankingLoss(model)
        adam = self.torch.optim.AdamW(model.parameters(), lr=2e-5, fused=self.device.type == "cuda")
        train = self.trials.corpus.train
        model.train()

        def step(batch: tuple[Any, Any]) -> None:
            texts = [train.texts.take(batch[0]).to_pylist(), train.label_texts.take(batch[1]).to_pylist()]
            features = [batch_to_device(prepare(some), self.device) for some in texts]
            with self.torch.autocast(self.device.type, self.half, enabled=self.half is not None):
                loss(features, None).backward()
            adam.step()
            adam.zero_grad()

        return self._timed(step, self.batch)
