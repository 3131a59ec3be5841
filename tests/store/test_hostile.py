"""Damaged and hostile folders: each is a `ModelError` of one line that names the place, and never a crash."""

import io
import json
import os
import random

import numpy as np
import pyarrow as pa
import pytest
from store_samples import contents, manifest_of, names, reseal, swap

from labelwood import store
from labelwood.errors import ModelError
from labelwood.store import State, migrate, strict_json


@pytest.fixture
def model(tmp_path):
    state = State(
        "demo",
        {"k": 5},
        {"n": 2},
        arrays={
            "a": np.arange(6.0).reshape(2, 3),
            "b": np.array([True, False]),
            "c": np.arange(3, dtype=np.int16),
        },
        names={"labels": names("ein", "zwei", "drei")},
        parts={"part": State("inner", {}, {}, arrays={"a": np.arange(4, dtype=np.float32)})},
    )
    store.write(tmp_path / "m", state)
    return tmp_path / "m"


def refused(model, verify=True, told=None):
    with pytest.raises(ModelError, match=told) as caught:
        store.read(model, verify=verify)
    message = str(caught.value)
    assert str(model) in message
    assert "\n" not in message
    assert len(message) < 500 + len(str(model))


def survives(model, verify):
    """Reads what may or may not be refused; what is returned must be usable as far as it was verified."""
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


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("kind", ["manifest", "arrays", "names"])
def test_a_file_cut_short_anywhere_is_refused(model, kind, verify):
    path = model / "manifest.json" if kind == "manifest" else file_of(model, kind)
    whole = path.read_bytes()
    for size in [*range(0, len(whole), 7), len(whole) - 1]:
        path.write_bytes(whole[:size])
        refused(model, verify, path.name)
    path.write_bytes(whole + b"\0")
    refused(model, verify, path.name)


@pytest.mark.parametrize("kind", ["manifest", "arrays", "names"])
def test_a_flipped_bit_anywhere_is_refused(model, kind):
    path = model / "manifest.json" if kind == "manifest" else file_of(model, kind)
    whole = path.read_bytes()
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << place % 8)]) + whole[place + 1 :])
        refused(model, True, path.name)
        survives(model, verify=False)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("kind", ["arrays", "names"])
def test_random_damage_with_right_hashes_never_crashes(model, kind, verify):
    chance = random.Random(3)
    original, first = contents(model), file_of(model, kind).name
    whole = original[first]
    for _ in range(250):
        data = bytearray(whole)
        for _ in range(chance.choice([1, 1, 2, 8])):
            data[chance.randrange(len(data))] = chance.choice([0, 1, 127, 128, 255, chance.randrange(256)])
        swapped = swap(model, first, bytes(data))
        survives(model, verify)
        (model / swapped).unlink()
        for name, content in original.items():
            (model / name).write_bytes(content)


def header_of(data):
    start = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:start]), data[start:]


def with_header(text, body):
    raw = text if isinstance(text, bytes) else json.dumps(text).encode()
    raw += b" " * (-len(raw) % 8)
    return len(raw).to_bytes(8, "little") + raw + body


def changed(key, **values):
    def change(header):
        header[key] |= values

    return change


HEADERS = {
    "overlap": changed("part/a", data_offsets=[0, 16]),
    "gap at the start": lambda header: [
        entry.update(data_offsets=[n + 8 for n in entry["data_offsets"]]) for entry in header.values()
    ],
    "negative offsets": changed("a", data_offsets=[-48, 0]),
    "offsets past the end": changed("a", data_offsets=[1 << 40, (1 << 40) + 48]),
    "offsets the wrong way": changed("a", data_offsets=[48, 0]),
    "offsets that are floats": changed("a", data_offsets=[0.0, 48.0]),
    "offsets that are bools": changed("a", data_offsets=[False, 48]),
    "three offsets": changed("a", data_offsets=[0, 48, 48]),
    "offsets as text": changed("a", data_offsets="0 48"),
    "another shape of the same size": changed("a", shape=[3, 2]),
    "negative shape": changed("a", shape=[-2, -3]),
    "overflowing shape": changed("a", shape=[1 << 62, 1 << 62]),
    "shape as text": changed("a", shape="2,3"),
    "another dtype of the same size": changed("a", dtype="I64"),
    "unknown dtype": changed("a", dtype="F128"),
    "dtype that is no text": changed("a", dtype=["F64"]),
    "unknown field": changed("a", strides=[8, 8]),
    "missing array": lambda header: header.pop("c"),
    "extra array": lambda header: header.update(d={"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}),
    "metadata": lambda header: header.update(__metadata__={"a": "b"}),
    "entry that is a list": lambda header: header.update(a=[]),
    "entry that is null": lambda header: header.update(a=None),
}


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("case", HEADERS)
def test_a_header_that_lies_is_refused(model, case, verify):
    file = file_of(model, "arrays").name
    header, body = header_of((model / file).read_bytes())
    HEADERS[case](header)
    swap(model, file, with_header(header, body))
    refused(model, verify, "arrays-")


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"null",
        b"3",
        b"{",
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 900,
        b'{"a":' * 70 + b"1" + b"}" * 70,
        b"9" * 5000,
        b'{"\\ud800": 1}',
    ],
    ids=range(13),
)
def test_a_header_that_is_not_json_of_an_object_is_refused(model, text, verify):
    file = file_of(model, "arrays").name
    swap(model, file, with_header(text, header_of((model / file).read_bytes())[1]))
    refused(model, verify, "arrays-")


@pytest.mark.parametrize("size", [0, 1 << 31, (1 << 64) - 1, 1 << 20])
def test_a_header_of_a_wrong_size_is_refused(model, size):
    file = file_of(model, "arrays").name
    swap(model, file, size.to_bytes(8, "little") + (model / file).read_bytes()[8:])
    refused(model, False, "arrays-")


def test_an_array_that_is_not_aligned_is_refused(model):
    file = file_of(model, "arrays").name
    header, body = header_of((model / file).read_bytes())
    raw = json.dumps(header).encode()
    raw += b" " * (-len(raw) % 8 + 1)
    swap(model, file, len(raw).to_bytes(8, "little") + raw + body)
    refused(model, False, "not aligned")


def test_a_bool_that_is_neither_true_nor_false_is_refused(model):
    file = file_of(model, "arrays").name
    data = bytearray((model / file).read_bytes())
    data[-2] = 2
    swap(model, file, bytes(data))
    refused(model, True, "neither true nor false")


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
    "arrays in the file of names": lambda raw: raw.update(
        arrays_file=raw["model"]["names"]["labels"]["file"]
    ),
    "names in the file of arrays": lambda raw: raw["model"]["names"]["labels"].update(
        file=raw["arrays_file"]
    ),
    "file that nobody uses": put(
        "files", "names-" + "0" * 16 + ".arrow", value={"bytes": 1, "sha256": "0" * 64}
    ),
    "file that is not listed": put(
        "model", "names", "more", value={"length": 1, "file": f"names-{'0' * 16}.arrow"}
    ),
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
def test_a_manifest_that_lies_is_refused(model, case, verify):
    raw = manifest_of(model)
    MANIFESTS[case](raw)
    reseal(model, raw)
    refused(model, verify)


def test_a_manifest_of_another_sha256_of_a_file_is_refused(model):
    raw = manifest_of(model)
    entry, old = raw["files"].pop(raw["arrays_file"]), raw["arrays_file"]
    raw["arrays_file"] = f"arrays-{'0' * 16}.safetensors"
    raw["files"][raw["arrays_file"]] = entry | {"sha256": "0" * 64}
    (model / old).rename(model / raw["arrays_file"])
    reseal(model, raw)
    refused(model, True, "sha256 differs")
    store.read(model, verify=False)


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
def test_a_manifest_that_is_not_one_is_refused(model, text):
    (model / "manifest.json").write_bytes(text)
    refused(model, told="manifest.json")
    with pytest.raises(ModelError, match=r"manifest\.json"):
        store.describe(model)


def test_a_manifest_beyond_the_limit_is_not_even_read(model):
    with (model / "manifest.json").open("r+b") as file:
        file.truncate(1 << 40)
    refused(model, told="limit")


def test_a_header_beyond_the_limit_is_not_parsed(model, monkeypatch):
    limit = (model / "manifest.json").stat().st_size + 100
    monkeypatch.setattr(strict_json, "MAX_BYTES", limit)
    file = file_of(model, "arrays").name
    header, body = header_of((model / file).read_bytes())
    swap(model, file, with_header(json.dumps(header).encode() + b" " * limit, body))
    refused(model, told="too large")


@pytest.mark.parametrize("kind", ["manifest", "arrays", "names"])
@pytest.mark.parametrize("how", ["link", "dangling link", "pipe", "folder", "missing"])
def test_a_file_that_is_no_plain_file_is_refused(model, kind, how):
    path = model / "manifest.json" if kind == "manifest" else file_of(model, kind)
    aside = path.rename(model.parent / "aside")
    if how == "link":
        path.symlink_to(aside)
    elif how == "dangling link":
        path.symlink_to(model.parent / "nothing")
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "folder":
        path.mkdir()
    refused(model, True, path.name)
    refused(model, False, path.name)


def arrow(table, **options):
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def named(values, kind=None, nullable=False, name="name", metadata=None):
    kind = kind or pa.large_string()
    schema = pa.schema([pa.field(name, kind, nullable=nullable)], metadata=metadata)
    return pa.table([values if isinstance(values, pa.Array) else pa.array(values, kind)], schema=schema)


THREE = ["ein", "zwei", "drei"]
BAD_UTF8 = pa.LargeStringArray.from_buffers(3, pa.py_buffer(np.array([0, 1, 2, 3])), pa.py_buffer(b"a\xffc"))
CUT_UTF8 = pa.LargeStringArray.from_buffers(
    3, pa.py_buffer(np.array([0, 1, 2, 3])), pa.py_buffer("aä".encode())
)
BAD_OFFSETS = pa.LargeStringArray.from_buffers(
    3, pa.py_buffer(np.array([0, 1 << 40, 2, 3])), pa.py_buffer(b"abc")
)
DESCENDING = pa.LargeStringArray.from_buffers(3, pa.py_buffer(np.array([0, 3, 1, 3])), pa.py_buffer(b"abc"))


ARROWS = {
    "nulls": lambda: arrow(named(["ein", None, "drei"], nullable=True)),
    "nulls in a column without nulls": lambda: arrow(named(["ein", None, "drei"])),
    "nullable": lambda: arrow(named(THREE, nullable=True)),
    "small strings": lambda: arrow(named(THREE, pa.string())),
    "bytes": lambda: arrow(named(THREE, pa.large_binary())),
    "numbers": lambda: arrow(named([1, 2, 3], pa.int64())),
    "dictionary": lambda: arrow(
        named(pa.array(THREE).dictionary_encode(), pa.dictionary(pa.int32(), pa.string()))
    ),
    "two columns": lambda: arrow(named(THREE).append_column("more", pa.array([1, 2, 3]))),
    "no column": lambda: arrow(pa.table({})),
    "other column": lambda: arrow(named(THREE, name="label")),
    "metadata": lambda: arrow(named(THREE, metadata={"a": "b"})),
    "two batches": lambda: arrow(pa.concat_tables([named(["ein"]), named(["zwei", "drei"])])),
    "no batch": lambda: arrow(named([]).slice(0, 0)),
    "too few": lambda: arrow(named(["ein"])),
    "compressed": lambda: arrow(named(["ein" * 1000, "zwei", "drei"]), compression="zstd"),
    "a stream": lambda: b"\xff\xff\xff\xff",
    "nothing but magic": lambda: b"ARROW1\0\0ARROW1",
    "offset past the end": lambda: arrow(named(THREE)).replace(
        np.array([0, 3, 7, 11]).tobytes(), np.array([0, 3, 7, 1 << 40]).tobytes()
    ),
}


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("case", ARROWS)
def test_a_file_of_names_that_is_another_table_is_refused(model, case, verify):
    swap(model, file_of(model, "names").name, ARROWS[case]())
    refused(model, verify, "names-")


@pytest.mark.parametrize("names_", [BAD_UTF8, CUT_UTF8, BAD_OFFSETS, DESCENDING], ids=range(4))
def test_names_with_bad_contents_are_refused(model, names_):
    sink = arrow(named(names_))
    swap(model, file_of(model, "names").name, sink)
    refused(model, True, "names-")
    survives(model, verify=False)


def test_a_newer_format_asks_for_an_upgrade(model):
    raw = manifest_of(model)
    reseal(model, raw | {"format_version": 2, "novelty": 1})
    refused(model, told="upgrade Labelwood")
    assert store.is_model(model)


def test_a_path_that_is_no_model_is_told_in_a_sentence(tmp_path):
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "none", told="does not exist")
    refused(tmp_path / "file", told="is a file")
    refused(tmp_path, told="no manifest.json")
    with pytest.raises(ModelError, match="cannot be opened"):
        store.read("a\0b")
    with pytest.raises(ModelError, match="does not exist"):
        store.describe(tmp_path / "none")


def test_an_older_format_is_brought_to_the_current_one(model, monkeypatch):
    raw = manifest_of(model)
    raw["format_version"], raw["root"] = 0, raw.pop("model")
    reseal(model, raw)
    refused(model, told="format version is 0")

    def from_0(old):
        return {key: value for key, value in old.items() if key != "root"} | {"model": old["root"]}

    monkeypatch.setitem(migrate.MIGRATIONS, 0, from_0)
    assert store.read(model).params == {"k": 5}
    assert store.describe(model)["format_version"] == 1
    reseal(model, {key: value for key, value in raw.items() if key != "root"})
    refused(model, told="from format version 0")


def test_other_files_in_the_folder_do_not_matter(model):
    (model / "README.md").write_text("about this model")
    store.read(model)
