import errno
import os
import shutil

import pytest
from tests.store.store_samples import assert_same, contents, is_same, sample

from labelwood import store
from labelwood.errors import ModelError

STEPS = ["rename", "replace", "fsync", "unlink", "mkdir", "rmdir", "write", "open"]


class Dead(BaseException):
    """Simulates a killed process: every further step raises it again."""


class Faults:
    """Counts the steps that change the disk and makes the chosen one fail."""

    def __init__(self, monkeypatch, fail_at, error):
        self.count, self.fail_at, self.error = 0, fail_at, error
        for name in STEPS:
            monkeypatch.setattr(os, name, self.wrap(getattr(os, name)))

    def wrap(self, step):
        def counted(*args, **kwargs):
            self.count += 1
            dead = self.error is Dead and self.count > self.fail_at
            if self.count == self.fail_at or dead:
                raise self.error if self.error is not OSError else OSError(errno.ENOSPC, "No space left")
            return step(*args, **kwargs)

        return counted


def save_with_fault(path, state, fail_at, error):
    """Saves with a fault at one step. Returns whether the fault occurred and whether the save reported it."""
    with pytest.MonkeyPatch.context() as patch:
        faults = Faults(patch, fail_at, error)
        try:
            store.write(path, state)
        except (ModelError, KeyboardInterrupt, Dead):
            return True, True
        return faults.count >= fail_at, False


@pytest.mark.slow
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, Dead])
@pytest.mark.parametrize("existed", [True, False])
def test_a_save_that_fails_at_any_step_leaves_the_old_or_the_new_model(tmp_path, error, existed):
    old, new, third = sample(1), sample(2), sample(3)
    store.write(tmp_path / "third", third)
    clean = contents(tmp_path / "third")
    came, fail_at = True, 0
    while came:
        fail_at += 1
        path = tmp_path / f"m{fail_at}"
        if existed:
            store.write(path, old)
        before = contents(path) if existed else None
        came, reported = save_with_fault(path, new, fail_at, error)
        check_old_or_new(path, before, old, new, came=came, reported=reported, error=error)
        store.write(path, third)
        assert contents(path) == clean
        shutil.rmtree(path)
    assert fail_at > 15


def check_old_or_new(path, before, old, new, *, came, reported, error):
    tidy = error is not Dead
    if not reported:
        assert_same(store.read(path), new)
    elif before is None:
        if store.is_model(path):
            assert_same(store.read(path), new)
        elif tidy:
            assert not path.exists() or not list(path.iterdir())
    else:
        got = store.read(path)
        assert is_same(got, old) or is_same(got, new)
        if tidy and is_same(got, old):
            assert contents(path) == before
        if error is OSError and is_same(got, new):  # the switch may not be on the disk yet
            assert before.keys() <= contents(path).keys()
    assert came or not reported


def test_every_file_is_on_the_disk_before_the_step_that_needs_it(tmp_path, monkeypatch):
    path = tmp_path / "m"
    store.write(path, sample(1))
    events, folder = [], path.stat().st_ino

    def spy(name, describe):
        step = getattr(os, name)

        def recorded(*args, **kwargs):
            event = describe(*args, **kwargs)
            result = step(*args, **kwargs)
            events.append(event)
            return result

        monkeypatch.setattr(os, name, recorded)

    spy("fsync", lambda fd: ("sync", os.fstat(fd).st_ino))

    def placed_or_named(old, new, *, src_dir_fd, dst_dir_fd):
        inner = os.stat(old, dir_fd=src_dir_fd).st_ino
        return ("place", inner, new) if os.fstat(dst_dir_fd).st_ino == folder else ("draft",)

    spy("replace", placed_or_named)
    spy("unlink", lambda *_, **__: ("unlink",))
    store.write(path, sample(2))
    placed = [i for i, event in enumerate(events) if event[0] == "place"]
    assert len(placed) == 4
    assert all(("sync", events[i][1]) in events[:i] for i in placed)
    assert events[placed[-1]][2] == "manifest.json"
    assert ("sync", folder) in events[placed[-2] : placed[-1]]
    assert ("sync", folder) in events[placed[-1] : events.index(("unlink",))]


def test_a_full_disk_is_an_error_of_one_sentence(tmp_path):
    told = r"m cannot be saved to \(No space left.*free some space"
    with pytest.MonkeyPatch.context() as patch, pytest.raises(ModelError, match=told):
        Faults(patch, 8, OSError)
        store.write(tmp_path / "m", sample())


def test_files_of_others_in_the_folder_are_kept(tmp_path):
    store.write(tmp_path / "m", sample(1))
    others = ["README.md", "arrays-mine.safetensors", "names-0123456789abcdef.arrow.bak", ".saving-notes"]
    for name in others:
        (tmp_path / "m" / name).write_text("mine")
    store.write(tmp_path / "m", sample(2))
    assert all((tmp_path / "m" / name).read_text() == "mine" for name in others)
    assert_same(store.read(tmp_path / "m"), sample(2))


def test_leftovers_of_crashed_saves_are_removed(tmp_path):
    store.write(tmp_path / "m", sample(1))
    clean = set(contents(tmp_path / "m"))
    (tmp_path / "m" / "arrays-0123456789abcdef.safetensors").write_text("x")
    (tmp_path / "m" / ".saving-abcd_123").mkdir()
    (tmp_path / "m" / ".saving-abcd_123" / ".tmpXyZ").write_text("x")
    store.write(tmp_path / "m", sample(1))
    assert {path.name for path in (tmp_path / "m").iterdir()} == clean


def test_saving_again_replaces_a_damaged_file_with_the_right_name(tmp_path):
    store.write(tmp_path / "m", sample())
    clean = contents(tmp_path / "m")
    for path in (tmp_path / "m").glob("*-*"):
        path.write_bytes(bytes(path.stat().st_size))
    store.write(tmp_path / "m", sample())
    assert contents(tmp_path / "m") == clean


def test_places_that_are_not_models_are_refused_and_keep_their_files(tmp_path):
    (tmp_path / "file").write_text("precious")
    for name, file in [
        ("folder", "thesis.txt"),
        ("web", "manifest.json"),
        ("lost", "arrays-0123456789abcdef.safetensors"),
    ]:
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("precious")
    (tmp_path / "mixed" / ".saving-abcd_123").mkdir(parents=True)
    (tmp_path / "mixed" / "thesis.txt").write_text("precious")
    before = sorted(tmp_path.rglob("*"))
    for place in ["file", "file/m", "folder", "web", "lost", "mixed"]:
        with pytest.raises(ModelError, match=f"{place.split('/')[0]}.*save to another place"):
            store.write(tmp_path / place, sample())
    assert sorted(tmp_path.rglob("*")) == before
    assert all(path.read_text() == "precious" for path in before if path.is_file())


def test_an_empty_folder_may_be_saved_to(tmp_path):
    store.write(tmp_path, sample())
    assert_same(store.read(tmp_path), sample())


def test_a_model_of_a_newer_format_may_be_replaced(tmp_path):
    store.write(tmp_path / "m", sample(1))
    (tmp_path / "m" / "manifest.json").write_text('{"format": "labelwood-model", "format_version": 9}')
    store.write(tmp_path / "m", sample(2))
    assert_same(store.read(tmp_path / "m"), sample(2))


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_place_without_permission_is_an_error_of_one_sentence(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(ModelError, match="Permission denied"):
        store.write(tmp_path / "closed" / "m", sample())


def test_a_forked_process_does_not_keep_the_lock(tmp_path):
    import fcntl

    kept = []
    with pytest.MonkeyPatch.context() as patch:
        flock = fcntl.flock

        def spy(fd, operation):
            if operation == fcntl.LOCK_EX:
                kept.append(os.dup(fd))  # as fork does for every descriptor
            return flock(fd, operation)

        patch.setattr(fcntl, "flock", spy)
        store.write(tmp_path / "m", sample(1))
    fd = os.open(tmp_path / "m", os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where the lock is still held
    for open_fd in [fd, *kept]:
        os.close(open_fd)
    assert kept


def test_a_name_that_no_file_can_have_is_refused_in_a_sentence():
    with pytest.raises(ModelError, match=r"cannot be saved to .*: give another name"):
        store.write("a\0b", store.State("demo", {}, {}))
