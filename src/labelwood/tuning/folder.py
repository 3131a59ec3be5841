"""The folder of a report: finished runs, fingerprints of their inputs, and temporary files.

sweep.json        fingerprints of the data, the split and the settings
runs/*.json       one file for each finished run
work/             features and models, removed at the end
tradeoff.json …   the report itself
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from labelwood.arrays.rows import Floats, Sparse
from labelwood.data.publishing import text_output
from labelwood.errors import InputError
from labelwood.tuning.grid import Run
from labelwood.tuning.page import PLOTS

_INDEX = "sweep.json"
_OUR_FILES = (_INDEX, "work", "tradeoff.json", "tradeoff.csv", *PLOTS, "report.html")
_CHANGES = {
    "training_rows": "other training rows",
    "held_out_rows": "other held-out rows",
    "latency": "other settings of the latency measurement",
    "labelwood": "another version of Labelwood",
}


class ReportFolder:
    """A report's folder. `open_folder` locks it, so that only one sweep uses it at a time.

    Example:
        >>> import tempfile
        >>> with open_folder(Path(tempfile.mkdtemp()) / "report", {"training_rows": "1"}, {}) as folder:
        ...     run = Run("plain", 0.5, 0)
        ...     folder.write_run(run, {"results": {"P@1": 50.0}})
        ...     folder.read_run(run)["results"], folder.read_run(Run("plain", 1.0, 0))
        ({'P@1': 50.0}, None)
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path = path
        self._fingerprint = fingerprint

    @property
    def work(self) -> Path:
        """Where features and models are kept until the end."""
        return self.path / "work"

    def model(self, run: Run) -> Path:
        """Where a run's model is kept until its latency is measured."""
        return self.work / "models" / run.name

    def read_run(self, run: Run) -> dict[str, Any] | None:
        """The saved results of a finished run; None if it has to run (again)."""
        try:
            found = json.loads(self._file(run).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        fits = isinstance(found, dict) and found.get("fingerprint") == self._fingerprint
        return found if fits and found.get("run") == run.plain() else None

    def write_run(self, run: Run, facts: Mapping[str, Any]) -> None:
        """Saves a finished run; the file is written completely or not at all."""
        self._file(run).parent.mkdir(exist_ok=True)
        write_json(self._file(run), {**facts, "run": run.plain(), "fingerprint": self._fingerprint})

    def clean(self) -> None:
        """Removes features and models."""
        shutil.rmtree(self.work, ignore_errors=True)

    def _file(self, run: Run) -> Path:
        return self.path / "runs" / f"{run.name}.json"


@contextmanager
def open_folder(
    path: Path, origin: Mapping[str, Any], settings: Mapping[str, Any], *, restart: bool = False
) -> Iterator[ReportFolder]:
    """Opens the folder for runs with these fingerprints (`origin`) and these variants; one sweep at a time can use it.

    It is an error if the folder holds runs with other fingerprints, or a variant of the same name with other settings.
    `restart` removes these runs first.
    """
    check_place(path)
    path.mkdir(parents=True, exist_ok=True)
    with _lock(path):
        before = _index(path)
        if restart and before is not None:
            _remove_report(path)
            before = None
        if before is not None:
            _check_same(path, before, origin, settings)
        known = {} if before is None else before["variants"]
        write_json(path / _INDEX, {"origin": dict(origin), "variants": {**known, **settings}})
        digest = hashlib.sha256(json.dumps(dict(origin), sort_keys=True).encode()).hexdigest()[:16]
        yield ReportFolder(path, digest)


def _remove_report(path: Path) -> None:
    """Removes the files of sweeps and reports, and nothing else."""
    for file in (path / "runs").glob("*.json"):
        _remove(file)
    with suppress(OSError):  # the folder may hold other files
        (path / "runs").rmdir()
    for name in _OUR_FILES:
        _remove(path / name)


def check_place(path: Path) -> None:
    """Raises `InputError` unless a report can be written here: the folder must be new, empty or a report.

    Example:
        >>> check_place(Path("no/such/place"))
    """
    if not path.exists():
        return
    if not path.is_dir():
        raise InputError("is a file and not a folder; name another place for the report", path)
    if any(path.iterdir()) and _index(path) is None:
        raise InputError("is neither empty nor a report; name another folder for the report", path)


def fingerprint(*matrices: Any) -> str:
    """A hash of matrices' shapes and bytes.

    Example:
        >>> fingerprint(np.eye(2)) == fingerprint(np.eye(2)), fingerprint(np.eye(2)) == fingerprint(np.eye(3))
        (True, False)
    """
    digest = hashlib.sha256()
    for matrix in matrices:
        for part in matrix if isinstance(matrix, Sparse) else [matrix]:
            array = np.ascontiguousarray(part)
            digest.update(f"{array.dtype} {array.shape};".encode())
            digest.update(array.data)
    return digest.hexdigest()[:16]


def store_matrix(folder: Path, name: str, matrix: Sparse | Floats) -> None:
    """Writes a matrix in a form that other processes can map into memory.

    Example:
        >>> import tempfile
        >>> store_matrix(Path(tempfile.mkdtemp()), "X", np.eye(2, dtype=np.float32))
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not isinstance(matrix, Sparse):
        np.save(folder / f"{name}.npy", matrix)
        return
    parts = matrix._asdict()
    for part in ("indptr", "indices", "values"):
        np.save(folder / f"{name}.{part}.npy", parts[part])
    np.save(folder / f"{name}.n_cols.npy", np.int64(matrix.n_cols))


def map_matrix(folder: Path, name: str) -> Any:
    """Maps a matrix that `store_matrix` wrote: a numpy array or a scipy sparse array.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> store_matrix(folder, "X", np.eye(2, dtype=np.float32))
        >>> float(map_matrix(folder, "X").sum())
        2.0
    """
    from labelwood.data.dataset import compressed_rows

    if (folder / f"{name}.npy").exists():
        return np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
    parts = [
        np.load(folder / f"{name}.{part}.npy", mmap_mode="r", allow_pickle=False)
        for part in ("indptr", "indices", "values")
    ]
    n_cols = int(np.load(folder / f"{name}.n_cols.npy", allow_pickle=False))
    return compressed_rows(parts[0], parts[1], parts[2], n_cols)


def write_json(path: Path, value: Any) -> None:
    """Writes JSON; the file is written completely or not at all.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.json"
        >>> write_json(path, [1])
        >>> path.read_text()
        '[\\n 1\\n]\\n'
    """
    with text_output(path, overwrite=True) as out:
        out.write(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def _index(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((path / _INDEX).read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(found.get(part), dict) for part in ("origin", "variants")):
        raise InputError("is not a valid file of a sweep; name another folder, or remove the file", path / _INDEX)
    return found


def _check_same(path: Path, before: dict[str, Any], origin: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    names = {**before["origin"], **origin}
    others = [_CHANGES.get(name, f"another {name}") for name in names if before["origin"].get(name) != origin.get(name)]
    changed = [name for name, parts in settings.items() if before["variants"].get(name, parts) != parts]
    others += ["other settings of the model"] if changed else []
    if others:
        raise InputError(
            f"holds runs of {' and '.join(others)}; name another folder, or give --restart to empty this one", path
        )


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise InputError("is in use by another sweep; wait for it, or name another folder", path) from None
    try:
        yield
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)
        os.close(fd)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
        return
    with suppress(FileNotFoundError):
        path.unlink()
