"""CPU time beside another checkout of Labelwood, in one interleaved run: what did a change cost?

    python -m lab.benchmarks.against OTHER/.venv/bin/python [--data DATA] [--rounds 15] [--json FILE]
        [--jobs 'one row,a batch']

Both versions stay in a process of their own and do the same jobs by turns, now one first and now the other. Of each job
the ratio of every round is taken; the median and the middle half of these are shown. CPU time, not time on the clock:
other work on the machine then matters little, but it still moves single rounds by several percent.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any


def jobs(data: Path | None, folder: Path) -> dict[str, Callable[[], object]]:
    """Each job by its name; what they need is made here and is not measured."""
    import labelwood as lw

    train, test = lw.data.sample() if data is None else (lw.read(data, split=split) for split in ("train", "test"))
    texts = train.texts
    if texts is None:
        X, queries = train.X, test.X
    else:
        vectorizer = lw.TextVectorizer(n_threads=1)
        X, queries = vectorizer.fit_transform(texts), vectorizer.transform(test.texts)
    Y, rows = train.Y, [queries[i : i + 1] for i in range(min(300, queries.shape[0]))]
    model = lw.TreeClassifier(n_threads=1).fit(X, Y)
    several = lw.TreeClassifier(n_threads=1, n_trees=3, max_leaf=100).fit(X, Y)
    softmax = lw.SoftmaxTreeClassifier(n_threads=1, dim=16, epochs=1).fit(X, Y)
    batch = queries[:4000]
    lw.write(lw.Dataset(sparse=X, Y=Y, labels=train.labels), folder / "rows.txt")
    model.save(folder / "model")
    found: dict[str, Callable[[], object]] = {
        "train a tree": lambda: lw.TreeClassifier(n_threads=1).fit(X, Y),
        "train one-vs-rest": lambda: lw.OneVsRest(n_threads=1, max_passes=1).fit(X[:2000], Y[:2000]),
        "train a softmax tree": lambda: lw.SoftmaxTreeClassifier(n_threads=1, dim=16, epochs=1).fit(X, Y),
        "one row": lambda: [model.predict_topk(row, 5) for row in rows for _ in range(10)],
        "one row of three trees": lambda: [several.predict_topk(row, 5) for row in rows for _ in range(3)],
        "one row with limits": lambda: [model.predict_topk(row, 5, exclude=[0]) for row in rows for _ in range(5)],
        "one row of a softmax tree": lambda: [softmax.predict_topk(row, 5) for row in rows for _ in range(5)],
        "a batch": lambda: [model.predict_topk(batch, 5) for _ in range(3)],
        "a batch of three trees": lambda: several.predict_topk(batch, 5),
        "a batch of a softmax tree": lambda: softmax.predict_topk(batch, 5),
        "metrics": lambda: [lw.metrics.evaluate(top, test_Y, n_threads=1) for _ in range(20)],
        "read sparse rows": lambda: lw.read(folder / "rows.txt"),
        "load and verify": lambda: [lw.load(folder / "model") for _ in range(5)],
        "load": lambda: [lw.load(folder / "model", verify=False) for _ in range(50)],
    }
    aligned = test.align(train.labels).Y
    top, test_Y = model.predict_topk(queries, 10), aligned[:, : max(aligned.shape[1], Y.shape[1])]
    if texts is not None:
        lw.write(lw.Dataset(texts=texts, Y=Y, labels=train.labels), folder / "rows.jsonl")
        lw.write(lw.Dataset(texts=texts, Y=Y, labels=train.labels), folder / "rows.csv")
        lw.write(lw.Dataset(texts=texts, Y=Y, labels=train.labels), folder / "rows.parquet")
        tagger = lw.TextClassifier(n_threads=1).fit_dataset(train)
        single = test.texts[:300].to_pylist()
        found |= {
            "read JSON lines": lambda: lw.read(folder / "rows.jsonl"),
            "read CSV": lambda: lw.read(folder / "rows.csv"),
            "read Parquet": lambda: lw.read(folder / "rows.parquet"),
            "fit a vectorizer": lambda: lw.TextVectorizer(n_threads=1).fit(texts),
            "texts to features": lambda: vectorizer.transform(texts),
            "one text": lambda: [tagger.suggest([text]) for text in single for _ in range(10)],
        }
    return found


def work(data: Path | None, folder: Path) -> None:
    """Does jobs as their names come in, and answers with seconds of CPU time."""
    found = jobs(data, folder)
    print(json.dumps(list(found)), flush=True)
    for line in sys.stdin:
        begin = time.process_time()
        found[line.strip()]()
        print(time.process_time() - begin, flush=True)


class Worker:
    """A process that runs one version."""

    def __init__(self, python: str, data: Path | None, folder: Path) -> None:
        given = [] if data is None else ["--data", str(data)]
        command = [python, __file__, "--work", str(folder), *given]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.jobs: list[str] = json.loads(self._answer())

    def seconds(self, job: str) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(job + "\n")
        self.process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            sys.exit("a version has stopped working; see above")
        return line


def compare(python: str, data: Path | None, rounds: int, wanted: list[str] | None) -> dict[str, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        here, there = Worker(sys.executable, data, Path(one)), Worker(python, data, Path(other))
        if unknown := set(wanted or ()) - set(here.jobs):
            sys.exit(f"there is no job {unknown.pop()!r}; there are: {', '.join(here.jobs)}")
        found: dict[str, list[tuple[float, float]]] = {job: [] for job in here.jobs if not wanted or job in wanted}
        for number in range(rounds + 1):
            for job, times in found.items():
                first, second = (here, there) if number % 2 else (there, here)
                a, b = first.seconds(job), second.seconds(job)
                if number:  # the first round warms up
                    times.append((a, b) if number % 2 else (b, a))
    return {job: summary(times) for job, times in found.items()}


def summary(times: list[tuple[float, float]]) -> dict[str, Any]:
    ratios = [here / there for here, there in times]
    low, _, high = quantiles(ratios, n=4)
    least = min(here for here, _ in times) / min(there for _, there in times)
    return {"ratio": median(ratios), "low": low, "high": high, "least": least, "seconds": median(h for h, _ in times)}


def table(found: dict[str, dict[str, Any]]) -> str:
    lines = ["| job | ratio | middle half | least of all | CPU s |", "| --- | --- | --- | --- | --- |"]
    for job, f in found.items():
        lines.append(
            f"| {job} | {f['ratio']:.3f} | {f['low']:.3f} to {f['high']:.3f} | {f['least']:.3f} | {f['seconds']:.3f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", nargs="?", help="the other checkout's Python")
    parser.add_argument("--data", type=Path, help="a folder with a train and a test split; the sample if not given")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--jobs", help="names with commas between them; all if not given")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work is not None:
        return work(given.data, given.work)
    if given.python is None:
        parser.error("name the Python of another checkout")
    found = compare(given.python, given.data, given.rounds, given.jobs.split(",") if given.jobs else None)
    print(table(found))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    return None


if __name__ == "__main__":
    main()
