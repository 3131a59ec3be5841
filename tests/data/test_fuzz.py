"""Whatever bytes a file holds, reading it ends with a dataset or with one sentence."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.data.samples import COMPRESS

from labelwood.data import Dataset, read, write
from labelwood.data.formats import FORMATS
from labelwood.errors import LabelwoodError

TEXTS = Dataset.from_texts(["a dog", "a red rose", ""], [["animal"], ["plant", "garden"], []])
NUMBERS = replace(TEXTS, texts=None, sparse=TEXTS.Y)
DENSE = replace(TEXTS, texts=None, dense=np.ones((2, 3), np.float32), Y=TEXTS.Y[:1][[0, 0]])
GROUPS = [{"id": "g", "rows": [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}], "labels": ["x", "x"]}] * 2
SOUND = {
    "train.txt": NUMBERS,
    "trn_X_Xf.txt": NUMBERS,
    "trn.json": TEXTS,
    "X.trn.npz": NUMBERS,
    "train_texts.txt": TEXTS,
    "rows.svm": replace(NUMBERS, sparse=NUMBERS.sparse[:2], Y=NUMBERS.Y[:2]),
    "rows.fasttext": TEXTS,
    "rows.jsonl": TEXTS,
    "rows.csv": TEXTS,
    "rows.tsv": TEXTS,
    "rows.parquet": TEXTS,
    "rows.npz": DENSE,
}
# Pieces that have a meaning in some format, so that mutations pass the first check.
PIECES = [
    b"-1",
    b"999999999999",
    b"nan",
    b":",
    b",",
    b"\n",
    b"\r",
    b'"',
    b"null",
    b"[",
    b"]",
    b"{}",
    b"\xff",
    b"\0",
    b" ",
    b"1e99",
    b"#",
    b"__label__",
]
quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def outcome(path, **options):
    try:
        data = read(path, **options)
    except LabelwoodError as e:
        assert str(e)
        assert len(str(e)) < 1000
        return
    assert isinstance(data, Dataset)
    data.describe()


@st.composite
def mutations(draw):
    """A function that changes a few places of some bytes."""
    edits = draw(
        st.lists(
            st.tuples(st.floats(0, 1), st.integers(0, 4), st.sampled_from(PIECES) | st.binary(max_size=3)),
            min_size=1,
            max_size=3,
        )
    )

    def mutate(data):
        for place, length, new in edits:
            at = int(place * len(data))
            data = data[:at] + new + data[at + length :]
        return data

    return mutate


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Valid files of every format, each in its own folder with its companion files."""
    folders = {}
    for name, data in SOUND.items():
        folders[name] = tmp_path_factory.mktemp("sound")
        write(data, folders[name] / name)
        assert len(read(folders[name] / name)) == len(data)
    folders["groups.jsonl"] = tmp_path_factory.mktemp("sound")
    (folders["groups.jsonl"] / "groups.jsonl").write_text("".join(json.dumps(group) + "\n" for group in GROUPS))
    return folders


@pytest.mark.parametrize("name", [*SOUND, "groups.jsonl"])
@quick
@given(mutate=mutations(), choice=st.integers(0, 5))
def test_mutations_of_sound_files(sound, name, mutate, choice):
    files = sorted(sound[name].iterdir())
    file = files[choice % len(files)]
    whole = file.read_bytes()
    try:
        file.write_bytes(mutate(whole))
        outcome(sound[name] / name)
    finally:
        file.write_bytes(whole)


@pytest.mark.parametrize("format_name", sorted(FORMATS))
@settings(quick, max_examples=30)
@given(
    data=st.binary(max_size=60) | st.text(max_size=60).map(str.encode),
    head=st.sampled_from([b"", b"2 3 4\n", b"{", b"text\n", b"PAR1", b"PK\3\4"]),
)
def test_any_bytes_as_any_format(tmp_path_factory, format_name, data, head):
    folder = tmp_path_factory.mktemp("any")
    (folder / "x").write_bytes(head + data)
    outcome(folder / "x", format=format_name)
    outcome(folder / "x")


@pytest.mark.parametrize("suffix", sorted(COMPRESS))
@quick
@given(mutate=mutations())
def test_mutations_of_compressed_files(tmp_path_factory, suffix, mutate):
    path = tmp_path_factory.mktemp("packed") / f"rows.csv{suffix}"
    path.write_bytes(mutate(COMPRESS[suffix](b"text,labels\n" + b"a dog,animal\n" * 50)))
    outcome(path)


@settings(quick, max_examples=40)
@given(data=st.binary(max_size=40) | st.text(max_size=40).map(str.encode), mutate=mutations())
def test_any_catalogue_and_any_filter(tmp_path_factory, data, mutate):
    folder = tmp_path_factory.mktemp("beside")
    (folder / "test.jsonl").write_bytes(b'{"text": "a", "labels": [1]}\n')
    outcome(folder / "test.jsonl", label_file=made(folder, "labels", data))
    outcome(
        folder / "test.jsonl",
        label_file=made(folder, "labels", mutate(b'{"id": 0, "text": "x"}\n{"id": 1, "text": "y"}\n')),
    )
    outcome(folder / "test.jsonl", filter_file=made(folder, "filter", data))
    outcome(folder / "test.jsonl", filter_file=made(folder, "filter", mutate(b"0 0\n0 0\n")))


def made(folder, name, data):
    (folder / name).write_bytes(data)
    return folder / name
