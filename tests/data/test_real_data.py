"""Real data sets are read with the counts of their descriptions. Skipped if the data is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from labelwood.data import read, write
from labelwood.data.source import Source

DATA = Path(os.environ.get("LABELWOOD_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the real data is not here; name it with LABELWOOD_DATA")

# folder: rows of each split, labels, labels per row over all splits (or None), kind of row
SETS = {
    "eurlex4k": ({"train": 15_539, "test": 3_809}, 3_993, 5.31, "sparse"),
    "eurlex57k": ({"train": 45_000, "dev": 6_000, "test": 6_000}, None, 5.07, "texts"),
    "loc_lcsh": ({"train": 162_188, "test": 40_137}, 31_747, 2.05, "texts"),
    "wordnet": ({"train": 75_540, "test": 19_077}, 13_557, 4.78, "texts"),
    "debian_deps": ({"train": 38_986, "test": 9_816}, 14_735, 4.90, "texts"),
    "bookcrossing": ({"train": 26_570, "test": 8_644}, 27_757, 5.62, "texts"),
    "debian_tags": ({"train": 24_073, "test": 6_227}, 581, 3.73, "texts"),
    "delicious": ({"train": 12_920, "test": 3_185}, 983, 19.02, "sparse"),
    "bibtex": ({"train": 4_880, "test": 2_515}, 159, 2.40, "sparse"),
    "mnist": ({"train": 60_000, "test": 10_000}, 10, 1.0, "dense"),
    "fashion_mnist": ({"train": 60_000, "test": 10_000}, 10, 1.0, "dense"),
}


@pytest.mark.parametrize("name", SETS)
def test_counts(name):
    if not (DATA / name).is_dir():
        pytest.skip(f"{name} is not here")
    rows, n_labels, per_row, kind = SETS[name]
    splits = {split: read(DATA / name, split=split) for split in rows}
    assert {split: len(data) for split, data in splits.items()} == rows
    for data in splits.values():
        assert getattr(data, kind) is not None
        assert n_labels is None or data.n_labels == n_labels
        assert (data.filters is not None) == (name == "bookcrossing")
    entries = sum(data.Y.nnz for data in splits.values())
    assert min(abs(data.Y.nnz / len(data) - per_row) for data in splits.values()) < 0.05 or entries / sum(
        rows.values()
    ) == pytest.approx(per_row, abs=0.01)


def test_rows_without_labels_are_kept():
    if not (DATA / "eurlex4k").is_dir():
        pytest.skip("eurlex4k is not here")
    for split, n_blank in (("train", 28), ("test", 6)):
        facts = read(DATA / "eurlex4k", split=split).describe()
        assert (facts["rows_without_labels"], facts["features"]) == (n_blank, 5000)
    assert read(DATA / "eurlex4k").describe()["labels_used"] == 3_786


@pytest.mark.parametrize(("name", "split"), [("eurlex57k", "dev"), ("loc_lcsh", "test"), ("bookcrossing", "test")])
def test_descriptions_of_labels_and_filters_come_along_unchanged(name, split, tmp_path):
    if not (DATA / name).is_dir():
        pytest.skip(f"{name} is not here")
    data = read(DATA / name, split=split, keep_unknown=True)
    write(data, tmp_path / f"{split}.parquet")
    assert (tmp_path / "labels.jsonl").read_bytes() == Source(DATA / name / "labels.jsonl.xz").read()
    if data.filters is not None:
        again = read(tmp_path / f"{split}.parquet")
        assert again.filters.tolist() == data.filters.tolist()
        assert again.labels == data.labels
