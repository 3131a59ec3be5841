"""Reads the modules of a sentence-transformers checkpoint: where its transformer is, and how it pools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from labelwood.dual_encoder.model.checkpoint_files import CheckpointFiles
from labelwood.errors import LabelwoodError

_SUPPORTED = {"Transformer", "Pooling", "Normalize"}
_POOLINGS = {"mean": "mean", "mean_tokens": "mean", "cls": "cls", "cls_token": "cls"}  # newer and older names


class SentenceModules(NamedTuple):
    """Where the transformer is, and how its token vectors are pooled.

    Example:
        >>> SentenceModules.of("a-folder-without-modules")
        SentenceModules(transformer='', pooling='mean')
    """

    transformer: str  # the folder within the checkpoint; empty if it is the checkpoint itself
    pooling: str  # "mean", "cls", or another one that is not supported

    @classmethod
    def of(cls, checkpoint: str) -> SentenceModules:
        """The modules of a folder, or of a checkpoint on the hub."""
        file = CheckpointFiles(checkpoint).find("modules.json")
        if file is None:
            return cls("", "mean")
        try:
            listed = [(str(module["type"]).rpartition(".")[2], str(module["path"])) for module in _read(file)]
            transformer = next(path for kind, path in listed if kind == "Transformer")
        except (OSError, ValueError, KeyError, TypeError, StopIteration):
            raise LabelwoodError(f"{file} does not list the modules of an encoder: give another checkpoint") from None
        others = {kind for kind, _ in listed} - _SUPPORTED
        if others:
            raise LabelwoodError(
                f"{checkpoint} has a module {min(others)} after its transformer, which is not supported: "
                "give a checkpoint with only a transformer and pooling"
            )
        poolings = [path for kind, path in listed if kind == "Pooling"]
        return cls(transformer, _pooling_of(checkpoint, poolings[0]) if poolings else "mean")


def _pooling_of(checkpoint: str, folder: str) -> str:
    file = CheckpointFiles(checkpoint, folder).find("config.json")
    if file is None:
        return "mean"
    try:
        config = dict(_read(file))
    except (OSError, ValueError, TypeError):
        raise LabelwoodError(f"{file} does not say how an encoder pools: give another checkpoint") from None
    named = config.get("pooling_mode", [])
    names = [named] if isinstance(named, str) else [str(name) for name in named]
    names += [name.removeprefix("pooling_mode_") for name, on in config.items() if "pooling_mode_" in name and on]
    return _POOLINGS.get(names[0], names[0]) if len(names) == 1 else " and ".join(names) or "mean"


def _read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))
