"""States and forged folders for the store's tests."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pytest

from labelwood import store
from labelwood.errors import ModelError
from labelwood.store import State
from labelwood.store.manifest import FILE, render


def names(*texts):
    return pa.array(texts, pa.large_string())


def sample(seed=0, size=50):
    rng = np.random.default_rng(seed)
    leaf = State("leaf", {}, {"depth": seed}, arrays={"w": rng.random((3, size)), "flags": rng.random(size) < 0.5})
    tree = State("tree", {"lam": 0.5}, {}, arrays={"w": rng.integers(0, 9, size)}, parts={"leaf": leaf})
    return State(
        "demo",
        {"k": 5, "name": "Bäume", "ks": [1, 3], "nothing": None},
        {"n_labels": 3, "seed": seed},
        arrays={"w": rng.random(size).astype(np.float16), "empty": np.zeros((0, 3), np.int8)},
        names={"labels": names("ein", "zwei", f"drei {seed}"), "none": names()},
        parts={"tree": tree},
    )


def assert_same(got, wanted):
    assert (got.kind, got.params, got.fitted) == (wanted.kind, wanted.params, wanted.fitted)
    assert got.arrays.keys() == wanted.arrays.keys()
    for key, array in wanted.arrays.items():
        assert got.arrays[key].dtype == array.dtype.newbyteorder("=")
        assert got.arrays[key].shape == array.shape
        assert got.arrays[key].tobytes() == array.astype(got.arrays[key].dtype).tobytes()
    assert {key: got.names[key].to_pylist() for key in got.names} == {
        key: wanted.names[key].to_pylist() for key in wanted.names
    }
    assert got.parts.keys() == wanted.parts.keys()
    for key, part in wanted.parts.items():
        assert_same(got.parts[key], part)


def is_same(got, wanted):
    try:
        assert_same(got, wanted)
    except AssertionError:
        return False
    return True


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def manifest_of(folder):
    return json.loads((folder / FILE).read_bytes())


def reseal(folder, raw):
    """Writes an altered manifest with the right sha256 at its end, as an attacker would."""
    (folder / FILE).write_bytes(render(raw))


def swap(folder, file, data):
    """Replaces the bytes of a data file and updates all hashes and sizes."""
    raw = manifest_of(folder)
    digest = hashlib.sha256(data).hexdigest()
    stem, suffix = file.split("-")[0], file.split(".")[1]
    new = f"{stem}-{digest[:16]}.{suffix}"
    text = json.dumps(raw).replace(file, new)
    raw = json.loads(text)
    raw["files"][new] = {"bytes": len(data), "sha256": digest}
    (folder / new).write_bytes(data)
    reseal(folder, raw)
    return new


def refused(model, verify=True, told=None):
    with pytest.raises(ModelError, match=told) as caught:
        store.read(model, verify=verify)
    message = str(caught.value)
    assert str(model) in message
    assert "\n" not in message
    assert len(message) < 500 + len(str(model))


def survives(model, verify):
    """Reads a model that may be refused; if it is not, all that was verified must be usable."""
    try:
        got = store.read(model, verify=verify)
    except ModelError:
        return None
    for array in [*got.arrays.values(), *got.parts["part"].arrays.values()]:
        array.sum()
    if verify:
        assert len(got.names["labels"].to_pylist()) == 3
    return got


def file_of(model, kind):
    (path,) = model.glob(f"{kind}-*")
    return path
