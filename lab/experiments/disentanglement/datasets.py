"""The datasets of the experiments, with their official splits."""

from __future__ import annotations

from pathlib import Path

import labelwood as lw
from lab.experiments.common import rows
from lab.experiments.common.rows import Rows

NAMES = {
    "eurlex4k": "EURLex-4K",
    "eurlex57k": "EURLEX57K",
    "debian_deps": "Debian",
    "loc_lcsh": "loc_lcsh",
    "wordnet": "WordNet",
}
COLUMNS = {"eurlex57k": lw.Columns(text=("title", "text"))}


def read(name: str, data: Path, n_rows: int | None) -> Rows:
    """A dataset by the name of its folder in `data`; with `n_rows`, its first rows only."""
    return rows.read(data / name, n_rows=n_rows, columns=COLUMNS.get(name))
