"""Manifests with a right seal and false contents."""

import json
import random

import pytest
from tests.store.store_samples import manifest_of, refused, reseal

from labelwood import store
from labelwood.errors import ModelError


def put(*keys, value):
    def change(raw):
        for key in keys[:-1]:
            raw = raw[key]
        raw[keys[-1]] = value

    return change


def rename_arrays(name):
    def change(raw):
        raw["files"][name] = raw["files"].pop(raw["arrays_file"])
        raw["arrays_file"] = name

    return change


def deep(n):
    part = {"kind": "demo", "params": {}, "fitted": {}, "arrays": {}, "names": {}, "parts": {}}
    for _ in range(n):
        part = {"kind": "demo", "params": {}, "fitted": {}, "arrays": {}, "names": {}, "parts": {"p": part}}
    return part


MANIFESTS = {
    "unknown key": put("executable", value="rm"),
    "unknown key in a part": put("model", "parts", "part", "code", value="rm"),
    "no model": lambda raw: raw.pop("model"),
    "model that is a list": put("model", value=[]),
    "version as text": put("format_version", value="1"),
    "version that is a bool": put("format_version", value=True),
    "version zero": put("format_version", value=0),
    "no version": lambda raw: raw.pop("format_version"),
    "path out of the folder": rename_arrays("../m/arrays-0000000000000000.safetensors"),
    "absolute path": rename_arrays("/etc/passwd"),
    "name with a newline": rename_arrays("arrays-0000000000000000.safetensors\n"),
    "name of another hash": rename_arrays("arrays-0000000000000000.safetensors"),
    "arrays in the file of names": lambda raw: raw.update(arrays_file=raw["model"]["names"]["labels"]["file"]),
    "names in the file of arrays": lambda raw: raw["model"]["names"]["labels"].update(file=raw["arrays_file"]),
    "file that nobody uses": put("files", "names-" + "0" * 16 + ".arrow", value={"bytes": 1, "sha256": "0" * 64}),
    "file that is not listed": put("model", "names", "more", value={"length": 1, "file": f"names-{'0' * 16}.arrow"}),
    "negative shape": put("model", "arrays", "a", "shape", value=[-2, -3]),
    "overflowing shape": put("model", "arrays", "a", "shape", value=[1 << 62, 1 << 62]),
    "overflowing empty shape": put("model", "arrays", "a", "shape", value=[0, 1 << 62]),
    "dimension beyond 64 bits": put("model", "arrays", "a", "shape", value=[1 << 64]),
    "too many dimensions": put("model", "arrays", "a", "shape", value=[1] * 65),
    "shape of floats": put("model", "arrays", "a", "shape", value=[2.0, 3.0]),
    "other shape": put("model", "arrays", "a", "shape", value=[6]),
    "unknown dtype": put("model", "arrays", "a", "dtype", value="object"),
    "other dtype": put("model", "arrays", "a", "dtype", value="int64"),
    "missing array": lambda raw: raw["model"]["arrays"].pop("a"),
    "extra array": put("model", "arrays", "z", value={"dtype": "int8", "shape": [0]}),
    "name with a slash": put("model", "arrays", "x/y", value={"dtype": "int8", "shape": [0]}),
    "kind that is no name": put("model", "kind", value="../evil"),
    "kind that is a number": put("model", "kind", value=3),
    "params that are a list": put("model", "params", value=[1]),
    "other length of names": put("model", "names", "labels", "length", value=2),
    "negative length of names": put("model", "names", "labels", "length", value=-1),
    "size of a file": lambda raw: raw["files"][raw["arrays_file"]].update(bytes=8),
    "negative size of a file": lambda raw: raw["files"][raw["arrays_file"]].update(bytes=-1),
    "size of a file as text": lambda raw: raw["files"][raw["arrays_file"]].update(bytes="8"),
    "a sha256 in capitals": lambda raw: raw["files"][raw["arrays_file"]].update(sha256="A" * 64),
    "deep nesting": lambda raw: raw.update(model=deep(60)),
    "other parts": lambda raw: raw.update(model=deep(3)),
}


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("case", MANIFESTS)
def test_a_manifest_with_false_contents_is_refused(model, case, verify):
    raw = manifest_of(model)
    MANIFESTS[case](raw)
    reseal(model, raw)
    refused(model, verify)


def test_a_manifest_with_a_wrong_sha256_of_a_file_is_refused(model):
    raw = manifest_of(model)
    entry, old = raw["files"].pop(raw["arrays_file"]), raw["arrays_file"]
    raw["arrays_file"] = f"arrays-{'0' * 16}.safetensors"
    raw["files"][raw["arrays_file"]] = entry | {"sha256": "0" * 64}
    (model / old).rename(model / raw["arrays_file"])
    reseal(model, raw)
    refused(model, True, "sha256 differs")
    store.read(model, verify=False)


def test_a_file_without_its_hash_in_its_name_is_refused(model):
    raw = manifest_of(model)
    old, new = raw["arrays_file"], f"arrays-{'0' * 16}.safetensors"
    rename_arrays(new)(raw)
    (model / old).rename(model / new)
    reseal(model, raw)
    refused(model, False, "does not carry its sha256")


@pytest.mark.parametrize(
    ("value", "told"),
    [("\ud800", "surrogates"), ([[[]]] * 2, None), (json.loads("[" * 70 + "]" * 70), "nested")],
)
def test_parameters_that_cannot_be_printed_or_are_too_deep_are_refused(model, value, told):
    raw = manifest_of(model)
    raw["model"]["params"]["k"] = value
    reseal(model, raw)
    if told is None:
        assert store.read(model).params == {"k": value}
    else:
        refused(model, True, told)


def test_random_json_in_the_manifest_is_refused_or_read(model):
    chance = random.Random(5)
    values = [None, True, -1, 0, 1 << 70, 0.5, "", "a/b", [], {}, [[]], {"a": {}}, "x" * 5000]
    whole = manifest_of(model)
    for _ in range(300):
        raw = json.loads(json.dumps(whole))
        at = raw
        while True:
            key = chance.choice(list(at) if isinstance(at, dict) else range(len(at)))
            if not isinstance(at[key], dict | list) or not at[key] or chance.random() < 0.2:
                break
            at = at[key]
        at[key] = chance.choice(values)
        reseal(model, raw)
        try:
            store.read(model, verify=bool(chance.randrange(2)))
            store.describe(model)
        except ModelError as e:
            assert "\n" not in str(e)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"null",
        b"[1]",
        b"\xff",
        b'{"format": "other"}',
        b'{"format": "labelwood-model"}',
        b'{"format": "labelwood-model", "format": "labelwood-model"}',
        b'{"format": "labelwood-model", "format_version": 1, "x": NaN}',
        b'{"format": "labelwood-model", "format_version": 1, "x": -Infinity}',
        b'{"format": "labelwood-model", "format_version": 1, "x": 1e999}',
        b'{"format": "labelwood-model", "format_version": 1}',
        b'{"format": "labelwood-model", "format_version": 1, "sha256": "' + b"0" * 64 + b'"\n}\n',
        b"[" * 100_000,
    ],
    ids=range(14),
)
def test_a_malformed_manifest_is_refused(model, text):
    (model / "manifest.json").write_bytes(text)
    refused(model, told="manifest.json")
    with pytest.raises(ModelError, match=r"manifest\.json"):
        store.describe(model)


def test_a_manifest_beyond_the_limit_is_not_even_read(model):
    with (model / "manifest.json").open("r+b") as file:
        file.truncate(1 << 40)
    refused(model, told="limit")
