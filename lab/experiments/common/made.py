"""Where a figure comes from: the commit, the day and the machine it was measured with."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
Made = Mapping[str, str]


def made_now() -> dict[str, str]:
    """The commit of this checkout, today, and this machine; a GPU counts where torch has been loaded."""
    git = ["git", "describe", "--always", "--dirty", "--abbrev=7", "--exclude=*"]
    told = subprocess.run(git, cwd=HERE, capture_output=True, text=True, check=False)
    today = datetime.now(UTC).date().isoformat()
    return {"commit": told.stdout.strip() or "unknown", "date": today, "machine": _machine()}


def _machine() -> str:
    known = Path("/proc/cpuinfo").read_text("utf-8") if Path("/proc/cpuinfo").exists() else ""
    models = [line.partition(":")[2].strip() for line in known.splitlines() if line.startswith("model name")]
    cores = f"{os.cpu_count()} cores of {models[0] if models else platform.machine()}"
    torch = sys.modules.get("torch")
    return f"{torch.cuda.get_device_name()}, {cores}" if torch and torch.cuda.is_available() else cores


def said(made: Iterable[Made]) -> str:
    """One sentence about all the runs that a table was made from.

    A table that no record was kept of only knows since when it has been in the documents.
    """
    distinct = {tuple(sorted(each.items())): each for each in made}.values()
    kept = [f"at `{each['commit']}` ({each['date']}) on {each['machine']}" for each in distinct if "commit" in each]
    lost = [f"in the documents since `{each['since']}` ({each['date']})" for each in distinct if "since" in each]
    parts = [f"recorded {' and '.join(kept)}"] * bool(kept) + [f"no record kept: {' and '.join(lost)}"] * bool(lost)
    text = "; ".join(parts)
    return f"*{text[:1].upper()}{text[1:]}.*"
