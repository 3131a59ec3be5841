"""What every runner shares: a stage of one contender, in a process of its own, measured the same way for all.

A runner is a module that calls `serve(Class)`. It is started in the root of the repository, inside its contender's
environment, which has no Labelwood, as

    python -m lab.benchmarks.rivals.run_NAME STAGE DATA MODEL OUT PARAMS

STAGE is prepare, train or predict; DATA a folder with X.trn.npz, Y.trn.npz, X.tst.npz and Y.tst.npz; MODEL the folder
to save in or load from; PARAMS the class's parameters as JSON. Figures go to OUT.json; prediction also writes the ids
and scores of the best labels to OUT.npz.
"""

from __future__ import annotations

import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

K = 5
BEAM = 10
TRAIN_THREADS = 2
BATCH_RUNS = 3
SINGLE_ROWS = 1000
WARM_UP = 50
SINGLE_SECONDS = 60  # a contender so slow that 1000 rows take longer is cut off here


class Contender(ABC):
    """One library behind the calls that are timed: `fit`, `load`, `batch` and `one`. The others are not."""

    def __init__(self, **params: Any) -> None:
        self.params = params

    def prepare(self, data: Path) -> None:  # noqa: B027 (most have nothing to prepare)
        """Writes files that only this library needs beside the data, once."""

    def read(self, data: Path) -> Any:
        """Training rows in the form that `fit` takes."""
        return matrix(data / "X.trn.npz"), matrix(data / "Y.trn.npz")

    def ask(self, data: Path) -> Any:
        """Test rows in the form that `batch` takes, with a `shape`."""
        return matrix(data / "X.tst.npz")

    @abstractmethod
    def fit(self, rows: Any, model: Path) -> None:
        """Trains with `TRAIN_THREADS` threads."""

    @abstractmethod
    def save(self, model: Path) -> None:
        """Writes the model into the folder."""

    @abstractmethod
    def load(self, model: Path) -> None:
        """Loads what was saved, for prediction with one thread."""

    @abstractmethod
    def batch(self, X: Any) -> Any:
        """The K best labels of all rows, with one thread, in whatever form the library gives."""

    @abstractmethod
    def top(self, answer: Any) -> tuple[np.ndarray, np.ndarray]:
        """That answer as rows × K ids, −1 where there are fewer, and scores."""

    def row(self, X: Any) -> Any:
        """A single row in the form that `one` takes."""
        return X

    def one(self, row: Any) -> Any:
        """The K best labels of one row, through the call a user would write."""
        return self.batch(row)

    def extra(self, model: Path) -> dict[str, float]:
        """Figures that only this library has."""
        return {}


def serve(contender: type[Contender]) -> None:
    """Runs the stage that the command line asks for."""
    stage, data, model, out, params = sys.argv[1:]
    one = contender(**json.loads(params))
    work = {"prepare": prepare, "train": train, "predict": predict}[stage]
    figures = work(one, Path(data), Path(model), Path(out))
    Path(f"{out}.json").write_text(json.dumps(figures))


def prepare(contender: Contender, data: Path, model: Path, out: Path) -> dict[str, float]:
    """Lets the contender write what only it needs."""
    contender.prepare(data)
    return {}


def train(contender: Contender, data: Path, model: Path, out: Path) -> dict[str, float]:
    """Times training; reading before it and saving after it are not counted."""
    rows = contender.read(data)
    before = resident("VmRSS")
    wall, cpu = time.perf_counter(), time.process_time()
    contender.fit(rows, model)
    figures = {"train_wall_s": time.perf_counter() - wall, "train_cpu_s": time.process_time() - cpu}
    started = time.perf_counter()
    contender.save(model)
    return figures | {
        "save_s": time.perf_counter() - started,
        "model_bytes": folder_bytes(model),
        "train_before_mib": before,
        "train_peak_mib": resident("VmHWM"),
    }


def predict(contender: Contender, data: Path, model: Path, out: Path) -> dict[str, float]:
    """Times loading, batches and single rows.

    A first load may import modules; the load that counts is another one, after the peak of memory is taken.
    """
    X = contender.ask(data)
    figures = {"first_load_s": seconds(contender.load, model)}
    ids, scores = contender.top(contender.batch(X))
    np.savez(f"{out}.npz", ids=ids.astype(np.int32), scores=scores.astype(np.float32))
    figures |= batch_times(contender, X) | single_times(contender, X) | {"predict_peak_mib": resident("VmHWM")}
    return figures | {"load_s": seconds(contender.load, model)} | contender.extra(model)


def seconds(call: Callable[[Any], Any], argument: Any) -> float:
    """How long a call takes."""
    started = time.perf_counter()
    call(argument)
    return time.perf_counter() - started


def batch_times(contender: Contender, X: Any) -> dict[str, float]:
    """Microseconds a row, the best of some runs after the first."""
    walls, cpus = [], []
    for _ in range(BATCH_RUNS):
        wall, cpu = time.perf_counter(), time.process_time()
        contender.batch(X)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return {"batch_us": 1e6 * min(walls) / X.shape[0], "batch_cpu_us": 1e6 * min(cpus) / X.shape[0]}


def single_times(contender: Contender, X: Any) -> dict[str, float]:
    """Quantiles in milliseconds over single rows, drawn once for all contenders, after a warm-up."""
    chosen = np.random.default_rng(0).permutation(np.resize(np.arange(X.shape[0]), max(SINGLE_ROWS, X.shape[0])))
    rows = [contender.row(X[int(i)]) for i in chosen[: SINGLE_ROWS + WARM_UP]]
    for row in rows[:WARM_UP]:
        contender.one(row)
    times = latencies(contender.one, rows[-SINGLE_ROWS:])
    return {
        "single_p50_ms": float(np.percentile(times, 50)),
        "single_p99_ms": float(np.percentile(times, 99)),
        "single_rows": len(times),
    }


def latencies(call: Callable[[Any], Any], rows: list[Any]) -> np.ndarray:
    """Milliseconds of each call, until the rows or the time allowed are used up."""
    times = []
    end = time.perf_counter() + SINGLE_SECONDS
    for row in rows:
        started = time.perf_counter()
        call(row)
        stopped = time.perf_counter()
        times.append(stopped - started)
        if stopped > end:
            break
    return 1e3 * np.array(times)


def matrix(path: Path) -> Any:
    """A saved matrix as float32 `csr_matrix`, which all of these libraries take."""
    loaded = sparse.csr_matrix(sparse.load_npz(path), dtype=np.float32)
    loaded.sort_indices()
    return loaded


def best_of_lists(rows: list[list[tuple[int, float]]]) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of label and score a row, best first, as two padded arrays."""
    ids = np.full((len(rows), K), -1, np.int32)
    scores = np.full((len(rows), K), -np.inf, np.float32)
    for i, pairs in enumerate(rows):
        for j, (label, score) in enumerate(pairs[:K]):
            ids[i, j], scores[i, j] = label, score
    return ids, scores


def best_of_matrix(answer: Any) -> tuple[np.ndarray, np.ndarray]:
    """The K highest entries of each row of a sparse matrix."""
    rows = []
    for start, stop in zip(answer.indptr[:-1], answer.indptr[1:], strict=True):
        order = np.argsort(-answer.data[start:stop], kind="stable")[:K] + start
        rows.append(list(zip(answer.indices[order].tolist(), answer.data[order].tolist(), strict=True)))
    return best_of_lists(rows)


def resident(field: str) -> float:
    """VmRSS or VmHWM of this process in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return float("nan")


def folder_bytes(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
