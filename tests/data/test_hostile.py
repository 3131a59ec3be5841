"""Files that claim, or unpack to, very much data are read within a memory limit or refused in one sentence."""

from __future__ import annotations

import lzma

import pytest
from tests.data.hostile_files import GROUPS, run
from tests.data.samples import COMPRESS

from labelwood.data import ReadLimits, read, read_batches
from labelwood.data.source import Source
from labelwood.errors import InputError, ParameterError

ROW = b'{"text": "a dog", "labels": ["animal"]}\n'


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_hostile_files_end_in_rows_or_one_sentence_within_a_cap_of_memory(group, tmp_path):
    attacks = [attack for attack in GROUPS[group] if attack.is_quick]
    for attack, outcome in zip(attacks, run(attacks, tmp_path), strict=True):
        assert outcome.crash is None, attack.name
        assert all(word in (outcome.error or "") for word in attack.words), (attack.name, outcome)
        assert "\n" not in (outcome.error or "")
        assert len(outcome.error or "") < 600


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_limit_holds_for_every_compression_and_can_be_raised(suffix, tmp_path):
    path = tmp_path / f"rows.jsonl{suffix}"
    path.write_bytes(COMPRESS[suffix](ROW * 100) + COMPRESS[suffix](ROW * 100))
    with pytest.raises(InputError, match=r"holds more than 6000 bytes; .* --limit max_bytes"):
        read(path, limits=ReadLimits(max_bytes=6000))
    with pytest.raises(InputError, match="max_bytes"):
        list(read_batches(path, limits=ReadLimits(max_bytes=6000)))
    assert len(read(path, limits=ReadLimits(max_bytes=8000))) == 200


def test_the_files_beside_the_data_have_the_same_limits(tmp_path):
    (tmp_path / "rows.jsonl").write_bytes(ROW)
    (tmp_path / "labels.jsonl.xz").write_bytes(lzma.compress(b'{"id": "animal"}\n' + b'{"id": "%d"}\n' % 5))
    assert read(tmp_path / "rows.jsonl").n_labels == 2
    with pytest.raises(InputError, match=r"rows.jsonl: holds more than 20 bytes"):
        read(tmp_path / "rows.jsonl", limits=ReadLimits(max_bytes=20))
    (tmp_path / "labels.jsonl.xz").write_bytes(lzma.compress(b'{"id": "animal"}\n' * 3))
    with pytest.raises(InputError, match=r"labels.jsonl.xz: holds more than 45 bytes"):
        read(tmp_path / "rows.jsonl", limits=ReadLimits(max_bytes=45))


def test_a_line_may_be_as_long_as_the_limit_says(tmp_path):
    (tmp_path / "x").write_bytes(b"a\n" + b"b" * 50_000)
    long = Source(tmp_path / "x", ReadLimits(max_line=10_000))
    with pytest.raises(InputError, match=r"line 2: is longer than 10000 bytes; .* --limit max_line"):
        list(long.blocks(4096))
    assert b"".join(block.data for block in Source(tmp_path / "x").blocks(4096)) == b"a\n" + b"b" * 50_000


def test_zeros_between_compressed_parts_are_padding_and_anything_else_is_an_error(tmp_path):
    for suffix in (".xz", ".gz"):
        part = COMPRESS[suffix](ROW)
        (tmp_path / "x").write_bytes(part + bytes(8) + part + bytes(4))
        assert Source(tmp_path / "x").read() == ROW * 2
    for suffix in (".xz", ".gz", ".bz2"):
        (tmp_path / "x").write_bytes(COMPRESS[suffix](ROW) + b"and more that would be lost")
        with pytest.raises(InputError, match="compression is broken"):
            Source(tmp_path / "x").read()


@pytest.mark.parametrize(
    "numbers", [{"max_line": 0}, {"max_ratio": float("nan")}, {"max_bytes": "1G"}, {"max_bytes": True}]
)
def test_a_limit_is_a_number_from_one(numbers):
    with pytest.raises(ParameterError, match="must be a number from 1"):
        ReadLimits(**numbers)


def test_the_command_line_raises_limits(labelwood, tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 20000000:1\n")
    assert "max_features" in labelwood("info", path).err
    assert labelwood("info", path, "--limit", "max_features=1G", "--json").json["features"] == 20_000_001
    for wrong in ("max_features", "max_features=", "max_rows=5", "max_bytes=-1", "max_bytes=many"):
        result = labelwood("info", path, "--limit", wrong)
        assert result.status == 2
        assert f"--limit '{wrong}'" in result.err
        assert result.err.count("\n") == 1
