"""Attacks made of generators that the tests have."""

from __future__ import annotations

import shutil
from itertools import islice
from pathlib import Path

import numpy as np

from attack.attacks.encoders import encoder_of, warm_bert
from attack.model_samples import save_all
from attack.opened import Opened
from attack.protocol import ABORT, CRASH, FILE, HANG, MEMORY, UNTYPED, WRONG, Attack, Case, Failure, MiB


def numpy_random(case: Case) -> np.random.Generator:
    """numpy's random numbers for a case."""
    return np.random.default_rng(case.rng.getrandbits(64))


def altered_models(case: Case) -> None:
    """A change of a saved model by tests/store/hostile_models.py."""
    from tests.store import hostile_models as hostile

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
    if not word.startswith("answered"):
        slow = any(name in detail for name in ("SIGXCPU", "SIGALRM"))
        kinds = {"killed": HANG if slow else ABORT if "SIGABRT" in detail else CRASH, "wrong": WRONG, "hang": HANG}
        raise Failure(MEMORY if "MemoryError" in detail else kinds.get(word, UNTYPED), f"{word}: {detail}")


def save_models(folder: Path) -> None:
    """The sound models of tests/store/hostile_models.py."""
    from tests.store import hostile_models as hostile

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
    from tests.hostile import arrays as hostile

    kind, detail = hostile.attempt(hostile.case(case.rng.getrandbits(32), case.number))
    raise_outcome({"right": "answered"}.get(kind, kind), detail)


def hostile_files(case: Case) -> None:
    """A file of tests/data/hostile_files.py, with other random numbers each time."""
    from tests.data import hostile_files as hostile

    attacks = [attack for group in hostile.GROUPS.values() for attack in group]
    attack = attacks[case.number % len(attacks)]
    (outcome,) = hostile.run([attack], case.folder, case.rng.getrandbits(32))
    if outcome.crash is not None:
        raise_outcome("killed" if "status -" in outcome.crash else "untyped", f"{attack.name}: {outcome.crash}")
    if outcome.peak_megabytes > attack.megabytes + 512:
        raise Failure(MEMORY, f"{attack.name}: {outcome.peak_megabytes:.0f} MB")
    raise_outcome("answered" if outcome.error is None else "refused", str(outcome.error))


def hostile_encoders(case: Case) -> None:
    """A configuration or a tokenizer of tests/dual_encoder/hostile.py, in a saved model."""
    from tests.dual_encoder import hostile

    import labelwood as lw

    opened = Opened(case.samples / "prime-bert")
    kind = case.rng.choice(["config", "tokenizer", "mutated"])
    if kind == "config":
        what, config = case.rng.choice(list(hostile.hostile_configs(case.rng, 40)))
        encoder_of(opened)["fitted"]["config"] = config
    else:
        texts = hostile.hostile_tokenizers() if kind == "tokenizer" else hostile.mutated_tokenizers(case.rng, 3)
        what, text = case.rng.choice(list(texts))
        key = next(key for key in opened.arrays if key.endswith("tokenizer.json"))
        opened.arrays[key] = np.frombuffer(text.encode(), np.uint8).copy()
    opened.write(case.folder / "model")
    model = lw.load(case.folder / "model")
    if kind != "mutated":
        raise Failure(WRONG, f"an encoder that must be refused was loaded: {what}")
    model.predict_topk(["q1 word2", "A", "é"], 3)


def hostile_targets(case: Case) -> None:
    """A command of tests/cli/hostile_targets.py, with something in the way of what it writes."""
    from tests.cli import hostile_targets as hostile

    inputs = case.folder / "inputs"
    shutil.copytree(case.samples / "inputs", inputs)
    untouched = hostile.contents(inputs)
    tries = hostile.attempts(inputs)
    name, place, arguments = next(islice(tries, case.number, None), (None, None, None))
    if name is None:
        return  # there are no more
    before = hostile.contents(place)
    status = hostile.quiet(arguments)
    after = hostile.contents(place)
    changed = [file for file, content in before.items() if after.get(file) != content]
    half = [file for file in after.keys() - before.keys() if status != 0 or Path(file).name.startswith(".")]
    if changed or half or hostile.contents(inputs) != untouched:
        raise Failure(FILE, f"{name}: changed {changed}, left behind {half}")
    if status not in {0, 2}:
        raise Failure(UNTYPED, f"{name}: status {status}")


def prepare_targets(folder: Path) -> None:
    """Inputs of all commands."""
    (folder / "inputs").mkdir()
    from tests.cli import hostile_targets

    hostile_targets.write_inputs(folder / "inputs")


ATTACKS = [
    Attack(
        "tests-models",
        "changes saved models, as tests/store/hostile_models.py does",
        run=altered_models,
        cases=400,
        budget=20.0,
        prepare=save_models,
        warm=load_torch,
        native=True,
        watched=False,
    ),
    Attack(
        "tests-arrays",
        "passes hostile arrays to public functions, as tests/hostile/arrays.py does",
        run=hostile_arrays,
        cases=1500,
        budget=20.0,
        native=True,
        memory=2048 * MiB,
        watched=False,
    ),
    Attack(
        "tests-encoders",
        "loads encoders with hostile configurations and tokenizers, as tests/dual_encoder/hostile.py has them",
        run=hostile_encoders,
        cases=300,
        budget=20.0,
        group="models",
        prepare=save_all,
        warm=warm_bert,
        watched=False,
    ),
    Attack(
        "tests-targets",
        "puts files, links, folders and pipes in the way of what commands write, as tests/cli/hostile_targets.py does",
        run=hostile_targets,
        cases=440,
        budget=30.0,
        prepare=prepare_targets,
        watched=False,
    ),
    Attack(
        "tests-files",
        "reads hostile files and bombs, as tests/data/hostile_files.py writes them",
        run=hostile_files,
        cases=60,
        budget=30.0,
        seconds=60,
        memory=8192 * MiB,  # bombs are written in the same process
        watched=False,
    ),
]
