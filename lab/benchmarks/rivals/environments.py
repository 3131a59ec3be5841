"""Makes one virtual environment a rival, versions pinned.

Usage: python -m lab.benchmarks.rivals.environments [RIVAL …] [--cache build/rivals]

The cache folder may also be named by RIVALS_CACHE. An environment that is complete is left as it is.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

# Each entry is one call of pip. libpecos asks for torch, which its trees do not use.
PINNED = {
    "pecos": [["numpy==1.26.4", "scipy==1.13.1", "scikit-learn==1.5.2"], ["--no-deps", "libpecos==1.2.8"]],
    "omikuji": [["omikuji==0.5.2", "numpy==2.2.6", "scipy==1.15.3"]],
    "napkinxc": [["napkinxc==0.7.2", "numpy==1.26.4", "scipy==1.13.1"]],
    "fasttext": [["fasttext==0.9.3", "numpy==1.26.4", "scipy==1.13.1"]],
    "libmultilabel": [["libmultilabel==0.10.0"]],
    "faiss": [["faiss-cpu==1.15.1", "numpy==2.2.6"]],
}


def default_cache() -> Path:
    """Where environments, data and models of the comparison lie."""
    return Path(os.environ.get("RIVALS_CACHE", "build/rivals"))


def python_of(rival: str, cache: Path) -> Path:
    """The interpreter of a rival's environment."""
    return cache / "environments" / rival / "bin" / "python"


def make(rival: str, cache: Path) -> Path:
    """Creates the environment of `rival` unless it is complete; returns its interpreter."""
    python = python_of(rival, cache)
    mark = python.parent.parent / "complete.txt"
    versions = "\n".join(" ".join(packages) for packages in PINNED[rival])
    if mark.exists() and mark.read_text() == versions:
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", python.parent.parent], check=True)
    for packages in PINNED[rival]:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    mark.write_text(versions)
    return python


def main() -> int:
    """Makes the named environments, all if none is named; one that cannot be made does not stop the others."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("rivals", nargs="*", metavar="RIVAL", help=f"of {', '.join(PINNED)}; all if none is named")
    arguments.add_argument("--cache", type=Path, default=default_cache())
    options = arguments.parse_args()
    unknown = set(options.rivals) - set(PINNED)
    if unknown:
        arguments.error(f"no such rival: {', '.join(sorted(unknown))}; there are {', '.join(PINNED)}")
    failed = 0
    for rival in options.rivals or PINNED:
        try:
            print(f"{rival}: {make(rival, options.cache)}")
        except subprocess.CalledProcessError as error:
            failed += 1
            print(f"{rival}: failed, {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
