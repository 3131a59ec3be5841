"""Models of every kind, altered as an attacker would: every hash and size is right, but the contents are false.

    for change in changes(model, rng):          # or every_number(model), which changes each number in turn
        write(folder, change)
        outcome = tried(folder, verify=True)    # in a process with limits on memory and time

`SOUND` are the acceptable outcomes: an answer, a `LabelwoodError` instead of an answer ("late"), or a `ModelError` of
one sentence that names the path of the model.
"""

from __future__ import annotations

import faulthandler
import hashlib
import os
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save
from scipy import sparse

import labelwood as lw
from labelwood import store
from labelwood.errors import LabelwoodError
from labelwood.store.manifest import FILE, render
from labelwood.store.strict_json import loads

VALUES = (0, -1, 1, 2**31 - 1, 2**31, 2**40, 2**63, 1e308, "x", None, True, [], {})
ITEMS = (0, 1, -1, 127, 255, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), float("nan"), float("inf"), 1e38, -1e38)
SOUND = ("answered", "answered late", "refused")
MEMORY, SECONDS = 3 << 29, 20  # in addition to what the process uses already

TEXTS = ["a dog barks", "red roses bloom", "the old oak", "a young elm grows"] * 10
LABELS = [["dog"], ["rose", "red"], ["oak"], ["elm"]] * 10


class Change(NamedTuple):
    """An altered model: a description of the change, the manifest, its arrays, and the folder with its names."""

    name: str
    manifest: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    origin: Path


def sound_models(folder: Path, *, deep: bool = True) -> Iterator[tuple[str, Path]]:
    """Yields small saved models of every kind; with `deep`, also those that torch trains."""
    for name, model in {**_of_numbers(), **_of_texts(), **(_deep() if deep else {})}.items():
        model().save(folder / name)
        yield name, folder / name


def _of_numbers() -> dict[str, Callable[[], Any]]:
    eye = sparse.eye_array(24, format="csr", dtype=np.float32)
    rows = sparse.vstack([eye] * 20, format="csr")
    tree = {"tree": "balanced", "arity": 2, "max_leaf": 2}
    small = lw.SoftmaxTreeClassifier(dim=16, epochs=1)
    wide = sparse.eye_array(400, format="csr", dtype=np.float32)
    return {
        "tree": lambda: lw.TreeClassifier(n_trees=2, **tree).fit(rows, rows).calibrate(rows, k=1, loss=0.1),
        "copies": lambda: lw.TreeClassifier(copies=2, merge="mean", precision="float16", **tree).fit(rows, rows),
        "one-vs-rest": lambda: lw.OneVsRest(precision="float32").fit(eye, eye),
        "softmax-tree": lambda: lw.SoftmaxTreeClassifier(dim=8, beam=3, epochs=2).fit(eye, eye),
        "softmax-flat": lambda: lw.SoftmaxTreeClassifier(dim=8, loss="one-vs-rest", epochs=2).fit(eye, eye),
        "softmax-small": lambda: small.fit(wide, wide).compressed(max_features=300),
        "centroid": lambda: lw.CentroidClassifier().fit(eye, eye),
        "centroid-dense": lambda: lw.CentroidClassifier().fit(eye.toarray(), eye),
    }


def _of_texts() -> dict[str, Callable[[], Any]]:
    hashed = lw.TextVectorizer(analyzer="char_wb", ngrams=(2, 3), n_buckets=64)
    joined = lw.JoinedVectorizer(parts=[lw.TextVectorizer(stop_words=["the"]), hashed])
    members = [lw.TextClassifier(), lw.TextClassifier(model="centroid")]
    Y = np.eye(4)[[0, 1, 2, 3] * 10]
    return {
        "text": lambda: lw.TextClassifier().fit(TEXTS, LABELS),
        "text-joined": lambda: lw.TextClassifier(model="centroid", vectorizer=joined).fit(TEXTS, LABELS),
        "fused": lambda: lw.FusedClassifier(members=members, held_out=0.2).fit(TEXTS, Y),
    }


def _deep() -> dict[str, Callable[[], Any]]:
    eye, Y = np.eye(4, dtype=np.float32), sparse.csr_array(np.eye(4, dtype=np.float32)[[0, 1, 2, 3] * 10])
    training = {"epochs": 1, "precision": "fp32"}
    tiny = {"encoder": {"checkpoint": "tiny:8"}, "training": training, "batches": {"size": 8}}
    prime = {**tiny, "prototypes": {"kind": "network", "feedforward": 16, "free_vectors": 2}}
    topped = {**tiny, "prototypes": {"kind": "sum"}, "classifiers": {"enabled": True, "epochs": 1}}
    names = ["dog", "rose", "oak", "elm"]
    bags = lw.groups.MultiInstanceClassifier
    return {
        "prime": lambda: lw.PrimeClassifier(settings=prime).fit(TEXTS, Y, names),
        "prime-classifiers": lambda: lw.PrimeClassifier(settings=topped).fit(TEXTS, Y, names),
        "multi-instance": lambda: bags(hidden=4, concepts=2, label_embeddings=eye, epochs=1).fit(eye, eye),
        "grouped": lambda: lw.GroupedClassifier(eagle=lw.Eagle(iterations=2)).fit(eye, eye, groups=range(4)),
    }


def opened(folder: Path) -> Change:
    """A saved model that is not altered yet."""
    manifest = loads((folder / FILE).read_bytes())
    arrays: dict[str, NDArray[Any]] = {}

    def gather(state: Any, prefix: str) -> None:
        arrays.update({prefix + name: np.array(array) for name, array in state.arrays.items()})
        for name, part in state.parts.items():
            gather(part, f"{prefix}{name}/")

    gather(store.read(folder), "")
    return Change("as it was", manifest, arrays, folder)


def every_number(model: Change) -> Iterator[Change]:
    """Yields models in which one value among the parameters and facts is replaced by one of `VALUES`."""
    for place in _places(model.manifest["model"], ()):
        for value in VALUES:
            yield _with_value(model, place, value)


def changed(model: Change, place: str, value: Any) -> Change:
    """The model with one value replaced. Places look like "params.n_trees" or "parts.model.fitted.n_labels"."""
    return _with_value(model, tuple(place.split(".")), value)


def changes(model: Change, rng: np.random.Generator) -> Iterator[Change]:
    """Yields random changes without end: values in the manifest, items and shapes of arrays, and missing parts."""
    places = list(_places(model.manifest["model"], ()))
    while True:
        how = rng.integers(6)
        if how < 2:
            yield _with_value(model, places[rng.integers(len(places))], VALUES[rng.integers(len(VALUES))])
        elif how == 2:
            yield _without(model, rng)
        else:
            change = _with_array(model, rng)
            if change is not None:
                yield change


def write(folder: Path, change: Change) -> None:
    """Saves an altered model with the right hashes and sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = deepcopy(change.manifest)
    old, data = manifest["arrays_file"], save(change.arrays)
    digest = hashlib.sha256(data).hexdigest()
    new = f"arrays-{digest[:16]}.safetensors"
    (folder / new).write_bytes(data)
    del manifest["files"][old], manifest["sha256"]
    manifest["files"][new] = {"bytes": len(data), "sha256": digest}
    manifest["arrays_file"] = new
    for name in manifest["files"].keys() - {new}:
        (folder / name).write_bytes((change.origin / name).read_bytes())
    (folder / FILE).write_bytes(render(manifest))


def tried(folder: Path, *, verify: bool, mmap: bool | None = None) -> tuple[str, str]:
    """Loads a model and asks it one question. Returns a word, which is one of `SOUND` if all is well, and details."""
    return capped(lambda: _asked(folder, verify, mmap))


def capped(task: Callable[[], tuple[str, str]], *, memory: int = MEMORY, seconds: int = SECONDS) -> tuple[str, str]:
    """Runs a task in a child process with limits on additional memory and time, and returns its result."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    with warnings.catch_warnings():  # the child does not need the other threads
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        outcome = "broken", "the process ended"
        try:
            os.close(reader)
            faulthandler.disable()
            _use_one_thread()
            _limit(memory, seconds)
            outcome = task()
        except BaseException as e:  # every exception is an outcome
            outcome = "raised", f"{type(e).__name__}: {e}"
        finally:
            os.write(writer, "\0".join(outcome).encode(errors="replace")[:60000])
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "killed", signal.Signals(os.WTERMSIG(status)).name
    word, _, details = said.partition("\0")
    return word, details


def _use_one_thread() -> None:
    """Uses one thread, because torch's OpenMP threads do not survive a fork and waiting for them never ends."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _limit(memory: int, seconds: int) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(30 * seconds)  # in case the process waits without using CPU time


def _asked(folder: Path, verify: bool, mmap: bool | None) -> tuple[str, str]:
    how = {} if mmap is None else {"mmap": mmap}
    try:
        model = lw.load(folder, verify=verify, **how)
    except LabelwoodError as e:
        one_line = "\n" not in str(e) and len(str(e)) < 600 + len(str(folder)) and str(folder) in str(e)
        return ("refused" if isinstance(e, lw.errors.ModelError) and one_line else "worded badly"), repr(e)
    try:
        for ask in _questions(model):
            ask()
    except LabelwoodError as e:
        return "answered late", repr(e)
    return "answered", repr(model)[:200]


def _questions(model: Any) -> Iterator[Callable[[], Any]]:
    if isinstance(model, lw.TextClassifier):
        yield model.describe
        yield lambda: model.suggest(["a dog barks"], k=3)
        yield lambda: model.predict_topk(["the oak"] * 70, k=2)
        yield lambda: model.predict(["the oak"])
        yield model.inverse_propensities
    elif model.kind in ("prime", "fused"):
        yield lambda: model.predict_topk(["a dog barks"], k=3)
        yield lambda: model.predict(["the oak"])
    else:
        row = sparse.csr_array((np.ones(1, np.float32), [0], [0, 1]), shape=(1, model.n_features_in_))
        yield lambda: model.predict_topk(row, k=3)
        yield lambda: model.predict_topk(sparse.vstack([row, row]), k=2, exclude=[0], min_score=0.01)
        yield lambda: model.predict(row)
        if hasattr(model, "search_costs"):
            yield lambda: model.search_costs(row)


def _places(state: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    for group in ("params", "fitted"):
        yield from _inside(state[group], (*path, group))
    for name, part in state["parts"].items():
        yield from _places(part, (*path, "parts", name))


def _inside(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys)[:40]:
        yield (*path, key)
        yield from _inside(value[key], (*path, key))


def _with_value(model: Change, place: tuple[Any, ...], value: Any) -> Change:
    manifest = deepcopy(model.manifest)
    target = manifest["model"]
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = value
    return model._replace(name=f"{'.'.join(map(str, place))} = {value!r}", manifest=manifest)


def _part_of(manifest: dict[str, Any], key: str) -> tuple[dict[str, Any], str]:
    """The state that contains an array, and the array's name in it."""
    state, (*parts, name) = manifest["model"], key.split("/")
    for part in parts:
        state = state["parts"][part]
    return state, name


def _without(model: Change, rng: np.random.Generator) -> Change:
    """The model without an array, a list of names or a part."""
    manifest, arrays = deepcopy(model.manifest), dict(model.arrays)
    state: dict[str, Any] = manifest["model"]
    while state["parts"] and rng.random() < 0.5:
        state = list(state["parts"].values())[rng.integers(len(state["parts"]))]
    group = ("arrays", "parts")[rng.integers(2)]
    if not state[group]:
        return model
    name = list(state[group])[rng.integers(len(state[group]))]
    del state[group][name]
    kept = set(_keys(manifest["model"], ""))
    named = set(_names_files(manifest["model"]))
    manifest["files"] = {f: e for f, e in manifest["files"].items() if f in named | {manifest["arrays_file"]}}
    kept_arrays = {key: array for key, array in arrays.items() if key in kept}
    return Change(f"without {group} {name}", manifest, kept_arrays, model.origin)


def _keys(state: Any, prefix: str) -> Iterator[str]:
    yield from (prefix + name for name in state["arrays"])
    for name, part in state["parts"].items():
        yield from _keys(part, f"{prefix}{name}/")


def _names_files(state: Any) -> Iterator[str]:
    yield from (entry["file"] for entry in state["names"].values())
    for part in state["parts"].values():
        yield from _names_files(part)


def _with_array(model: Change, rng: np.random.Generator) -> Change | None:
    """The model with extreme items in an array, or with an array cut, doubled, reshaped, emptied or retyped."""
    key = list(model.arrays)[rng.integers(len(model.arrays))]
    array = model.arrays[key].copy()
    how = ("items", "items", "items", "cut", "doubled", "flat", "empty", "dtype")[rng.integers(8)]
    if how == "items":
        if not array.size:
            return None
        flat = array.reshape(-1)
        for _ in range(rng.choice([1, 1, 2, 8])):
            with np.errstate(all="ignore"):
                value = np.array(ITEMS[rng.integers(len(ITEMS))])
                value = np.nan_to_num(value) if array.dtype.kind in "iub" else value
                flat[rng.integers(len(flat))] = value.astype(array.dtype)
    elif how == "cut":
        array = array[: max(0, len(array) - 1)] if array.ndim else array
    elif how == "doubled":
        array = np.concatenate([array, array]) if array.ndim else array
    elif how == "flat":
        array = array.reshape(-1) if array.ndim > 1 else array[None]
    elif how == "empty":
        array = array[:0] if array.ndim else array
    else:
        array = array.astype(("int64", "float32", "uint8")[rng.integers(3)])
    manifest = deepcopy(model.manifest)
    state, name = _part_of(manifest, key)
    state["arrays"][name] = {"dtype": array.dtype.name, "shape": list(array.shape)}
    arrays = {**model.arrays, key: np.ascontiguousarray(array).reshape(array.shape)}
    return Change(f"{key}: {how}", manifest, arrays, model.origin)
