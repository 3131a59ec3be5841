"""Models that are read into private memory: later changes of their files do not matter."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.store.hostile_models import capped
from tests.store.store_samples import assert_same, is_same, sample

import labelwood as lw
from labelwood import store
from labelwood.errors import ModelError
from labelwood.store import mounts
from labelwood.store.folder import Folder

SIZE = 200_000
REPLACER = """
import sys
from tests.store.store_samples import sample
from labelwood import store
states = [sample(seed, {size}) for seed in (1, 2)]
store.write(sys.argv[1], states[0])
print("started", flush=True)
turns = 0
while sys.stdin in __import__("select").select([sys.stdin], [], [], 0)[0] or turns < 40:
    store.write(sys.argv[1], states[turns % 2])
    turns += 1
"""


def data_files(folder):
    return [path for path in folder.iterdir() if path.name != "manifest.json"]


@pytest.mark.parametrize("verify", [True, False])
def test_private_memory_holds_the_same_contents_read_only(tmp_path, verify):
    store.write(tmp_path / "m", sample())
    got = store.read(tmp_path / "m", verify=verify, mmap=False)
    assert_same(got, sample())
    for array in (got.arrays["w"], got.parts["tree"].parts["leaf"].arrays["w"]):
        assert not array.flags.writeable
        assert array.flags.aligned


@pytest.mark.parametrize("damage", ["truncated", "emptied", "overwritten", "removed"])
def test_answers_do_not_change_when_the_files_change(tmp_path, damage):
    model = lw.TextClassifier().fit(["a dog barks", "a rose blooms"] * 5000, [["animal"], ["plant"]] * 5000)
    model.save(tmp_path / "m")

    def answers():
        loaded = lw.load(tmp_path / "m", verify=False, mmap=False)
        for path in data_files(tmp_path / "m"):
            spoil(path, damage)
        return "answered", str(loaded.suggest(["the dog", "my rose"], k=1))

    assert capped(answers) == ("answered", str(model.suggest(["the dog", "my rose"], k=1)))


def spoil(path, damage):
    if damage == "removed":
        path.unlink()
    elif damage == "overwritten":
        path.write_bytes(b"\xff" * path.stat().st_size)
    else:
        os.truncate(path, 1 if damage == "truncated" else 0)


def test_a_mapped_file_that_is_cut_short_ends_the_process_as_the_page_says(tmp_path):
    """If this test fails, mapping has become safe, and the documentation needs no warnings any more."""
    store.write(tmp_path / "m", sample(1, SIZE))

    def sums():
        got = store.read(tmp_path / "m", verify=False, mmap=True)
        for path in data_files(tmp_path / "m"):
            os.truncate(path, 1)
        return "summed", str(got.arrays["w"].sum())

    assert capped(sums) == ("killed", "SIGBUS")


def test_a_file_that_is_cut_short_while_it_is_read_is_refused(tmp_path, monkeypatch):
    store.write(tmp_path / "m", sample(1, SIZE))
    check = Folder._check_size

    def shorter(self, name, fd, size):
        check(self, name, fd, size)
        os.truncate(tmp_path / "m" / name, size - 1)

    monkeypatch.setattr(Folder, "_check_size", shorter)
    with pytest.raises(ModelError, match=r"arrays-.* is damaged \(it was cut short to \d+ bytes while it was read"):
        store.read(tmp_path / "m", mmap=False)


def test_the_checked_bytes_are_the_bytes_in_memory(tmp_path, monkeypatch):
    """A file that is overwritten between the check and the first answer changes nothing that was checked."""
    from labelwood.store import reading

    store.write(tmp_path / "m", sample(1))
    digest = reading._digest

    def overwritten_after(data):
        found = digest(data)
        for path in data_files(tmp_path / "m"):
            path.write_bytes(bytes(path.stat().st_size))
        return found

    monkeypatch.setattr(reading, "_digest", overwritten_after)
    assert_same(store.read(tmp_path / "m", mmap=False), sample(1))


def test_an_altered_file_is_refused_from_private_memory_too(tmp_path):
    store.write(tmp_path / "m", sample(1))
    (path,) = (tmp_path / "m").glob("arrays-*")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ModelError, match="its sha256 differs"):
        store.read(tmp_path / "m", mmap=False)


@pytest.mark.slow
@pytest.mark.parametrize("verify", [True, False])
def test_a_model_that_is_replaced_meanwhile_is_read_whole(tmp_path, verify):
    code = REPLACER.format(size=SIZE)
    replacer = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "m")],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert replacer.stdout.readline() == "started\n"
    states, seen, until = [sample(1, SIZE), sample(2, SIZE)], set(), time.monotonic() + 60
    while replacer.poll() is None and time.monotonic() < until:
        got = store.read(tmp_path / "m", verify=verify, mmap=False)
        seen.add(got.fitted["seed"])
        assert is_same(got, states[got.fitted["seed"] - 1])
    replacer.communicate(timeout=30)
    assert replacer.returncode == 0
    assert seen == {1, 2}


def test_a_model_larger_than_memory_is_refused_before_it_is_read(tmp_path):
    store.write(tmp_path / "m", sample(1))
    raw = store.State("demo", {}, {}, arrays={"big": np.zeros(64 << 20, np.int8)})
    store.write(tmp_path / "big", raw)

    def read():
        try:
            store.read(tmp_path / "big", mmap=False)
        except ModelError as e:
            return "refused", str(e)
        return "read", ""

    word, told = capped(read, memory=32 << 20)
    assert word == "refused"
    assert told == f"{tmp_path / 'big'} is larger than the memory that is free: map it, with mmap=True"


NETWORK = ("nfs4", "cifs", "fuse.sshfs", "9p", "ceph", "lustre")
LOCAL = ("ext4", "overlay", "fuse.fuse-overlayfs", "tmpfs", "nfsd")
LINE = "36 35 {device} / /mnt rw,relatime shared:1 - {kind} server:/share rw,addr=10.0.0.1\n"


@pytest.mark.parametrize("kind", [*NETWORK, *LOCAL])
def test_files_on_a_network_file_system_are_read_into_memory(tmp_path, monkeypatch, kind):
    store.write(tmp_path / "m", sample(1))
    is_network = kind in NETWORK
    device = (tmp_path / "m").stat().st_dev
    mine = LINE.format(device=f"{os.major(device)}:{os.minor(device)}", kind=kind)
    others = LINE.format(device=f"{os.major(device)}:{os.minor(device) + 1}", kind="ext4" if is_network else "nfs")
    (tmp_path / "mounts").write_text(others + mine)
    monkeypatch.setattr(mounts, "_MOUNTS", tmp_path / "mounts")
    monkeypatch.setattr(mounts, "_DISKLESS_MAJOR", os.major(device))
    for mmap, is_mapped in ((None, not is_network), (True, True), (False, False)):
        got = store.read(tmp_path / "m", mmap=mmap)
        assert_same(got, sample(1))
        assert in_maps(tmp_path / "m") == is_mapped
        del got


def test_files_are_mapped_if_the_system_does_not_tell_its_mounts(tmp_path, monkeypatch):
    monkeypatch.setattr(mounts, "_MOUNTS", tmp_path / "nothing")
    monkeypatch.setattr(mounts, "_DISKLESS_MAJOR", os.major(tmp_path.stat().st_dev))
    with Folder.at(str(tmp_path)) as folder:
        assert not mounts.is_on_network(folder.fd)


def in_maps(folder):
    return str(folder) in Path("/proc/self/maps").read_text()
