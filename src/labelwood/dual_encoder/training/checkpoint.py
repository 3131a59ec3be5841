"""Checkpoints of training: a folder in the format of models, replaced in one step, to continue with the same result."""

from __future__ import annotations

from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from labelwood import store
from labelwood.dual_encoder.data.samplers import HardNegatives
from labelwood.dual_encoder.model.encoder import load_weights
from labelwood.dual_encoder.training.gradient_cache import random_state, set_random_state
from labelwood.errors import ModelError
from labelwood.store import State

if TYPE_CHECKING:
    from labelwood.dual_encoder.training.trainer import Trainer

_KIND = "prime-checkpoint"


def save(trainer: Trainer) -> None:
    """Saves all that training needs to continue; after a kill at any moment, the old or the new checkpoint is there."""
    assert trainer.checkpoints is not None
    tables = {
        "bank": _array(trainer.bank),
        "members": trainer.order.members,
        "starts": trainer.order.starts,
        "hard": trainer.sampler.hard.labels,
    }
    tables |= {f"random-{i}": _array(state) for i, state in enumerate(random_state(trainer.device))}
    facts = {
        "training": _fingerprint(trainer),
        "course": asdict(trainer.course),
        "history": trainer.history,
        "scale": trainer.scaler.state_dict(),
    }
    parts = {
        "network": _part(trainer.network.state_dict()),
        "best": _part(trainer.best_weights),
        "optimiser": State("arrays", {}, {}, arrays=trainer.optimiser.arrays()),
    }
    store.write(trainer.checkpoints, State(_KIND, {}, facts, arrays=tables, parts=parts))


def resume(trainer: Trainer) -> None:
    """Restores a checkpoint, if there is one; it is an error if it has other data or settings."""
    assert trainer.checkpoints is not None
    if not store.is_model(trainer.checkpoints):
        store.check_target(trainer.checkpoints)
        return
    state = store.read(trainer.checkpoints)
    if state.kind != _KIND or state.fitted.get("training") != _fingerprint(trainer):
        raise ModelError(
            f"{trainer.checkpoints} is not a checkpoint of these texts, labels and settings: "
            "remove it or give another folder"
        )
    try:
        _restore(trainer, state)
    except ModelError:
        raise
    except (KeyError, TypeError, ValueError, RuntimeError) as e:
        raise ModelError(f"{trainer.checkpoints} is damaged ({e!r}): remove it to start again") from None


def _restore(trainer: Trainer, state: State) -> None:
    load_weights(trainer.network, state.parts["network"].arrays, verify=True)
    trainer.best_weights = {n: torch.from_numpy(np.array(a)) for n, a in state.parts["best"].arrays.items()}
    trainer.optimiser.restore(state.parts["optimiser"].arrays)
    trainer.scaler.load_state_dict(state.fitted["scale"])
    trainer.course = type(trainer.course)(**state.fitted["course"])
    trainer.history = [dict(line) for line in state.fitted["history"]]
    trainer.bank = torch.from_numpy(np.array(state.array("bank", np.float32, 2))).to(trainer.device)
    trainer.order.members = np.array(state.array("members", np.int64, 1))
    trainer.order.starts = np.array(state.array("starts", np.int64, 1))
    trainer.sampler.hard = HardNegatives(np.array(state.array("hard", np.int32, 2)))
    if not _tables_match(trainer):
        raise ValueError("tables of other data")
    n_random = len(random_state(trainer.device))
    randomness = [torch.from_numpy(np.array(state.array(f"random-{i}", np.uint8, 1))) for i in range(n_random)]
    set_random_state(randomness, trainer.device)


def _tables_match(trainer: Trainer) -> bool:
    """Whether the tables fit these queries and labels, so that all their numbers are in range."""
    n, order, hard = len(trainer.pairs.queries), trainer.order, trainer.sampler.hard.labels
    return bool(
        trainer.bank.shape == (n, trainer.network.encoder.dim)
        and np.array_equal(np.sort(order.members), np.arange(n))
        and len(order.starts) > 1
        and (order.starts[0], order.starts[-1]) == (0, n)
        and (np.diff(order.starts) > 0).all()
        and len(hard) == n
        and (hard.size == 0 or 0 <= hard.min() <= hard.max() < len(trainer.pairs.labels))
    )


def _part(tensors: Any) -> State:
    return State("arrays", {}, {}, arrays={name: _array(tensor) for name, tensor in tensors.items()})


def _array(tensor: Any) -> NDArray[Any]:
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array


def _fingerprint(trainer: Trainer) -> str:
    """A fingerprint of everything that decides the resulting weights, so not of when checkpoints are written."""
    settings = trainer.settings.model_dump(mode="json")
    del settings["training"]["checkpoint_every"], settings["classifiers"]  # classifiers are trained later
    digest = sha256(repr((settings, trainer.device.type)).encode())
    for pairs in (trainer.pairs, trainer.held_out):
        if pairs is not None:
            digest.update(pairs.queries.digest().encode() + pairs.labels.digest().encode())
            for matrix in (pairs.Y, pairs.never_negative):
                digest.update(matrix.indptr.tobytes() + matrix.indices.tobytes())
    return digest.hexdigest()
