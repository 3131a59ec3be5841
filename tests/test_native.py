"""The native core as Python sees it: errors, threads, fork, interrupts, SIMD levels."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood import _native
from labelwood.arrays.rows import from_scipy
from labelwood.errors import LabelwoodError, NativeLineError

X = sparse.random_array((200, 50), density=0.2, rng=np.random.default_rng(0), dtype=np.float32).tocsr()
Y = (sparse.random_array((200, 30), density=0.1, rng=np.random.default_rng(1)) != 0).astype(np.float32).tocsr()


def test_an_error_in_native_code_is_an_exception_with_a_sentence():
    good = from_scipy(X)
    for broken in (
        good._replace(indices=good.indices + 50),
        good._replace(indices=good.indices - 50),
        good._replace(indptr=good.indptr[::-1].copy()),
        good._replace(indptr=good.indptr[:0]),
        good._replace(values=good.values[:-1]),
    ):
        with pytest.raises(LabelwoodError, match="a sparse matrix has"):
            _native.check_csr(broken)
    with pytest.raises(NativeLineError) as caught:
        _native.read_sparse_text(b"0 1:1\n0 x\n", True, False, -1, -1, 2)
    assert caught.value.line == 1
    with pytest.raises(TypeError):
        _native.check_csr(1, 2, 3, 4)


def test_arrays_from_native_code_own_their_memory_and_can_be_written():
    (indptr, _, _), _, (_, _, values), _ = _native.read_sparse_text(b"0 1:1 2:3\n", True, False, -1, -1, 1)
    indptr[0] = 7
    values[:] = 5
    assert values.tolist() == [5, 5]


def fitted_digest(_=None):
    model = lw.CentroidClassifier(n_threads=4).fit(X, Y)
    top = model.predict_topk(X, 5)
    return hashlib.sha256(top.ids.tobytes() + top.scores.tobytes()).hexdigest()


# Python 3.12 warns about forking with threads; that it works all the same is the point here.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_workers_use_a_pool_of_their_own():
    expected = fitted_digest()
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert pool.map(fitted_digest, range(6)) == [expected] * 6
    assert fitted_digest() == expected


def test_many_python_threads_may_call_at_once():
    expected = fitted_digest()
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(fitted_digest, range(40))) == {expected}


def test_other_python_threads_run_while_native_code_works():
    text = b"1,2 3:0.5 7:1.25 11:3\n" * 400_000
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    _native.read_sparse_text(text, True, False, -1, -1, 1)
    end = time.perf_counter()
    done.set()
    thread.join()
    assert sum(start < t < end for t in ticks) >= 3


def test_ctrl_c_stops_native_work():
    text = b"1,2 3:0.5 7:1.25 11:3\n" * 3_000_000
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(100):
            _native.read_sparse_text(text, True, False, -1, -1, 1)
    timer.join()
    assert fitted_digest() == fitted_digest(), "the pool goes on"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_every_simd_level_gives_the_same_bytes(kind):
    code = f"""
import hashlib, labelwood as lw, numpy as np
from labelwood import _native
from scipy import sparse
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(100, 37)).astype(np.float32), rng.random((100, 20)) < 0.1
if {kind!r} == "sparse":
    X = sparse.csr_array(X * (X > 0.5))
top = lw.CentroidClassifier().fit(X, Y).predict_topk(X, 5)
print(_native.simd_level(), hashlib.sha256(top.ids.tobytes() + top.scores.tobytes()).hexdigest())
"""
    digests, levels = set(), set()
    for level in ("baseline", "v3", "v4"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "LABELWOOD_SIMD": level},
            capture_output=True,
            text=True,
            check=True,
        )
        used, digest = done.stdout.split()
        levels.add(used)
        digests.add(digest)
    assert len(digests) == 1
    assert "baseline" in levels


NO_MORE_THREADS = """
import resource, numpy as np, labelwood as lw
model = lw.CentroidClassifier(n_threads=1).fit(np.eye(64), np.eye(64))
rows = np.tile(np.eye(64, dtype=np.float32), (40, 1))
model.predict_topk(rows, 1)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (40 << 20),) * 2)
print(model.set_params(n_threads=64).predict_topk(rows, 1).ids.sum())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads its size from /proc")
def test_work_is_done_by_fewer_threads_where_the_system_gives_no_more():
    done = subprocess.run([sys.executable, "-c", NO_MORE_THREADS], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(40 * sum(range(64))), done.stderr
