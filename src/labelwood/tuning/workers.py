"""Worker processes, fed with runs and ended together with the sweep."""

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


def finished(folder: ReportFolder, runs: Sequence[Run], jobs: int) -> Generator[tuple[Run, dict[str, Any]], None, None]:
    """Runs in the order in which they finish, with their figures; `jobs` of them at a time.

    However this ends, by an error or by Ctrl-C, no process is left.
    """
    waiting = deque(runs)
    with _started(folder, min(jobs, len(runs))) as workers, selectors.DefaultSelector() as answers:
        for worker in workers:
            answers.register(_stream(worker.stdout), selectors.EVENT_READ, (worker, _give(worker, folder, waiting)))
        while answers.get_map():
            for key, _ in answers.select():
                worker, run = key.data
                yield run, _answer(worker, run)
                if waiting:
                    answers.modify(key.fileobj, selectors.EVENT_READ, (worker, _give(worker, folder, waiting)))
                else:
                    answers.unregister(key.fileobj)


@contextmanager
def _started(folder: ReportFolder, count: int) -> Iterator[list[subprocess.Popen[str]]]:
    # Plain processes that read and write lines: unlike multiprocessing's they need nothing of the caller's main
    # module, one that is killed is noticed, and all can be ended by what is public. A session of their own keeps
    # Ctrl-C from them: they are ended here.
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


def _give(worker: subprocess.Popen[str], folder: ReportFolder, waiting: deque[Run]) -> Run:
    run = waiting.popleft()
    job = json.dumps({"run": run.plain(), "model": str(folder.model(run))})
    try:
        _stream(worker.stdin).write(job + "\n")
        _stream(worker.stdin).flush()
    except BrokenPipeError:
        pass  # it has died, and reading its answer will say so
    return run


def _answer(worker: subprocess.Popen[str], run: Run) -> dict[str, Any]:
    line = _stream(worker.stdout).readline()
    if not line.endswith("\n"):
        how = worker.wait()
        why = f"was killed by signal {-how}, perhaps for want of memory" if how < 0 else "failed, as told above"
        raise LabelwoodError(f"the process of {run.name} {why}; finished runs are kept, so try again with fewer jobs")
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise LabelwoodError(answer["error"])
    return answer


def _stream(stream: Any) -> Any:
    assert stream is not None  # it was asked for
    return stream
