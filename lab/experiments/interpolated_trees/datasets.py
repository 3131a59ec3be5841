"""The datasets of the experiments: official splits, and one that is generated."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lab.experiments.common import rows
from lab.experiments.common.rows import Rows

GENERATED = "generated"
NAMES = {
    "eurlex4k": "EURLex-4K",
    "wordnet": "WordNet",
    "debian_deps": "Debian",
    "bookcrossing": "BookCrossing",
    "loc_lcsh": "loc_lcsh",
    GENERATED: "generated",
}


def read(name: str, data: Path, out: Path, generated_labels: int) -> Rows:
    """A dataset by the name of its folder in `data`; the generated one is made in `out` unless it is there."""
    folder = data / name
    if name == GENERATED and not folder.is_dir():
        folder = out / "data" / f"{name}-{generated_labels}"
        if not (folder / "Y.tst.npz").exists():  # which is written last
            command = [sys.executable, "-m", "lab.benchmarks.generate", str(folder), "--labels", str(generated_labels)]
            subprocess.run(command, check=True)
    return rows.read(folder)
