"""An error in CSV ends the process with one sentence, even while Arrow's threads are still running."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from labelwood.data import read
from labelwood.data.formats import delimited

PROGRAM = Path(sys.executable).with_name("labelwood")
HEADER, ROW, WRONG = b"text,labels\n", b"a text,b\n", b"c\n"


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("n_after", [1, 3_000_000])
def test_a_row_of_another_width_is_one_sentence_and_status_2_in_every_run(suffix, n_after, tmp_path):
    path = tmp_path / f"rows.csv{suffix}"
    content = HEADER + ROW * (n_after // 10) + WRONG + ROW * n_after
    path.write_bytes(gzip.compress(content, 1) if suffix else content)
    limits = ["--limit", "max_ratio=5000"]
    for _ in range(10):
        done = subprocess.run([PROGRAM, "info", path, *limits], capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert f"row {n_after // 10 + 1} below the header: has 1 columns and not 2" in done.stderr


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_pieces_end_where_rows_end_wherever_the_file_is_cut(end, tmp_path, monkeypatch):
    texts = ['"a ""quoted"", word"', f'"two{end}lines"', 'a stray " quote', '""', '""""', '"ends""in,one"""', "plain"]
    content = f"text,labels{end}" + "".join(f"{text},l{i}{end}" for i, text in enumerate(texts * 3))
    path = tmp_path / "rows.csv"
    path.write_bytes(content.encode())
    whole = read(path).texts.to_pylist()
    assert len(whole) == 3 * len(texts)
    for size in range(1, 60):
        monkeypatch.setattr(delimited, "_BLOCK", size)
        assert read(path).texts.to_pylist() == whole
