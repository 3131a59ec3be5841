"""Two models that take long enough to save that a signal can fall into the middle of it."""

from __future__ import annotations

import os
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from attack.answers import same_answers
from attack.protocol import FILE, Failure

N_FEATURES = 20_000
VICTIM = {"thesis.txt": b"precious", "arrays-0123456789abcdef.safetensors": b"precious", "manifest.json": b"{}"}


def make(folder: Path) -> None:
    """Saves both."""
    import labelwood as lw

    Y = sparse.csr_array(np.eye(60, dtype=np.float32)[np.arange(300) % 60])
    for number in (0, 1):
        rng = np.random.default_rng(number)
        X = sparse.random_array((300, N_FEATURES), density=0.05, rng=rng, dtype=np.float32, format="csr")
        lw.CentroidClassifier(n_threads=1).fit(X, Y).save(folder / str(number))
    lw.TextClassifier(model="centroid", n_threads=1).fit(["a dog", "a rose"] * 9, [["x"], ["y"]] * 9).save(
        folder / "text"
    )
    lw.write(lw.Dataset.from_texts([f"a dog {i}" for i in range(20_000)], [["x"]] * 20_000), folder / "rows.jsonl")


@cache
def models(samples: Path) -> list[Any]:
    """Both, loaded."""
    import labelwood as lw

    return [lw.load(samples / str(number)) for number in (0, 1)]


@cache
def question() -> Any:
    """Rows to ask them about."""
    rng = np.random.default_rng(9)
    return sparse.random_array((5, N_FEATURES), density=0.05, rng=rng, dtype=np.float32, format="csr")


@cache
def answers(samples: Path) -> list[Any]:
    """What they answer."""
    return [model.predict_topk(question(), 5) for model in models(samples)]


def seconds_of(samples: Path, scratch: Path) -> float:
    """How long a save takes here."""
    models(samples)[0].save(scratch)
    started = time.monotonic()
    models(samples)[1].save(scratch)
    return time.monotonic() - started


def check_old_or_new(place: Path, samples: Path) -> int:
    """Which of the two models a folder holds; none is a failure."""
    import labelwood as lw
    from labelwood.errors import LabelwoodError

    try:
        top = lw.load(place).predict_topk(question(), 5)
    except LabelwoodError as error:
        raise Failure(FILE, f"neither the old model nor the new one loads: {error}") from None
    for number, answer in enumerate(answers(samples)):
        if same_answers(top, answer):
            return number
    raise Failure(FILE, "what loads is neither the old model nor the new one")


def plant_victim(folder: Path) -> Path:
    """A folder with files that are nobody's business."""
    place = folder / "victim"
    place.mkdir()
    for name, content in VICTIM.items():
        (place / name).write_bytes(content)
    return place


def check_victim(place: Path) -> None:
    """Everything in it is as it was."""
    if {file.name: file.read_bytes() for file in place.iterdir()} != VICTIM:
        raise Failure(FILE, f"files elsewhere were changed: {sorted(os.listdir(place))}")


def check_files(folder: Path, wanted: set[str]) -> None:
    """Nothing else lies in the folder."""
    extra = {entry for entry in os.listdir(folder) if not entry.startswith((".out", ".err", ".failure"))} - wanted
    if extra:
        raise Failure(FILE, f"something half-written is left: {sorted(extra)}")
