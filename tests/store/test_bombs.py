"""Small files that would need much memory or time: each is refused or read within limits of both."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pytest
from tests.store.hostile_models import capped
from tests.store.store_samples import file_of, manifest_of, reseal, swap
from tests.store.test_hostile_names import THREE, arrow, named

from labelwood import store
from labelwood.errors import ModelError
from labelwood.store import strict_json

pytestmark = pytest.mark.slow


def read_within(model, verify=True, memory=512 << 20):
    """The result of reading with limits on memory and time."""

    def read():
        try:
            store.read(model, verify=verify)
        except ModelError as e:
            return "refused", str(e)
        return "read", ""

    return capped(read, memory=memory, seconds=10)


def part(**changes):
    return {"kind": "x", "params": {}, "fitted": {}, "arrays": {}, "names": {}, "parts": {}} | changes


def sealed(raw):
    """The bytes of a manifest without the spaces that make it larger."""
    body = json.dumps({key: value for key, value in raw.items() if key != "sha256"}, separators=(",", ":"))
    data = body[:-1].encode() + b', "sha256": "'
    return data + hashlib.sha256(data).hexdigest().encode() + b'"\n}\n'


MANIFESTS = {
    "empty objects": lambda model: model["params"].update(x=[{}] * 3_000_000),
    "numbers": lambda model: model["fitted"].update(x=[0] * 5_000_000),
    "keys": lambda model: model["params"].update({f"{i:x}": 0 for i in range(1_000_000)}),
    "wrong arrays": lambda model: model["arrays"].update({f"{i:x}": 0 for i in range(500_000)}),
    "unknown arrays": lambda model: model["arrays"].update({f"{i:x}": ARRAY for i in range(60_000)}),
}
ARRAY = {"dtype": "int8", "shape": []}


@pytest.mark.parametrize("case", MANIFESTS)
def test_a_manifest_with_a_great_many_things_is_refused_in_bounds(model, case):
    raw = manifest_of(model)
    MANIFESTS[case](raw["model"])
    data = sealed(raw)
    assert len(data) < strict_json.MAX_BYTES
    (model / "manifest.json").write_bytes(data)
    word, told = read_within(model)
    assert word == "refused", (word, told)
    assert len(told) < 600 + len(str(model))


def test_a_list_of_names_that_is_listed_often_is_checked_once(tmp_path):
    texts = [f"label number {i}" for i in range(200_000)]
    store.write(tmp_path / "m", store.State("demo", {}, {}, names={"labels": pa.array(texts, pa.large_string())}))
    raw = manifest_of(tmp_path / "m")
    entry = raw["model"]["names"]["labels"]
    raw["model"]["names"] = {f"{i:x}": entry for i in range(60_000)}
    (tmp_path / "m" / "manifest.json").write_bytes(sealed(raw))
    assert read_within(tmp_path / "m") == ("read", "")


def test_deep_parts_with_long_names_are_refused_in_bounds(model):
    raw = manifest_of(model)
    inner = raw["model"]
    for _ in range(15):
        inner["parts"] = {"p" * 100: part()}
        inner = inner["parts"]["p" * 100]
    inner["arrays"] = {f"{i:x}": ARRAY for i in range(60_000)}
    (model / "manifest.json").write_bytes(sealed(raw))
    word, told = read_within(model)
    assert word == "refused"
    assert "names of its arrays are too long" in told


def test_parts_deeper_than_a_save_makes_them_are_refused(model):
    raw = manifest_of(model)
    inner = raw["model"]
    for _ in range(20):
        inner["parts"] = {"p": part()}
        inner = inner["parts"]["p"]
    reseal(model, raw)
    with pytest.raises(ModelError, match="nested more than 16 deep"):
        store.read(model)


def test_a_save_refuses_everything_that_a_read_refuses(tmp_path, monkeypatch):
    monkeypatch.setattr(strict_json, "MAX_VALUES", 1000)
    state = store.State("demo", {"x": [[]] * 1000}, {})
    with pytest.raises(ModelError, match=r"its JSON has \d+ values or more.*keep large things in arrays"):
        store.write(tmp_path / "m", state)
    assert not (tmp_path / "m").exists()


def test_a_header_with_a_million_arrays_is_bounded(model):
    entry = {"dtype": "I8", "shape": [], "data_offsets": [0, 1]}
    text = json.dumps({f"{i:x}": entry for i in range(400_000)}, separators=(",", ":")).encode()
    assert len(text) < strict_json.MAX_BYTES
    swap(model, file_of(model, "arrays").name, len(text).to_bytes(8, "little") + text)
    word, told = read_within(model)
    assert word == "refused"
    assert "values or more" in told


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_compressed_names_are_not_decompressed(model, compression, verify):
    bomb = arrow(named(["a" * (600 << 20), "b", "c"]), compression=compression)
    assert len(bomb) < 4 << 20
    swap(model, file_of(model, "names").name, bomb)
    word, told = read_within(model, verify)
    assert word == "refused"
    assert "its names are compressed and cannot be mapped" in told


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("claimed", [4, 1 << 31, 1 << 40, (1 << 63) - 1, (1 << 64) - 1])
def test_names_that_claim_more_than_they_have_are_refused(model, claimed, verify):
    data = arrow(named(THREE))
    three, many = np.array([3], "<i8").tobytes(), np.array([claimed], "<u8").tobytes()
    assert data.count(three) >= 2  # the batch's length and its column's
    swap(model, file_of(model, "names").name, data.replace(three, many))
    word, told = read_within(model, verify)
    assert word == "refused", told
    assert "names-" in told


def test_names_with_endless_messages_are_refused(model):
    whole = arrow(named(THREE))
    begin, batches = whole[:8], pa.ipc.open_file(whole).schema.serialize().to_pybytes() * 50_000
    swap(model, file_of(model, "names").name, begin + batches + b"\xff\xff\xff\xff\0\0\0\0ARROW1")
    assert read_within(model)[0] == "refused"
