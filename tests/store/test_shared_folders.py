"""Folders that other users may write to: their files and links are never followed, opened or lost."""

import contextlib
import errno
import os
import resource
import signal
import socket
import stat
from importlib import metadata
from pathlib import Path

import pytest
from tests.store.hostile_models import capped
from tests.store.store_samples import assert_same, contents, is_same, sample

from labelwood import store
from labelwood.errors import ModelError

STAGING, ARRAYS = ".saving-abcd_123", "arrays-0123456789abcdef.safetensors"
root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
NOBODY = 65534


def make(path, how, elsewhere):
    """Puts something at a path that a save did not write."""
    if how == "pipe":
        os.mkfifo(path)
    elif how == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            here = os.open(path.parent, os.O_RDONLY)  # the path itself is too long for a socket
            server.bind(f"/proc/self/fd/{here}/{path.name}")
            os.close(here)
    elif how == "link":
        path.symlink_to(elsewhere)
    elif how == "dangling link":
        path.symlink_to(elsewhere / "nothing")
    elif how == "folder":
        path.mkdir()
        (path / "thesis.txt").write_text("precious")
    elif how == "closed folder":
        path.mkdir(mode=0)
    else:
        path.write_text("precious")


@pytest.mark.slow
@pytest.mark.parametrize("name", [STAGING, ARRAYS, "README", "draft"])
@pytest.mark.parametrize("how", ["pipe", "socket", "link", "dangling link", "folder", "closed folder", "file"])
def test_a_save_finishes_and_follows_no_link_whatever_lies_in_the_folder(tmp_path, name, how):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for file in ("draft", "manifest.json", ARRAYS, "thesis.txt"):
        (elsewhere / file).write_text("precious")
    store.write(tmp_path / "m", sample(1))
    make(tmp_path / "m" / name, how, elsewhere)

    def save():
        store.write(tmp_path / "m", sample(2))
        return "saved", ""

    assert capped(save, seconds=5) == ("saved", "")
    assert_same(store.read(tmp_path / "m"), sample(2))
    assert {path.read_text() for path in elsewhere.iterdir()} == {"precious"}
    assert len(list(elsewhere.iterdir())) == 4
    if how == "folder":
        assert (tmp_path / "m" / name / "thesis.txt").read_text() == "precious"
    if name in ("README", "draft"):  # not ours
        assert os.path.lexists(tmp_path / "m" / name)


@pytest.mark.parametrize("how", ["pipe", "link", "socket"])
def test_a_new_data_file_replaces_what_has_its_name_without_opening_it(tmp_path, how):
    store.write(tmp_path / "other", sample(2))
    store.write(tmp_path / "m", sample(1))
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (taken,) = (path.name for path in (tmp_path / "other").glob("arrays-*"))
    make(tmp_path / "m" / taken, how, precious)

    def save():
        store.write(tmp_path / "m", sample(2))
        return "saved", ""

    assert capped(save, seconds=5) == ("saved", "")
    assert contents(tmp_path / "m") == contents(tmp_path / "other")
    assert precious.read_text() == "precious"


def test_a_manifest_that_is_a_pipe_or_a_link_is_neither_opened_nor_replaced(tmp_path):
    for how in ("pipe", "link", "dangling link", "socket"):
        (tmp_path / how).mkdir()
        make(tmp_path / how / "manifest.json", how, tmp_path / "elsewhere")

        def save(place=tmp_path / how):
            with pytest.raises(ModelError, match=r"not a Labelwood model's, or a damaged one"):
                store.write(place, sample(2))
            return "refused", ""

        assert capped(save, seconds=5) == ("refused", "")
        assert [path.name for path in (tmp_path / how).iterdir()] == ["manifest.json"]


def test_hard_links_to_the_files_of_a_model_keep_the_old_one(tmp_path):
    store.write(tmp_path / "m", sample(1))
    (tmp_path / "backup").mkdir()
    for file in (tmp_path / "m").iterdir():
        (tmp_path / "backup" / file.name).hardlink_to(file)
    store.write(tmp_path / "m", sample(2))
    assert_same(store.read(tmp_path / "backup"), sample(1))
    assert_same(store.read(tmp_path / "m"), sample(2))


STEPS = ["mkdir", "open", "write", "fsync", "replace", "unlink", "rmdir", "listdir"]


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_folder_swapped_for_a_link_during_a_save_is_not_followed(tmp_path, monkeypatch, step):
    """At each of the steps in turn, the folder is moved away and a link to another model takes its place."""
    victim = tmp_path / "victim"
    store.write(victim, sample(3))
    (victim / STAGING).mkdir()
    (victim / STAGING / "draft").write_text("precious")
    (victim / ARRAYS).write_text("precious")
    before = {path: path.read_bytes() for path in victim.rglob("*") if path.is_file()}
    for nth in range(1, 12):
        place, away = tmp_path / f"m{nth}", tmp_path / f"away{nth}"
        store.write(place, sample(1))
        with monkeypatch.context() as patch:
            patch.setattr(os, step, swapping(getattr(os, step), nth, place, away, victim))
            with contextlib.suppress(ModelError):
                store.write(place, sample(2))
        assert {path: path.read_bytes() for path in victim.rglob("*") if path.is_file()} == before
        held = away if away.exists() else place
        got = store.read(held)
        assert is_same(got, sample(1)) or is_same(got, sample(2))


def swapping(function, nth, place, away, victim):
    count = 0

    def step(*args, **kwargs):
        nonlocal count
        count += 1
        result = function(*args, **kwargs)
        # After the lock, the open folder decides where to save; before it, the path does.
        if count == nth and not away.exists() and any(path.name.startswith(".saving-") for path in place.iterdir()):
            place.rename(away)
            place.symlink_to(victim)
        return result

    return step


def test_a_staging_folder_that_is_swapped_for_a_link_is_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "draft").write_text("precious")
    mkdir = os.mkdir

    def swapped(name, *args, dir_fd=None, **kwargs):
        mkdir(name, *args, dir_fd=dir_fd, **kwargs)
        if str(name).startswith(".saving-"):
            os.rmdir(name, dir_fd=dir_fd)
            os.symlink(victim, name, dir_fd=dir_fd)

    store.write(tmp_path / "m", sample(1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "mkdir", swapped)
        with pytest.raises(ModelError, match="cannot be saved to"):
            store.write(tmp_path / "m", sample(2))
    assert_same(store.read(tmp_path / "m"), sample(1))
    assert contents(victim) == {"draft": b"precious"}


def test_a_missing_folder_that_becomes_a_link_is_not_followed(tmp_path, monkeypatch):
    mkdir = os.mkdir

    def swapped(name, *args, dir_fd=None, **kwargs):
        mkdir(name, *args, dir_fd=dir_fd, **kwargs)
        if name == "new":
            os.rmdir(name, dir_fd=dir_fd)
            os.symlink(tmp_path / "victim", name, dir_fd=dir_fd)

    (tmp_path / "victim").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(os, "mkdir", swapped)
        with pytest.raises(ModelError, match="new is a file and not a folder"):
            store.write(tmp_path / "new" / "m", sample(1))
    assert list((tmp_path / "victim").iterdir()) == []


def as_nobody(task):
    """Runs a task as a user without rights, who may not be able to read the current folder, and returns its result."""
    here = metadata.version("labelwood")

    def other():
        metadata.version = lambda name: here
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        return task()

    return capped(other, seconds=20)


@pytest.fixture
def shared(tmp_path):
    """A folder like /tmp: everybody may write, but only remove their own files."""
    for place in (tmp_path, *tmp_path.parents):
        if place.stat().st_mode & 0o005 != 0o005:
            if place != tmp_path and not place.name.startswith("pytest-"):
                pytest.skip(f"other users cannot get into {place}")
            place.chmod(stat.S_IMODE(place.stat().st_mode) | 0o055)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    return tmp_path / "shared"


@root
def test_leftovers_of_another_user_in_a_sticky_folder_do_not_stop_a_save(shared):
    store.write(shared, sample(1))
    for path in shared.iterdir():
        os.chown(path, NOBODY, NOBODY)
    (shared / STAGING).mkdir(mode=0o700)  # ours, closed to others
    (shared / ARRAYS).write_text("ours")
    os.mkfifo(shared / ".saving-zzzzzzzz")

    def save():
        store.write(shared, sample(2))
        return "saved", ""

    assert as_nobody(save) == ("saved", "")
    assert_same(store.read(shared), sample(2))
    assert (shared / ARRAYS).read_text() == "ours"
    assert (shared / STAGING).is_dir()


@root
def test_a_manifest_of_another_user_is_an_error_of_one_sentence(shared):
    store.write(shared, sample(1))

    def save():
        try:
            store.write(shared, sample(2))
        except ModelError as e:
            return "refused", str(e)
        return "saved", ""

    word, told = as_nobody(save)
    assert word == "refused"
    assert "cannot be saved to (Operation not permitted): ask its owner" in told
    assert_same(store.read(shared), sample(1))
    assert not any(path.name.startswith(".saving-") for path in shared.iterdir())


@root
@pytest.mark.parametrize("mode", [0o000, 0o300])
def test_a_folder_without_permission_is_an_error_of_one_sentence(shared, mode):
    store.write(shared / "m", sample(1))
    before = contents(shared / "m")
    (shared / "m").chmod(mode)

    def both():
        told = []
        for task in (lambda: store.read(shared / "m"), lambda: store.write(shared / "m", sample(2))):
            with pytest.raises(ModelError) as caught:
                task()
            told.append(str(caught.value))
        return "told", " | ".join(told)

    word, told = as_nobody(both)
    (shared / "m").chmod(0o755)
    assert word == "told", told
    assert told.count("Permission denied") == told.count("ask its owner") == 2
    assert contents(shared / "m") == before


@root
def test_a_file_without_permission_is_not_reported_as_damaged(shared):
    store.write(shared / "m", sample(1))
    (shared / "m").chmod(0o777)
    for file in (shared / "m").iterdir():
        file.chmod(0o600)

    def both():
        for task in (lambda: store.read(shared / "m"), lambda: store.write(shared / "m", sample(2))):
            with pytest.raises(ModelError, match=r"manifest.json cannot be read \(Permission denied\): ask its owner"):
                task()
        return "told", ""

    assert as_nobody(both) == ("told", "")
    assert_same(store.read(shared / "m"), sample(1))


FAILURES = [errno.EMFILE, errno.ENFILE, errno.EIO, errno.ENOMEM, errno.EACCES, errno.ESTALE]


@pytest.mark.parametrize("number", FAILURES, ids=lambda number: errno.errorcode[number])
def test_an_error_of_the_system_is_reported_as_such(tmp_path, monkeypatch, number):
    store.write(tmp_path / "m", sample(1))
    before, opened = contents(tmp_path / "m"), os.open

    def failing(path, *args, **kwargs):
        if path == "manifest.json":
            raise OSError(number, os.strerror(number))
        return opened(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", failing)
    for task in (store.read, store.check_target, store.describe, store.is_model):
        with pytest.raises(ModelError) as caught:
            task(tmp_path / "m")
        check_told(str(caught.value), number)
    with pytest.raises(ModelError) as caught:
        store.write(tmp_path / "m", sample(2))
    check_told(str(caught.value), number)
    monkeypatch.undo()
    assert contents(tmp_path / "m") == before


def check_told(message, number):
    assert f"manifest.json cannot be read ({os.strerror(number)}): " in message
    assert "damaged" not in message
    assert "remove" not in message
    assert "train" not in message


def test_too_many_open_files_leave_a_model_whole(tmp_path):
    store.write(tmp_path / "m", sample(1))
    before = contents(tmp_path / "m")

    def without_descriptors():
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
        told, spare = [], []
        try:
            while True:
                spare.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
        for n_left in range(6):
            for task in (lambda: store.read(tmp_path / "m"), lambda: store.write(tmp_path / "m", sample(2))):
                try:
                    task()
                    told.append("done")
                except ModelError as e:
                    told.append(str(e))
            os.close(spare[n_left])
        return "told", "\n".join(told)

    word, told = capped(without_descriptors)
    assert word == "told", told
    lines = set(told.split("\n"))
    assert all(line == "done" or "Too many open files): close some files" in line for line in lines), lines
    assert len(lines) > 2
    got = store.read(tmp_path / "m")
    assert is_same(got, sample(2)) or contents(tmp_path / "m") == before


def test_a_save_waits_for_another_and_can_be_interrupted(tmp_path):
    """A process that keeps the lock of the folder makes saves wait, and Ctrl-C still ends them."""
    import fcntl

    store.write(tmp_path / "m", sample(1))
    fd = os.open(tmp_path / "m", os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)

    def save():
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            store.write(tmp_path / "m", sample(2))
        except KeyboardInterrupt:
            return "interrupted", ""
        return "saved", ""

    assert capped(save) == ("interrupted", "")
    os.close(fd)
    assert_same(store.read(Path(tmp_path / "m")), sample(1))
