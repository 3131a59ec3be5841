"""Reading the field's text format: time beside scikit-learn's svmlight reader, and peak memory.

Usage: python -m lab.benchmarks.reading TRAIN.txt[.xz] [--repeats 5] [--json]

Both read the same uncompressed rows, in turns; the ratio is of medians. Memory is the rise of the resident peak in a
fresh process, divided by the bytes of the arrays that result. Exits with status 1 if the two disagree.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

import labelwood as lw
from labelwood.data.source import Source


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--json", action="store_true")
    arguments.add_argument("--memory-only", action="store_true", help="used by the benchmark itself")
    options = arguments.parse_args()
    if options.memory_only:
        print(json.dumps(memory(options.data)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        plain, rows = Path(folder) / "rows.txt", Path(folder) / "rows.svm"
        plain.write_bytes(Source(options.data).read())
        rows.write_bytes(plain.read_bytes().split(b"\n", 1)[1])
        figures = times(plain, rows, options.repeats) | child_memory(plain)
    print(json.dumps(figures) if options.json else "\n".join(f"{name:<24} {value}" for name, value in figures.items()))
    return 0 if figures["equal"] else 1


def times(plain: Path, rows: Path, repeats: int) -> dict[str, object]:
    seconds: dict[str, list[float]] = {"scikit-learn": [], "labelwood": []}
    cpu: dict[str, list[float]] = {"scikit-learn": [], "labelwood": []}
    for _ in range(repeats):
        for name, walls in seconds.items():
            wall, used = time.perf_counter(), time.process_time()
            if name == "labelwood":
                ours = lw.read(plain)
            else:
                theirs, _ = load_svmlight_file(str(rows), multilabel=True, zero_based=True, dtype=np.float32)
            walls.append(time.perf_counter() - wall)
            cpu[name].append(time.process_time() - used)
    median = {name: statistics.median(values) for name, values in seconds.items()}
    median_cpu = {name: statistics.median(values) for name, values in cpu.items()}
    return {
        "rows": len(ours),
        "megabytes": round(plain.stat().st_size / 1e6, 1),
        "scikit-learn seconds": round(median["scikit-learn"], 4),
        "labelwood seconds": round(median["labelwood"], 4),
        "spread": {name: [round(min(v), 4), round(max(v), 4)] for name, v in seconds.items()},
        "times faster, wall": round(median["scikit-learn"] / median["labelwood"], 2),
        "times faster, CPU": round(median_cpu["scikit-learn"] / median_cpu["labelwood"], 2),
        "equal": bool(abs(theirs - ours.sparse[:, : theirs.shape[1]]).max() == 0),
    }


def child_memory(plain: Path) -> dict[str, object]:
    command = [sys.executable, __file__, str(plain), "--memory-only"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def memory(path: Path) -> dict[str, object]:
    lw.read(first_rows(path))  # so that imports and threads are not counted
    before = peak()
    data = lw.read(path)
    arrays = sum(a.nbytes for m in (data.sparse, data.Y) for a in (m.data, m.indices, m.indptr))
    rise = peak() - before
    return {
        "array megabytes": round(arrays / 1e6, 1),
        "peak megabytes": round(rise / 1e6, 1),
        "peak over arrays": round(rise / arrays, 2),
    }


def first_rows(path: Path) -> Path:
    """A file with the first ten rows."""
    with path.open("rb") as stream:
        header, *lines = [stream.readline().rstrip(b"\n") for _ in range(11)]
    small = path.with_name("small.txt")
    small.write_bytes(b"10 " + header.split(b" ", 1)[1] + b"\n" + b"\n".join(lines) + b"\n")
    return small


def peak() -> int:
    """The resident peak of this process; getrusage would count the parent's."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


if __name__ == "__main__":
    sys.exit(main())
