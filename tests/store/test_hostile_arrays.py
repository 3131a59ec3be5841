"""Files of arrays with right hashes and false contents."""

import json

import pytest
from tests.store.store_samples import file_of, manifest_of, refused, reseal, swap

from labelwood.store import strict_json


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
def test_a_header_with_false_contents_is_refused(model, case, verify):
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


def test_bytes_behind_the_arrays_are_refused(model):
    file = file_of(model, "arrays").name
    swap(model, file, (model / file).read_bytes() + bytes(8))
    refused(model, True, "do not fill it")


def test_an_empty_array_of_an_impossible_shape_is_refused(model):
    file = file_of(model, "arrays").name
    header, body = header_of((model / file).read_bytes())
    header["z"] = {"dtype": "I64", "shape": [0, 1 << 62], "data_offsets": [0, 0]}
    swap(model, file, with_header(header, body))
    raw = manifest_of(model)
    raw["model"]["arrays"]["z"] = {"dtype": "int64", "shape": [0, 1 << 62]}
    reseal(model, raw)
    refused(model, True, "larger than any memory")


def test_a_bool_that_is_neither_true_nor_false_is_refused(model):
    file = file_of(model, "arrays").name
    data = bytearray((model / file).read_bytes())
    data[-2] = 2
    swap(model, file, bytes(data))
    refused(model, True, "neither true nor false")


def test_a_header_beyond_the_limit_is_not_parsed(model, monkeypatch):
    limit = (model / "manifest.json").stat().st_size + 100
    monkeypatch.setattr(strict_json, "MAX_BYTES", limit)
    file = file_of(model, "arrays").name
    header, body = header_of((model / file).read_bytes())
    swap(model, file, with_header(json.dumps(header).encode() + b" " * limit, body))
    refused(model, told="too large")
