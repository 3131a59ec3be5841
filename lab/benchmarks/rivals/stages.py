"""Runs the stages of a contender in fresh processes and collects their figures."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import labelwood as lw
from lab.benchmarks.rivals.contenders import Entry
from lab.benchmarks.rivals.environments import python_of
from lab.benchmarks.rivals.protocol import TRAIN_THREADS, matrix
from labelwood.arrays.topk import TopK
from labelwood.labels import inverse_propensities, label_frequencies

ROOT = Path(__file__).parents[3]


class StageError(Exception):
    """A stage that ended with an error or ran out of time."""


class Course:
    """One dataset and the folder for what runs leave behind."""

    def __init__(self, data: Path, cache: Path, timeout: float) -> None:
        self.data, self.cache, self.timeout = data.resolve(), cache.resolve(), timeout
        self.runs = self.cache / "runs" / self.data.name
        self.runs.mkdir(parents=True, exist_ok=True)
        Y = matrix(self.data / "Y.trn.npz")
        self.truth = matrix(self.data / "Y.tst.npz")
        self.inverse = inverse_propensities(label_frequencies(Y), Y.shape[0])

    def run(self, name: str, entry: Entry) -> dict[str, float]:
        """All stages of one contender: its figures, those of accuracy among them."""
        model, out = self.runs / f"{name}.model", self.runs / name
        shutil.rmtree(model, ignore_errors=True)
        model.mkdir(parents=True)
        try:
            figures: dict[str, float] = {}
            for stage, threads in (("prepare", 1), ("train", TRAIN_THREADS), ("predict", 1)):
                figures |= self._stage(stage, entry, model, out, threads)
            return figures | self._accuracy(out)
        finally:
            shutil.rmtree(model, ignore_errors=True)

    def _stage(self, stage: str, entry: Entry, model: Path, out: Path, threads: int) -> dict[str, float]:
        python = sys.executable if entry.library == "labelwood" else python_of(entry.library, self.cache)
        command = [
            python,
            "-m",
            f"lab.benchmarks.rivals.run_{entry.library}",
            stage,
            self.data,
            model,
            out,
            json.dumps(entry.params),
        ]
        others = run_stage(stage, command, Path(f"{out}.{stage}.log"), threads, self.timeout)
        return json.loads(Path(f"{out}.json").read_text()) | {f"{stage}_others_cores": others}

    def _accuracy(self, out: Path) -> dict[str, float]:
        with np.load(f"{out}.npz") as best:
            top = TopK(best["ids"], best["scores"])
        chosen = ("P", "nDCG", "PSP")
        return lw.metrics.evaluate(top, self.truth, metrics=chosen, inv_propensity=self.inverse)


def run_stage(stage: str, command: list[Any], log: Path, threads: int, timeout: float) -> float:
    """Runs a stage's process to its end and returns how many cores others used meanwhile."""
    threads_of_libraries = {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1"}
    environment = os.environ | threads_of_libraries | {"PYTHONPATH": paths_of_modules()}
    busy, started = Busy(), time.perf_counter()
    with log.open("w") as lines:
        try:
            subprocess.run(command, stdout=lines, stderr=lines, env=environment, timeout=timeout, check=True)
        except subprocess.TimeoutExpired:
            raise StageError(f"{stage} took more than {timeout:.0f} s") from None
        except (subprocess.CalledProcessError, OSError) as error:
            raise StageError(f"{stage}: {last_line(log) or error}") from None
    return busy.others() / (time.perf_counter() - started)


def paths_of_modules() -> str:
    """PYTHONPATH for a runner: the environment of a rival does not know where `lab` lies."""
    return os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))


class Busy:
    """How many processor seconds others have used on this machine since it was made."""

    def __init__(self) -> None:
        self.start = self._all() - self._ours()

    def others(self) -> float:
        """Seconds, without those of our own child processes."""
        return max(0.0, self._all() - self._ours() - self.start)

    @staticmethod
    def _all() -> float:
        ticks: list[int] = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
        return (sum(ticks[:8]) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def _ours() -> float:
        used: Any = resource.getrusage(resource.RUSAGE_CHILDREN)
        return float(used.ru_utime + used.ru_stime)


def last_line(log: Path) -> str:
    """The last line a process wrote that is not empty."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""
