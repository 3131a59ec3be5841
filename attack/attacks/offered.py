"""Attacks made of generators that the tests have: each is wrapped here in a few lines."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from attack.protocol import ABORT, CRASH, HANG, MEMORY, MESSAGE, UNTYPED, Attack, Case, Failure


def offered(module: str) -> Any:
    """A module of the tests, or None where there is none."""
    parents = ["tests", *(f"tests.{part}" for part in module.split(".")[1:-1])]
    return import_module(module) if all(map(find_spec, parents)) and find_spec(module) else None


def numpy_random(case: Case) -> np.random.Generator:
    """numpy's random numbers for a case."""
    return np.random.default_rng(case.rng.getrandbits(64))


def altered_models(case: Case) -> None:
    """A change of a saved model by tests/store/hostile_models.py."""
    hostile = offered("tests.store.hostile_models")
    place = case.rng.choice(sorted(path for path in case.samples.iterdir() if path.is_dir()))
    change = next(iter(hostile.changes(hostile.opened(place), numpy_random(case))))
    hostile.write(case.folder / "model", change)
    word, detail = hostile.tried(case.folder / "model", verify=True)
    raise_outcome(word, detail)


def raise_outcome(word: str, detail: str) -> None:
    """The words of that module as ours."""
    from labelwood.errors import LabelwoodError

    if word == "refused":
        raise LabelwoodError(detail)
    if word != "answered":
        kinds = {"killed": ABORT if detail == "SIGABRT" else HANG if detail in {"SIGXCPU", "SIGALRM"} else CRASH}
        memory = "MemoryError" in detail
        raise Failure(MEMORY if memory else kinds.get(word, MESSAGE if "line" in word else UNTYPED), f"{word}: {detail}")


def save_models(folder: Path) -> None:
    """The sound models of tests/store/hostile_models.py."""
    hostile = offered("tests.store.hostile_models")
    for _ in hostile.sound_models(folder):
        pass


def load_torch(samples: Path) -> None:
    """Before anything is measured."""
    import labelwood as lw

    for place in samples.iterdir():
        if place.is_dir():
            lw.load(place)


ATTACKS: list[Attack] = []
if offered("tests.store.hostile_models") is not None:
    tries = "changes saved models as tests/store/hostile_models.py does"
    ATTACKS.append(
        Attack("models-offered", tries, altered_models, 400, 40.0, native=True, prepare=save_models, warm=load_torch)
    )
