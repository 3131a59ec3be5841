"""The training that `test_processes` runs in one process, and in two processes with this script."""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path

import numpy as np
import torch
from tests.dual_encoder.samples import changed, texts_and_labels

from labelwood import PrimeClassifier
from labelwood.arrays.rows import as_labels
from labelwood.dual_encoder.data.tokens import Tokens
from labelwood.dual_encoder.gpu.processes import Processes
from labelwood.dual_encoder.model.pretrained import load_encoder
from labelwood.dual_encoder.settings import as_settings
from labelwood.dual_encoder.training.trainer import Pairs, Trainer
from labelwood.errors import ModelError

N_QUERIES, SIZE = 100, 33  # the last batch has one query: fewer than processes


def case(**tables):
    """Settings with batches that cannot be shared evenly.

    Clusters and hard negatives are found once, at the beginning: later, vectors that differ in their last bits can come
    into other ones. And a larger epsilon than usual keeps AdamW from making steps of gradients that are but rounding:
    that of the bias of an attention's keys is zero.
    """
    batches = {"size": SIZE, "random_epochs": 0, "refresh_every": 99, **tables.get("batches", {})}
    return changed(**{**tables, "batches": batches, "training": {"epsilon": 1e-4, **tables.get("training", {})}})


def cases(folder):
    """Settings by name, for the encoders in `folder`, with and without dropout."""
    bert = {"encoder": {"checkpoint": str(folder / "bert")}, "batches": {"sampler": "random"}}
    dexml = {
        "prototypes": {"kind": "text"},
        "objective": {"label_to_query": 0.0, "regulariser": 0.0},
        "loss": {"kind": "decoupled"},
        "batches": {"columns": "all"},
    }
    return {
        "plain": case(),
        "cached": case(training={"chunk_size": 7}),
        "accumulated": case(training={"accumulate": 3}),
        "half": case(training={"epochs": 2, "precision": "fp16"}),
        "half cached": case(training={"epochs": 2, "precision": "fp16", "chunk_size": 20}),
        "hard negatives": case(batches={"hard_negatives": 2}),
        "all labels": case(**dexml),
        "all labels cached": case(**dexml, training={"chunk_size": 5}),
        "transformer": case(**bert, training={"epochs": 2}),
        "transformer cached": case(**bert, training={"epochs": 2, "chunk_size": 8}),
        "early stop": case(training={"epochs": 30, "patience": 2, "learning_rate": 0.02}),
    }


HANDED_OVER = case(training={"checkpoint_every": 2})


def trainer(settings, *, kind=Trainer, **options):
    """A trainer of the sample, with held-out rows if the settings have patience."""
    torch.manual_seed(0)
    settings = as_settings(settings)
    encoder = load_encoder(settings.encoder)
    held_out = rows(encoder, seed=1) if settings.training.patience else None
    return kind(encoder, rows(encoder), settings, held_out=held_out, **options)


def rows(encoder, **options):
    texts, Y, label_texts = texts_and_labels(n=N_QUERIES, **options)
    tokens = [Tokens.of(t, encoder.tokenizer, max_tokens=8) for t in (texts, label_texts)]
    return Pairs(*tokens, *[as_labels(Y, len(texts))] * 2)


class Half(Trainer):
    """Trains in half precision on a CPU; this is slow, but scales gradients like on a GPU."""

    def _half(self):
        return torch.float16 if self.settings.training.precision == "fp16" else None


def trained(settings, *, kind=Half, **options):
    """A trainer after its training."""
    learner = trainer(settings, kind=kind, **options)
    learner.train()
    return learner


def outcome(learner):
    """Everything that must be the same: weights, centroids, tables and held-out P@1."""
    found = {name: tensor.numpy() for name, tensor in learner.network.state_dict().items()}
    found |= {"bank": learner.bank.numpy(), "members": learner.order.members, "hard": learner.sampler.hard.labels}
    return found | {"P@1": np.array([line.get("P@1", -1.0) for line in learner.history])}


class Mortal(Trainer):
    """Dies after five steps."""

    def _count_step(self):
        super()._count_step()
        if self.course.step == 5:
            raise KeyboardInterrupt


def kill(settings, folder, **options):
    """Starts a training that dies and leaves a checkpoint."""
    try:
        trained(settings, kind=Mortal, checkpoints=folder, **options)
    except KeyboardInterrupt:
        torch.rand(3)


def resumed(settings, folder, **options):
    """A trainer that has resumed from a checkpoint and finished."""
    learner = trainer(settings, checkpoints=folder, **options)
    assert learner.course.step == 4
    learner.train()
    return learner


def note_connection(folder):
    """Notes at the end of the process whether it is still connected."""
    (folder / f"is-connected-{os.environ['RANK']}").write_text(str(torch.distributed.is_initialized()))


def main(folder):
    atexit.register(note_connection, folder)
    processes = Processes.connect("cpu" if torch.cuda.is_available() else None)
    assert processes.n == 2
    found = {name: outcome(trained(settings, processes=processes)) for name, settings in cases(folder).items()}
    with processes.own_randomness(0, 0):
        found["randomness"] = {"own": torch.rand(4).numpy()}
    found["randomness"]["common"] = torch.rand(4).numpy()
    often = case(encoder={"checkpoint": str(folder / "dropout")}, training={"epochs": 2, "checkpoint_every": 2})
    found["straight"] = outcome(trained(often, processes=processes))
    kill(often, folder / "checkpoint", processes=processes)
    found["resumed"] = outcome(resumed(often, folder / "checkpoint", processes=processes))
    handed_over = folder / f"handed over by {processes.rank}"
    kill(HANDED_OVER, handed_over, processes=processes)
    try:
        trainer(HANDED_OVER, checkpoints=handed_over, processes=processes)
    except ModelError as e:
        found["refusal"] = {"is clear": np.array("not the same for all processes" in str(e))}
    data = texts_and_labels()
    model = PrimeClassifier(settings=case(), cache=folder / "tokens", verbose=True).fit(*data)
    model.save(folder / f"model-{processes.rank}")
    found["classifier"] = {"prototypes": model.prototypes_, "ids": model.predict_topk(data[0], 3).ids}
    arrays = {f"{name}/{part}": array for name, parts in found.items() for part, array in parts.items()}
    np.savez(folder / f"process-{processes.rank}.npz", **arrays)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]))
