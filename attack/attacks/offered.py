"""Attacks made of generators that the tests have: each is wrapped here in a few lines."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from attack.protocol import ABORT, CRASH, HANG, MEMORY, UNTYPED, WRONG, Attack, Case, Failure, MiB


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
        slow = any(name in detail for name in ("SIGXCPU", "SIGALRM"))
        kinds = {"killed": HANG if slow else ABORT if "SIGABRT" in detail else CRASH, "wrong": WRONG, "hang": HANG}
        raise Failure(MEMORY if "MemoryError" in detail else kinds.get(word, UNTYPED), f"{word}: {detail}")


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


def hostile_arrays(case: Case) -> None:
    """A case of tests/hostile/arrays.py."""
    hostile = offered("tests.hostile.arrays")
    kind, detail = hostile.attempt(hostile.case(case.rng.getrandbits(32), case.number))
    raise_outcome({"right": "answered"}.get(kind, kind), detail)


def hostile_files(case: Case) -> None:
    """A file of tests/data/hostile_files.py, with other random numbers each time."""
    hostile = offered("tests.data.hostile_files")
    attack = hostile.ATTACKS[case.number % len(hostile.ATTACKS)]
    outcome = hostile.run(attack, case.folder, case.rng.getrandbits(32))
    if outcome.crash is not None:
        raise_outcome("killed" if "status -" in outcome.crash else "untyped", f"{attack.name}: {outcome.crash}")
    if outcome.peak_megabytes > attack.megabytes + 512:
        raise Failure(MEMORY, f"{attack.name}: {outcome.peak_megabytes:.0f} MB")
    raise_outcome("answered" if outcome.error is None else "refused", str(outcome.error))


# The attack's name, the module it needs, and what it tries; each joins once its module is there.
_WRAPPED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "offered-models": (
        "tests.store.hostile_models",
        "changes saved models",
        {
            "run": altered_models,
            "cases": 400,
            "budget": 20.0,
            "prepare": save_models,
            "warm": load_torch,
            "native": True,
        },
    ),
    "offered-arrays": (
        "tests.hostile.arrays",
        "passes hostile arrays to public functions",
        {"run": hostile_arrays, "cases": 1500, "budget": 20.0, "native": True, "memory": 2048 * MiB},
    ),
    "offered-files": (
        "tests.data.hostile_files",
        "reads hostile files and bombs",
        {"run": hostile_files, "cases": 60, "budget": 30.0, "seconds": 60},
    ),
}
ATTACKS = [
    Attack(name, f"{tries}, as {module.replace('.', '/')}.py does", watched=False, **how)
    for name, (module, tries, how) in _WRAPPED.items()
    if offered(module) is not None
]
