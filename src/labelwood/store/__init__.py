"""Models on disk: a manifest, plain arrays and names, and nothing that can execute.

    manifest.json                what the model is; each array's dtype and shape; each file's size and sha256
    arrays-<hash>.safetensors    all arrays of the model and of its parts
    names-<hash>.arrow           one list of names

`docs/reference/format.md` specifies the files. Heavy modules are imported only when a model is written or read.
"""

from __future__ import annotations

from os import PathLike
from typing import Any, TypeAlias

from labelwood.store.state import State

__all__ = ["State", "check_target", "describe", "is_model", "read", "write"]

Place: TypeAlias = str | PathLike[str]


def write(path: Place, state: State) -> None:
    """Saves a model as a folder. An existing model is replaced in one step, or kept whole if the save fails.

    Example:
        >>> import tempfile, numpy as np
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write(f"{folder}/model", State("demo", {"k": 5}, {}, arrays={"w": np.arange(3.0)}))
        ...     read(f"{folder}/model").arrays["w"].tolist()
        [0.0, 1.0, 2.0]
    """
    from labelwood.store import writing

    writing.write(path, state)


def check_target(path: Place) -> None:
    """Raises `ModelError` if a model cannot be saved here; call it before hours of training.

    Example:
        >>> check_target("a/new/place")
    """
    from pathlib import Path

    from labelwood.store import atomic

    atomic.check_target(Path(path))


def read(path: Place, *, verify: bool = True, mmap: bool | None = None) -> State:
    """Maps a saved model. With `verify`, the contents of every file are checked; without, only sizes and headers.

    With `mmap` off, every file is read once into private memory, and the bytes in memory are those that are checked.
    This is the default on network file systems, where files may change unnoticed. See `docs/reference/format.md`.

    A file that is missing, cut short or in contradiction to the manifest is always a `ModelError`. Leave `verify` on
    for models from other people: only `verify` notices altered contents.

    Example:
        >>> read("no/such/model")
        Traceback (most recent call last):
        ...
        labelwood.errors.ModelError: no/such/model does not exist: give the folder of a saved model
    """
    from labelwood.store import reading

    return reading.read(path, verify=verify, mmap=mmap)


def describe(path: Place) -> dict[str, Any]:
    """The facts about a saved model in its manifest, without opening its arrays.

    Example:
        >>> import tempfile, numpy as np
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write(f"{folder}/model", State("demo", {"k": 5}, {}, arrays={"w": np.zeros((2, 3))}))
        ...     facts = describe(f"{folder}/model")
        >>> facts["kind"], facts["params"], facts["arrays"]
        ('demo', {'k': 5}, {'w': {'dtype': 'float64', 'shape': [2, 3]}})
    """
    from labelwood.store import reading

    return reading.describe(path)


def is_model(path: Place) -> bool:
    """Whether a folder holds a Labelwood model, of any format version.

    Example:
        >>> is_model("no/such/model")
        False
    """
    from labelwood.store import reading

    return reading.is_model(path)
