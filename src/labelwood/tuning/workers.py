"""Worker processes, which execute the runs of a sweep and end with it."""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from labelwood.errors import LabelwoodError
from labelwood.tuning.folder import ReportFolder
from labelwood.tuning.grid import Run


def train_in_workers(
    folder: ReportFolder, runs: Sequence[Run], jobs: int
) -> Generator[tuple[Run, dict[str, Any]], None, None]:
    """Executes `jobs` runs at a time; yields each run with its figures as soon as it has finished.

    No process is left at the end, even after an error or Ctrl-C.
    """
    waiting = deque(runs)
    with _start_workers(folder, min(jobs, len(runs))) as workers, selectors.DefaultSelector() as answers:
        for worker in workers:
            answers.register(_pipe(worker.stdout), selectors.EVENT_READ, (worker, _send_run(worker, folder, waiting)))
        while answers.get_map():
            for key, _ in answers.select():
                worker, run = key.data
                yield run, _read_result(worker, run)
                if waiting:
                    answers.modify(key.fileobj, selectors.EVENT_READ, (worker, _send_run(worker, folder, waiting)))
                else:
                    answers.unregister(key.fileobj)


@contextmanager
def _start_workers(folder: ReportFolder, count: int) -> Iterator[list[subprocess.Popen[str]]]:
    # Plain processes that read and write lines. Unlike those of multiprocessing, they do not import the caller's main
    # module, we notice when one is killed, and a public function ends them. They have a session of their own, so
    # Ctrl-C does not reach them: they are ended here.
    command = [sys.executable, "-P", "-m", "labelwood.tuning.worker", str(folder.work)]
    workers: list[subprocess.Popen[str]] = []
    try:
        for _ in range(count):
            workers.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    encoding="utf-8",
                    start_new_session=True,
                )
            )
        yield workers
    finally:
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.communicate()


def _send_run(worker: subprocess.Popen[str], folder: ReportFolder, waiting: deque[Run]) -> Run:
    run = waiting.popleft()
    job = json.dumps({"run": run.plain(), "model": str(folder.model(run))})
    try:
        _pipe(worker.stdin).write(job + "\n")
        _pipe(worker.stdin).flush()
    except BrokenPipeError:
        pass  # the process has died; reading its answer raises the error
    return run


def _read_result(worker: subprocess.Popen[str], run: Run) -> dict[str, Any]:
    line = _pipe(worker.stdout).readline()
    if not line.endswith("\n"):
        how = worker.wait()
        why = f"was killed by signal {-how}, perhaps for lack of memory" if how < 0 else "failed (see above)"
        raise LabelwoodError(f"the process of {run.name} {why}; finished runs are kept, so try again with fewer jobs")
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise LabelwoodError(answer["error"])
    return answer


def _pipe(stream: Any) -> Any:
    assert stream is not None  # because Popen was given PIPE
    return stream
