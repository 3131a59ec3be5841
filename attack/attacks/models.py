"""Saved models that were changed by somebody who made all sizes and hashes right again."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from attack import model_samples, mutations
from attack.answers import check_answers, same_answers
from attack.opened import Opened
from attack.protocol import FILE, WRONG, Attack, Case, Failure


def altered(name: str, case: Case) -> None:
    """Changes a sound model, loads it with all checks, and uses it as a caller would."""
    import labelwood as lw
    from labelwood import store

    opened = Opened(case.samples / name)
    others = [Opened(case.samples / other) for other in sorted(model_samples.MADE) if other != name]
    mutations.model(case.rng, opened, case.rng.sample(others, 3))
    place = case.folder / "model"
    try:
        opened.write(place)
    except (UnicodeEncodeError, ValueError):
        return  # half of a surrogate pair cannot be written as UTF-8
    before = contents(place)
    try:
        store.describe(place)
        use(lw.load(place), name, case)
    finally:
        if contents(place) != before:
            raise Failure(FILE, "using the model changed its files")


def use(model: Any, name: str, case: Case) -> None:
    """Asks for answers, saves, loads, and asks again."""
    import labelwood as lw

    rows = model_samples.questions(name)
    repr(model)
    if hasattr(model, "describe"):
        model.describe()
    check_answers(model, rows, case.rng)
    model.save(case.folder / "again")
    if not same_answers(lw.load(case.folder / "again").predict_topk(rows, 3), model.predict_topk(rows, 3)):
        raise Failure(WRONG, "the model answers differently after another save")


def damaged(case: Case) -> None:
    """Damages a model's files, hashes as they were, and loads it with the checks of the contents or without."""
    from labelwood import store

    name = case.rng.choice(sorted(model_samples.MADE))
    place = case.folder / "model"
    place.mkdir()
    files = contents(case.samples / name)
    file = case.rng.choice(sorted(files))
    files[file] = mutations.spoilt(case.rng, files[file])
    for other, data in files.items():
        (place / other).write_bytes(data)
    verify = case.rng.random() < 0.5
    state = store.read(place, verify=verify)
    if verify and files != contents(case.samples / name):
        raise Failure(WRONG, f"damage in {file} was not noticed")
    touch(state)


def frames(case: Case) -> None:
    """Changes only what describes the contents (manifest, headers, shapes), and loads without looking at these."""
    from labelwood import store

    name = case.rng.choice(sorted(model_samples.MADE))
    opened = Opened(case.samples / name)
    mutations.frame(case.rng, opened)
    try:
        opened.write(case.folder / "model")
    except (UnicodeEncodeError, ValueError):
        return
    touch(store.read(case.folder / "model", verify=False))
    store.describe(case.folder / "model")


def touch(state: Any) -> None:
    """Reads all that was mapped, which ends the process where it reaches beyond a file."""
    for array in state.arrays.values():
        array.tobytes()
    for names in state.names.values():
        len(names)
    for part in state.parts.values():
        touch(part)


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of all files of a folder."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def warm(name: str, samples: Path) -> None:
    """Loads and asks a sound model."""
    import labelwood as lw

    lw.load(samples / name).predict_topk(model_samples.questions(name), 3)


def made(name: str, cases: int, budget: float) -> Attack:
    """The attack on the models of a kind."""
    tries = f"changes a saved model of the kind {name}: numbers, words, parts, arrays and names, hashes made right"
    return Attack(
        f"model-{name}",
        tries,
        partial(altered, name),
        cases,
        budget,
        native=True,
        group="models",
        prepare=model_samples.save_all,
        warm=partial(warm, name),
    )


_COUNTS = dict.fromkeys(model_samples.MADE, (500, 15.0)) | {"prime-tiny": (300, 15.0), "prime-bert": (300, 20.0)}
ATTACKS = [made(name, *_COUNTS[name]) for name in model_samples.MADE]
_OTHERS: dict[str, Any] = {"native": True, "group": "models", "prepare": model_samples.save_all}
ATTACKS += [
    Attack("model-damage", "damages files of models, hashes as they were", damaged, 1000, 10.0, **_OTHERS),
    Attack("model-frames", "maps models with verify=False whose frames lie", frames, 1000, 10.0, **_OTHERS),
]
