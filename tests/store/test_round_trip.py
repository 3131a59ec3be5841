import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load_file
from safetensors.numpy import save as safetensors_bytes
from tests.store.store_samples import assert_same, contents, manifest_of, names, reseal, sample

from labelwood import store
from labelwood.errors import ModelError
from labelwood.store import State
from labelwood.store.dtypes import DTYPES

LINUX = sys.platform == "linux"


@pytest.mark.parametrize("verify", [True, False])
def test_a_state_with_nested_parts_comes_back_whole(tmp_path, verify):
    store.write(tmp_path / "m", sample())
    got = store.read(tmp_path / "m", verify=verify)
    assert_same(got, sample())
    assert got.verify == got.parts["tree"].verify == got.parts["tree"].parts["leaf"].verify == verify


any_dtype = st.sampled_from(sorted(DTYPES)).flatmap(
    lambda name: st.sampled_from([np.dtype(name), np.dtype(name).newbyteorder(">")])
)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_arrays_of_every_dtype_shape_and_layout_come_back(tmp_path_factory, data):
    shape = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
    drawn = st.lists(hnp.arrays(any_dtype, shape), max_size=4)
    arrays = {f"a{i}": array for i, array in enumerate(data.draw(drawn))}
    arrays |= {f"{key}.T": array.T for key, array in arrays.items()}
    arrays |= {f"{key}.step": array[::-2] for key, array in arrays.items() if array.ndim}
    path = tmp_path_factory.mktemp("model") / "m"
    store.write(path, State("demo", {}, {}, arrays=arrays))
    got = store.read(path)
    assert_same(got, State("demo", {}, {}, arrays=arrays))
    assert all(array.flags.aligned and array.flags.c_contiguous for array in got.arrays.values())


@given(texts=st.lists(st.text(st.characters(codec="utf-8"))), start=st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_names_of_any_text_and_slices_come_back(tmp_path_factory, texts, start):
    path = tmp_path_factory.mktemp("model") / "m"
    store.write(path, State("demo", {}, {}, names={"labels": names(*texts)[start:]}))
    assert store.read(path).names["labels"].to_pylist() == texts[start:]


def test_a_chunked_list_of_names_is_stored_as_one(tmp_path):
    chunked = pa.chunked_array([names("a"), names(), names("b", "c")])
    store.write(tmp_path / "m", State("demo", {}, {}, names={"labels": chunked}))
    assert store.read(tmp_path / "m").names["labels"].to_pylist() == ["a", "b", "c"]


def test_numpy_numbers_and_tuples_become_json_values(tmp_path):
    params = {
        "k": np.int32(3),
        "lam": np.float64(0.25),
        "on": np.bool_(True),
        "ks": (1, (2,)),
        "t": np.str_("x"),
    }
    store.write(tmp_path / "m", State("demo", params, {"deep": {"a": [1.5, {"b": None}]}}))
    got = store.read(tmp_path / "m")
    assert got.params == {"k": 3, "lam": 0.25, "on": True, "ks": [1, [2]], "t": "x"}
    assert type(got.params["on"]) is bool and type(got.params["k"]) is int
    assert got.fitted == {"deep": {"a": [1.5, {"b": None}]}}


def looped():
    params = {}
    params["self"] = params
    return params


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (State("demo", {"a": {"b": object()}}, {}), r"params\['a'\]\['b'\]"),
        (State("demo", {}, {"x": [1, float("nan")]}), r"fitted\['x'\]\[1\]"),
        (State("demo", {"x": float("inf")}, {}), r"params\['x'\]"),
        (State("demo", {"x": np.longdouble(1)}, {}), r"params\['x'\]"),
        (State("demo", {"x": "\ud800"}, {}), r"params\['x'\]"),
        (State("demo", {"x": {1: 2}}, {}), r"params\['x'\].*key 1"),
        (State("demo", {"x": {"\udfff": 2}}, {}), r"params\['x'\]"),
        (State("demo", looped(), {}), "nested"),
        (State("demo", {}, {}, arrays={"w": np.array(["a"])}), "'w'.*<U1"),
        (State("demo", {}, {}, arrays={"w": np.array([None])}), "'w'.*object"),
        (State("demo", {}, {}, arrays={"w": np.zeros(2, complex)}), "'w'.*complex"),
        (State("demo", {}, {}, arrays={"w": [1, 2]}), "'w'.*list"),
        (State("demo", {}, {}, arrays={"a/b": np.zeros(2)}), "'a/b'"),
        (State("demo", {}, {}, arrays={"__metadata__": np.zeros(2)}), "__metadata__"),
        (State("de mo", {}, {}), "'de mo'"),
        (State("demo", {}, {}, names={"l": ["a"]}), "'l'.*large_string"),
        (State("demo", {}, {}, names={"l": pa.array(["a"])}), "'l'.*large_string"),
        (State("demo", {}, {}, names={"l": names("a", None)}), "'l'.*nulls"),
        (State("demo", {}, {}, parts={"p": State("demo", {"x": {1}}, {})}), r"p/params\['x'\]"),
    ],
)
def test_a_state_that_cannot_be_saved_is_named_and_nothing_is_written(tmp_path, state, told):
    with pytest.raises(ModelError, match=told):
        store.write(tmp_path / "m", state)
    assert not list(tmp_path.iterdir())


def test_names_that_are_not_utf8_are_refused(tmp_path):
    bad = pa.LargeStringArray.from_buffers(1, pa.py_buffer(np.array([0, 1])), pa.py_buffer(b"\xff"))
    with pytest.raises(ModelError, match=r"'l'.*UTF-8"):
        store.write(tmp_path / "m", State("demo", {}, {}, names={"l": bad}))


def test_endless_parts_are_refused(tmp_path):
    state = State("demo", {}, {})
    for _ in range(40):
        state = State("demo", {}, {}, parts={"p": state})
    with pytest.raises(ModelError, match="nested"):
        store.write(tmp_path / "m", state)


def test_the_deepest_state_that_can_be_written_can_be_read(tmp_path):
    value, state = 1, State("demo", {}, {})
    for _ in range(15):
        value = [value]
    state = State("demo", {"deep": value}, {})
    for _ in range(16):
        state = State("demo", {}, {}, parts={"p": state})
    store.write(tmp_path / "m", state)
    assert_same(store.read(tmp_path / "m"), state)


def test_parameters_beyond_the_limit_are_refused_before_the_old_model_is_touched(tmp_path, monkeypatch):
    store.write(tmp_path / "m", sample())
    monkeypatch.setattr("labelwood.store.strict_json.MAX_BYTES", 5000)
    with pytest.raises(ModelError, match="limit"):
        store.write(tmp_path / "m", State("demo", {"text": "x" * 5000}, {}))
    assert_same(store.read(tmp_path / "m"), sample())


def test_the_same_state_gives_the_same_bytes(tmp_path):
    store.write(tmp_path / "a", sample(1))
    state = sample(1)
    shuffled = State(
        state.kind,
        dict(reversed(state.params.items())),
        dict(reversed(state.fitted.items())),
        dict(reversed(state.arrays.items())),
        {"none": names("x")[:0], "labels": names("null", *state.names["labels"].to_pylist())[1:]},
        state.parts,
    )
    store.write(tmp_path / "b", shuffled)
    store.write(tmp_path / "a", sample(2))
    store.write(tmp_path / "a", sample(1))
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_the_arrays_file_is_one_that_safetensors_reads(tmp_path):
    store.write(tmp_path / "m", sample())
    (file,) = (tmp_path / "m").glob("arrays-*.safetensors")
    theirs = load_file(file)
    assert set(theirs) == {"w", "empty", "tree/w", "tree/leaf/w", "tree/leaf/flags"}
    assert np.array_equal(theirs["tree/leaf/w"], sample().parts["tree"].parts["leaf"].arrays["w"])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_arrays_file_has_the_bytes_that_safetensors_would_write(tmp_path_factory, data):
    names = st.text("ab0-._", min_size=1, max_size=4)
    shape = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    arrays = data.draw(st.dictionaries(names, hnp.arrays(st.sampled_from(sorted(DTYPES)), shape), max_size=6))
    path = tmp_path_factory.mktemp("model") / "m"
    store.write(path, State("demo", {}, {}, arrays=arrays))
    (file,) = path.glob("arrays-*.safetensors")
    assert file.read_bytes() == safetensors_bytes(arrays)


def test_the_names_file_is_one_that_arrow_reads(tmp_path):
    store.write(tmp_path / "m", State("demo", {}, {}, names={"labels": names("a", "b")}))
    (file,) = (tmp_path / "m").glob("names-*.arrow")
    with pa.ipc.open_file(file.read_bytes()) as reader:
        assert reader.read_all().to_pydict() == {"name": ["a", "b"]}


def test_describe_lists_everything_without_opening_data(tmp_path):
    store.write(tmp_path / "m", sample())
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "m").iterdir()}
    for path in (tmp_path / "m").glob("*-*"):
        path.unlink()
    facts = store.describe(tmp_path / "m")
    del sizes["manifest.json"]
    assert facts["files"] == sizes
    assert facts["format_version"] == 1
    assert facts["kind"] == "demo"
    assert facts["params"]["name"] == "Bäume"
    assert facts["fitted"] == {"n_labels": 3, "seed": 0}
    assert facts["arrays"]["tree/leaf/w"] == {"dtype": "float64", "shape": [3, 50]}
    assert facts["names"] == {"labels": 3, "none": 0}
    assert {name: part["kind"] for name, part in facts["parts"].items()} == {"tree": "tree", "tree/leaf": "leaf"}


def test_is_model_tells_models_from_other_folders(tmp_path):
    store.write(tmp_path / "m", sample())
    (tmp_path / "file").write_text("{}")
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "manifest.json").write_text('{"name": "a web page"}')
    assert store.is_model(tmp_path / "m")
    assert store.is_model(str(tmp_path / "m"))
    assert not any(map(store.is_model, [tmp_path, tmp_path / "file", tmp_path / "web", tmp_path / "no", "a\0b"]))


def test_a_model_may_be_reached_through_a_link_and_a_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store.write("deep/er/m", sample(1))
    (tmp_path / "current").symlink_to("deep/er/m")
    store.write("current/", sample(2))
    assert_same(store.read("deep/er/m"), sample(2))


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_files_have_the_mode_that_the_umask_asks_for(tmp_path, umask):
    before = os.umask(umask)
    try:
        store.write(tmp_path / "m", sample())
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "m").iterdir()}
    assert modes == {0o666 & ~umask}
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o777 & ~umask


def test_arrays_and_names_are_read_only_views_of_the_file(tmp_path):
    store.write(tmp_path / "m", sample())
    got = store.read(tmp_path / "m")
    array = got.parts["tree"].arrays["w"]
    assert not array.flags.owndata
    assert not array.flags.writeable
    before = pa.total_allocated_bytes()
    assert store.read(tmp_path / "m").names["labels"].to_pylist()[0] == "ein"
    assert pa.total_allocated_bytes() == before


@pytest.mark.skipif(not LINUX, reason="looks into /proc")
def test_reading_without_verify_leaves_the_arrays_on_the_disk(tmp_path):
    size = 1 << 30
    store.write(tmp_path / "m", State("demo", {}, {}, arrays={"big": np.zeros(1 << 20, np.int8)}))
    grow(tmp_path / "m", size)
    got = store.read(tmp_path / "m", verify=False)
    assert got.arrays["big"].shape == (size,)
    assert resident_kb(tmp_path / "m") <= 512  # the header's page and what the kernel maps around it
    assert got.arrays["big"][-1] == 0


def grow(folder, size):
    """Makes the one int8 array of a saved model larger by a hole that takes no space on the disk."""
    raw = manifest_of(folder)
    file = folder / raw["arrays_file"]
    data = file.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = data[8:start].rstrip().replace(b"1048576", str(size).encode())
    header += b" " * (-len(header) % 8)
    with file.open("wb") as out:
        out.write(len(header).to_bytes(8, "little") + header)
        out.truncate(8 + len(header) + size)
    raw["model"]["arrays"]["big"]["shape"] = [size]
    raw["files"][file.name]["bytes"] = file.stat().st_size
    reseal(folder, raw)


def resident_kb(folder):
    found = None
    with Path("/proc/self/smaps").open() as maps:
        ours = False
        for line in maps:
            if "-" in line.split(" ")[0]:
                ours = str(folder) in line
            elif ours and line.startswith("Rss:"):
                found = (found or 0) + int(line.split()[1])
    assert found is not None
    return found


def test_importing_the_store_does_not_load_pydantic_or_pyarrow():
    code = "import sys, labelwood.store; print({'pydantic', 'pyarrow', 'safetensors'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
