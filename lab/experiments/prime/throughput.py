"""Queries a second of training: the trainer, the bare encoder on the same tokens, and sentence-transformers.

All with the same encoder, batches and precision, one after the other, and again; each round is kept. Ours and the bare
encoder are compiled and replayed, the padded one only compiled, sentence-transformers as its trainer is.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import count, cycle
from time import perf_counter
from typing import Any

import numpy as np

from lab.experiments.common.kept import Kept
from lab.experiments.prime.corpora import MAX_TOKENS, NAMES, Corpus
from lab.experiments.prime.learning import Trials
from labelwood.arrays.rows import as_labels

SETS = tuple(NAMES)
BATCH = 2048  # queries
STEPS, FEWER = 24, 8  # batches, which come again and again; the rival's take ten times as long
RIVAL = "sentence-transformers"


def measure(corpus: Corpus, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """Of each way queries a second, of all rounds, and the largest memory in GiB."""
    settings = {
        "batch": given.batch or BATCH,
        "steps": STEPS,
        "seconds": given.seconds,
        "checkpoint": given.checkpoint.name,
        "compile": given.compile,
    }
    bench = cache(lambda: Bench(Trials(corpus, kept, given)))  # only if a round is missing

    def round_of(number: int) -> dict[str, Any]:
        return kept.figures(f"throughput-{number}", settings, lambda: bench().round())

    return gathered([round_of(number) for number in range(given.rounds)])


def gathered(rounds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of each way the rates of all rounds, and the largest memory."""
    return {
        way: {
            "rates": [each[way]["rate"] for each in rounds],
            "memory": max(each[way]["memory"] for each in rounds),
        }
        for way in WAYS
        if all(way in each for each in rounds)  # the rival may not have been installed
    }


Step = Callable[[], None]


class Bench:
    """Steps of training on one dataset: the same texts and labels in each way."""

    def __init__(self, trials: Trials) -> None:
        import torch  # noqa: PLC0415  # only where something is trained

        from labelwood.dual_encoder.data.tokens import Tokens  # noqa: PLC0415
        from labelwood.dual_encoder.gpu.precision import half_for  # noqa: PLC0415
        from labelwood.dual_encoder.model.pretrained import load_encoder  # noqa: PLC0415

        self.torch, self.trials, self.size = torch, trials, trials.given.batch or BATCH
        self.device = torch.device(trials.given.device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.half = half_for("bf16", self.device)
        self.encoder = load_encoder(trials.settings("dpr", seed=0).encoder).to(self.device)
        length = MAX_TOKENS[trials.corpus.name]
        train = trials.corpus.train
        self.tables = tuple(
            Tokens.of(texts, self.encoder.tokenizer, max_tokens=length) for texts in (train.texts, train.label_texts)
        )
        self.Y = as_labels(train.Y, len(train))

    def round(self) -> dict[str, Any]:
        """Each way once."""
        found = {}
        for way, (_, make) in WAYS.items():  # made anew each time, or its memory would be that of all of them
            is_rival = way.startswith(RIVAL)
            if is_rival and find_spec("sentence_transformers") is None:
                sys.stderr.write(f"{way}: left out, since it is not installed\n")
                continue
            n_steps, times = (FEWER, 1) if is_rival else (STEPS, 2)  # the second time each size of ours is recorded
            rate, memory = self.timed(make, n_steps, n_before=times * n_steps)
            found[way] = {"rate": rate, "memory": memory}
            sys.stderr.write(f"{way}: {rate:,.0f} queries a second, {memory:.1f} GiB\n")
        return found

    def timed(self, make: Callable[[Bench], Step], n_steps: int, *, n_before: int) -> tuple[float, float]:
        """Queries a second, and GiB that torch holds at most; after `n_steps` the same batches come again."""
        from labelwood.dual_encoder.training.collector import frozen_collector  # noqa: PLC0415

        cuda = self.torch.cuda if self.device.type == "cuda" else None
        gc.collect()  # what another way has recorded
        if cuda:
            cuda.empty_cache()
            cuda.reset_peak_memory_stats()
        step = make(self)
        for _ in range(n_before):
            step()
        with frozen_collector() as settle:  # as the trainer does, and for all ways
            settle()
            self._wait()
            began, n_done = perf_counter(), 0
            while (seconds := perf_counter() - began) < self.trials.given.seconds:
                for _ in range(n_steps):
                    step()
                self._wait()
                n_done += n_steps
        return n_done * self.size / seconds, cuda.max_memory_reserved() / 2**30 if cuda else 0.0

    def _wait(self) -> None:
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()

    def settings(self, config: str) -> Any:
        """Those of a configuration, with batches at random."""
        return self.trials.settings(config, seed=0, batches={"sampler": "random", "size": self.size})

    def batches(self, config: str, n_steps: int = STEPS) -> Iterator[Any]:
        """The batches of the steps, again and again: what the trainer has in them too."""
        from labelwood.dual_encoder.data.samplers import BatchSampler, QueryOrder, prefetch  # noqa: PLC0415

        settings = self.settings(config).batches
        sampler = BatchSampler(self.Y, settings, seed=0)
        useful = np.flatnonzero(np.diff(self.Y.indptr))
        order = useful[QueryOrder(len(useful), settings.schedule(epochs=1), seed=0).of_epoch(0)]

        def batch(number: int) -> Any:
            at = number % n_steps * self.size % max(1, len(order) - self.size)
            return sampler.batch(order[at : at + self.size], epoch=0, step=number % n_steps)

        return prefetch(batch, count())

    def padded(self) -> Step:
        """Forward and backward of the encoder alone, as is usual: a text for each pair, all padded to the longest."""
        from labelwood.dual_encoder.data.tokens import TokenFeeder  # noqa: PLC0415

        batches, feeder = self.batches("anchored_lite"), TokenFeeder(self.tables, self.device)
        encode = self.torch.compile(self.encoder, dynamic=True) if self.trials.given.compile else self.encoder
        self.encoder.train()

        def step() -> None:
            batch = next(batches)
            for which in (batch.queries, batch.labels[batch.columns] + len(self.tables[0])):
                with self.torch.autocast(self.device.type, self.half, enabled=self.half is not None):
                    vectors = encode(*feeder.padded(which))
                self._backward(vectors)

        return step

    def bare(self, config: str) -> Step:
        """Forward and backward of the encoder alone on the very batches that the trainer feeds it."""
        from labelwood.dual_encoder.data.tokens import Packed  # noqa: PLC0415
        from labelwood.dual_encoder.gpu.recording import Recorder  # noqa: PLC0415
        from labelwood.dual_encoder.model.embedding import Embedder  # noqa: PLC0415

        how = {"half": self.half, "compiled": self.trials.given.compile}
        batches, embed = self.batches(config), Embedder(self.encoder, self.tables, device=self.device, **how)
        self.encoder.train()

        def backward(*texts: Any) -> Any:
            return self._backward(embed.embed_packed(Packed(*texts, embed.feeder.longest)))

        asked = Recorder(backward, self.device) if self.trials.given.compile and embed.packs else backward

        def step() -> None:
            batch = next(batches)
            which = np.concatenate([batch.queries, batch.labels + len(self.tables[0])])
            if embed.packs:
                asked(*embed.feeder.packed(which, rounded=True)[:-1])
            else:
                self._backward(embed(which))

        return step

    def _backward(self, vectors: Any) -> Any:
        """Gradients of the encoder, which are dropped."""
        total = vectors.sum()
        total.backward()
        self.encoder.zero_grad(set_to_none=True)
        return total.detach()

    def trainer(self, config: str) -> Step:
        """Whole steps of our trainer, with its sampling, prototypes, loss and update of weights."""
        from labelwood.dual_encoder.training.trainer import Pairs, Trainer  # noqa: PLC0415

        batches = self.batches(config)
        trainer = Trainer(self.encoder, Pairs(*self.tables, self.Y, self.Y), self.settings(config), device=self.device)

        def step() -> None:
            trainer.network.train()
            trainer.step(next(batches))

        return step

    def sentence_transformers(self, *, at_hand: bool) -> Step:
        """Its MultipleNegativesRankingLoss on the same pairs; tokens of each batch are made in its step, as its trainer
        does, or are `at_hand` as ours are.
        """
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415
        from sentence_transformers.losses import MultipleNegativesRankingLoss  # noqa: PLC0415
        from sentence_transformers.util import batch_to_device  # noqa: PLC0415

        model = SentenceTransformer(str(self.trials.given.checkpoint), device=str(self.device)).float()
        model.max_seq_length = MAX_TOKENS[self.trials.corpus.name]
        prepare = getattr(model, "preprocess", None) or model.tokenize  # as newer releases call it
        loss = MultipleNegativesRankingLoss(model)
        adam = self.torch.optim.AdamW(model.parameters(), lr=2e-5, fused=self.device.type == "cuda")
        train, batches = self.trials.corpus.train, self.batches("anchored_lite", FEWER)
        model.train()

        def tokens() -> list[Any]:
            batch = next(batches)
            pairs = (train.texts, batch.queries), (train.label_texts, batch.labels[batch.columns])
            return [prepare(texts.take(rows).to_pylist()) for texts, rows in pairs]

        known = cycle([tokens() for _ in range(FEWER)]) if at_hand else None

        def step() -> None:
            features = [batch_to_device(dict(each), self.device) for each in (next(known) if known else tokens())]
            with self.torch.autocast(self.device.type, self.half, enabled=self.half is not None):
                loss(features, None).backward()
            adam.step()
            adam.zero_grad()

        return step


# Each with the bare encoder that it is measured by.
WAYS: dict[str, tuple[str, Callable[[Bench], Step]]] = {
    "bare encoder, padded": ("bare encoder", Bench.padded),
    "bare encoder": ("bare encoder", lambda bench: bench.bare("anchored_lite")),
    "DPR": ("bare encoder", lambda bench: bench.trainer("dpr")),
    "PRIME-lite, anchored": ("bare encoder", lambda bench: bench.trainer("anchored_lite")),
    RIVAL: ("bare encoder", lambda bench: bench.sentence_transformers(at_hand=False)),
    f"{RIVAL}, tokens at hand": ("bare encoder", lambda bench: bench.sentence_transformers(at_hand=True)),
    "bare encoder, two labels a text": ("bare encoder, two labels a text", lambda bench: bench.bare("anchored")),
    "PRIME, anchored": ("bare encoder, two labels a text", lambda bench: bench.trainer("anchored")),
}
