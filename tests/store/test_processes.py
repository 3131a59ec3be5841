"""Saving and reading in several processes: real kills, readers during saves, mappings that outlive their files."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.store.store_samples import contents, is_same, sample

from labelwood import store

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SIZE = 20_000

# Saves two states in turn until its input ends or it is killed.
SAVER = f"""
import sys, threading
from labelwood import store
from tests.store.store_samples import sample
states = [sample(int(seed), {SIZE}) for seed in sys.argv[2:]]
store.write(sys.argv[1], states[0])
print("started", flush=True)
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
turn = 0
while not stop.is_set():
    turn += 1
    store.write(sys.argv[1], states[turn % len(states)])
print(turn)
"""

# Forks savers, sends each a signal at some moment, and loads the model that it leaves.
VICTIMS = f"""
import os, random, signal, sys, time
from labelwood import store
from tests.store.store_samples import is_same, sample
path, sign = sys.argv[1], getattr(signal, sys.argv[2])
states = [sample(seed, {SIZE}) for seed in (1, 2)]
store.write(path, states[0])
chance = random.Random(7)
for _ in range(25):
    child = os.fork()
    if child == 0:
        try:
            while True:
                for state in states:
                    store.write(path, state)
        except KeyboardInterrupt:
            os._exit(0)
    time.sleep(chance.uniform(0.005, 0.06))
    got = store.read(path)
    # One signal may not be enough: Python drops an interrupt during a destructor.
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        os.kill(child, sign)
        time.sleep(0.01)
    for got in (got, store.read(path)):
        assert any(is_same(got, state) for state in states)
"""


@pytest.mark.parametrize("sign", ["SIGKILL", "SIGINT"])
def test_a_killed_save_leaves_a_model_that_loads(tmp_path, sign):
    subprocess.run([sys.executable, "-c", VICTIMS, str(tmp_path / "m"), sign], cwd=ROOT, check=True, timeout=60)
    store.write(tmp_path / "m", sample(3))
    store.write(tmp_path / "clean", sample(3))
    assert contents(tmp_path / "m") == contents(tmp_path / "clean")


def started(path, *seeds):
    process = subprocess.Popen(
        [sys.executable, "-c", SAVER, str(path), *map(str, seeds)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "started\n"
    return process


def stopped(process):
    turns, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    return int(turns)


@pytest.mark.parametrize("verify", [True, False])
def test_a_reader_beside_a_writer_always_gets_a_whole_model(tmp_path, verify):
    states = [sample(1, SIZE), sample(2, SIZE)]
    saver = started(tmp_path / "m", 1, 2)
    end, seen = time.monotonic() + 1.0, set()
    while time.monotonic() < end:
        got = store.read(tmp_path / "m", verify=verify)
        seen.add(got.fitted["seed"])
        assert is_same(got, states[got.fitted["seed"] - 1])
    assert stopped(saver) > 2
    assert seen == {1, 2}


def test_savers_in_threads_and_processes_take_turns(tmp_path):
    saver = started(tmp_path / "m", 1)
    threads = [
        threading.Thread(target=lambda seed=seed: [store.write(tmp_path / "m", sample(seed)) for _ in range(5)])
        for seed in (2, 3, 4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    stopped(saver)
    seed = store.read(tmp_path / "m").fitted["seed"]
    store.write(tmp_path / "clean", sample(seed, SIZE if seed == 1 else 50))
    assert contents(tmp_path / "m") == contents(tmp_path / "clean")


def test_a_process_that_has_the_old_model_mapped_keeps_it(tmp_path):
    store.write(tmp_path / "m", sample(1, SIZE))
    code = f"""
import sys
from labelwood import store
from tests.store.store_samples import assert_same, sample
got = store.read(sys.argv[1], verify=False)
print("mapped", flush=True)
sys.stdin.read()
assert_same(got, sample(1, {SIZE}))
"""
    reader = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "m")],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert reader.stdout.readline() == "mapped\n"
    store.write(tmp_path / "m", sample(2, SIZE))
    reader.communicate(timeout=30)
    assert reader.returncode == 0


def test_a_model_may_be_saved_over_the_files_it_is_mapped_from(tmp_path):
    store.write(tmp_path / "m", sample(1))
    mapped = store.read(tmp_path / "m")
    store.write(tmp_path / "m", mapped)
    store.write(tmp_path / "m", sample(2))
    store.write(tmp_path / "m", mapped)
    assert is_same(store.read(tmp_path / "m"), sample(1))
