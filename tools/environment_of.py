"""Makes an environment with another version of one package, which sees all others of this environment behind its own.

python tools/environment_of.py transformers==5.10.1 build/transformers-5.10.1
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import version
from pathlib import Path


def make(wanted: str, folder: Path) -> None:
    """Installs the package with what it needs; the torch that is there stays, since a second one would be 3 GB."""
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    ask = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    own = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    others = sysconfig.get_paths()["purelib"]
    Path(own, "others.pth").write_text(f"import site; site.addsitedir({others!r})\n", encoding="utf-8")
    kept = folder / "constraint.txt"
    kept.write_text(f"torch=={version('torch')}\n", encoding="utf-8")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--constraint", kept, wanted], check=True)


if __name__ == "__main__":
    make(sys.argv[1], Path(sys.argv[2]))
