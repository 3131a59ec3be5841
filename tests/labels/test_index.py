"""Names of labels and their ids: an id never changes."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwood.errors import LabelwoodError
from labelwood.labels import LabelIndex

NAMES = st.lists(st.text(min_size=1, max_size=4), max_size=8)


@given(first=NAMES, second=NAMES)
def test_ids_never_change(first, second):
    index = LabelIndex()
    ids = index.add(first)
    before = list(index)
    more = index.add(second)
    assert list(index)[: len(before)] == before
    assert [index[i] for i in ids] == first
    assert [index[i] for i in more] == second
    assert index.ids(first).tolist() == ids.tolist()
    assert sorted(set(ids) | set(more)) == list(range(len(index)))


@given(stored=st.lists(st.text(min_size=1, max_size=4), max_size=6, unique=True), added=NAMES)
def test_names_that_were_stored_and_added_are_one_list(stored, added):
    index = LabelIndex(stored)
    index.add(added)
    whole = list(dict.fromkeys([*stored, *added]))
    assert list(index) == whole
    assert index.to_arrow().to_pylist() == whole
    assert index.to_arrow().type == pa.large_string()
    assert index[1:3] == whole[1:3]
    assert index[::-1] == whole[::-1]
    assert index == LabelIndex(whole)
    assert all(name in index for name in whole)
    assert (len(index), index.ids(["not there"]).tolist()) == (len(whole), [-1])


def test_adding_names_after_to_arrow_keeps_ids():
    index = LabelIndex(["a"])
    index.add(["b"])
    index.to_arrow()
    assert index.add(["c", "b"]).tolist() == [2, 1]
    assert list(index) == ["a", "b", "c"]


def test_arrays_of_any_kind_of_string():
    for names in (pa.array(["a", "b"]), pa.chunked_array([["a"], ["b"]]), pa.array(["a", "b"]).dictionary_encode()):
        assert list(LabelIndex(names)) == ["a", "b"]


def test_a_mapped_array_is_not_copied(tmp_path):
    batch = pa.record_batch({"names": pa.array(["a", "b"], pa.large_string())})
    with pa.ipc.new_file(tmp_path / "names", batch.schema) as file:
        file.write_batch(batch)
    with pa.memory_map(str(tmp_path / "names")) as mapped:
        stored = pa.ipc.open_file(mapped).get_batch(0).column(0)
        index = LabelIndex(stored)
        assert index.to_arrow().buffers()[2].address == stored.buffers()[2].address
        assert index.add(["b", "c"]).tolist() == [1, 2]


@pytest.mark.parametrize("names", [["a", "a"], ["a", ""]])
def test_invalid_names_are_refused_every_time(names):
    index = LabelIndex(names)
    for _ in range(2):
        with pytest.raises(LabelwoodError, match=r"same name|is empty"):
            index.ids(["a"])


def test_a_missing_name_is_refused():
    with pytest.raises(LabelwoodError, match="missing"):
        LabelIndex(["a", None])


@pytest.mark.parametrize("name", ["", None, 5])
def test_adding_an_invalid_name_changes_nothing(name):
    index = LabelIndex(["a"])
    with pytest.raises(LabelwoodError, match="every label needs a name"):
        index.add([name])
    assert list(index) == ["a"]
    assert index.add(["b"]).tolist() == [1]


def test_ids_out_of_range_are_errors_and_not_the_last_label():
    index = LabelIndex(["a"])
    for label in (-1, 1):
        with pytest.raises(IndexError):
            index[label]


def test_equality_is_by_names_in_order():
    assert LabelIndex(["a", "b"]) != LabelIndex(["b", "a"])
    assert LabelIndex.numbered(2) == LabelIndex(["0", "1"])
    assert LabelIndex() != []
    with pytest.raises(TypeError):
        hash(LabelIndex())


def test_repr_shows_a_few_names():
    assert repr(LabelIndex(["a", "b"])) == "LabelIndex(['a', 'b'], 2 labels)"
    assert repr(LabelIndex.numbered(9)) == "LabelIndex(['0', '1', '2', …], 9 labels)"


def test_cached_names_stay_right_when_names_are_added(monkeypatch):
    monkeypatch.setattr("labelwood.labels.index._CACHE_SIZE", 2)
    index = LabelIndex(["a", "b", "c"])
    for _ in range(3):
        assert [index[i] for i in range(3)] == ["a", "b", "c"]
    index.add(["d"])
    assert [index[i] for i in (3, 0, 3, 2)] == ["d", "a", "d", "c"]
    for outside in (-1, 4):
        with pytest.raises(IndexError):
            index[outside]
