"""The files of a checkpoint, in a folder or on the hub; all are read as data, never as code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from labelwood.errors import LabelwoodError

_WEIGHTS, _INDEX = "model.safetensors", "model.safetensors.index.json"


class CheckpointFiles:
    """Finds files within a checkpoint by name.

    Example:
        >>> CheckpointFiles("a-folder-that-is-not-there", "1_Pooling").name("config.json")
        '1_Pooling/config.json'
    """

    def __init__(self, checkpoint: str, folder: str = "") -> None:
        self.checkpoint, self.folder = checkpoint, folder

    def name(self, file: str) -> str:
        """The file's name within the checkpoint."""
        return str(PurePosixPath(self.folder) / file)

    def find(self, file: str) -> Path | None:
        """The path of a file on this machine; None if there is none, or the hub cannot be reached."""
        name = PurePosixPath(self.folder) / file
        if name.is_absolute() or ".." in name.parts:
            raise LabelwoodError(f"{self.checkpoint} names a file outside its folder, {str(name)!r}: give another one")
        if Path(self.checkpoint).is_dir():
            found = Path(self.checkpoint) / name
            return found if found.is_file() else None
        from transformers.utils import cached_file

        try:
            cached = cached_file(self.checkpoint, str(name))
        except (OSError, ValueError):  # a file may be missing; if the whole checkpoint is, a later error says so
            return None
        return None if cached is None else Path(cached)

    def read(self, file: str) -> Path:
        """The path of a required file; raises `LabelwoodError` if there is none."""
        found = self.find(file)
        if found is None:
            raise LabelwoodError(
                f"the encoder {self.checkpoint!r} cannot be loaded (there is no {self.name(file)}): "
                "give the folder of a checkpoint with safetensors weights, or a name that the hub knows"
            )
        return found

    def weights(self) -> Iterator[Path]:
        """The files of weights: one, or those that an index lists."""
        index = self.find(_INDEX)
        if index is None or self.find(_WEIGHTS) is not None:
            yield self.read(_WEIGHTS)
            return
        listed = read_json(index).get("weight_map")
        if not isinstance(listed, dict) or not all(str(file).endswith(".safetensors") for file in listed.values()):
            raise LabelwoodError(f"{index} does not list files of safetensors weights: give another checkpoint")
        for file in sorted(set(map(str, listed.values()))):
            yield self.read(file)


def read_json(file: Path) -> dict[str, Any]:
    """Reads a JSON object from a file; raises `LabelwoodError` if there is none.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "config.json")
        >>> _ = path.write_text('{"dim": 8}')
        >>> read_json(path)
        {'dim': 8}
    """
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        raise LabelwoodError(f"{file} is not a table in JSON: give another checkpoint") from None
